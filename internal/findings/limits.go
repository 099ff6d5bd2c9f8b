package findings

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
)

// tlsLimits: brokers call the controllers' listener over TLS with limits of
// their own, and with none in common they never register.
func tlsLimits(l *look) {
	q := l.s.Migration.Quorum.Listener
	first := l.firstBroker()
	if !strings.HasSuffix(q.Protocol, "SSL") || first.doc == nil {
		return
	}
	_, protocol, _ := interBroker(first)
	prefix := "listener.name." + strings.ToLower(q.Name) + "."
	for _, key := range []string{"ssl.enabled.protocols", "ssl.cipher.suites"} {
		for _, n := range l.s.Migration.Nodes {
			if n.Role != cluster.Controller {
				continue
			}
			here, said := setting(n, prefix+key)
			if !said {
				here, said = setting(n, key)
			}
			if !said && strings.HasSuffix(protocol, "SSL") {
				here = first.value(key)
			}
			for _, f := range l.brokerFiles() {
				there, said := setting(f.node, prefix+key)
				if !said {
					there = f.onListener(q.Name, key)
				}
				if here != "" && there != "" && !common(here, there) {
					l.found(n.Name()+" settings in migrations.yaml", fmt.Sprintf("%s is %s, and %s on %s", key, here, there, f.node.Name()),
						"Give both sides one in common: brokers call this listener.")
				}
			}
		}
	}
}

func common(a, b string) bool {
	for _, one := range items(a) {
		for _, other := range items(b) {
			if one == other {
				return true
			}
		}
	}
	return false
}
