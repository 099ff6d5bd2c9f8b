package findings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/facts"
)

const askMembers = "Put srvr into 4lw.commands.whitelist of every ZooKeeper server."

// members are what each configured ZooKeeper server says of itself. say is
// false in a check that blocks: it judges only what was said.
func (l *look) members(say bool) []facts.ZKMember {
	list, ok := l.s.Snapshot.Ensemble.Get()
	if !ok && say {
		l.unsure("the ZooKeeper servers: "+l.s.Snapshot.Ensemble.Cause(), readableZooKeeper)
	}
	for _, m := range list {
		if say && m.Serving == nil {
			l.unsure("ZooKeeper server "+m.Address+" does not tell: "+m.Why, askMembers)
		}
	}
	return list
}

// oldEnsemble: Kafka's upgrade notes want 3.8.3 under brokers of 3.9.
func oldEnsemble(l *look) {
	for _, m := range l.members(true) {
		if m.Version != "" && olderThan(m.Version, []int{3, 8, 3}) {
			l.found("ZooKeeper server "+m.Address, "version "+m.Version, "Upgrade the servers one by one, or accept that this pair of versions is not one that Kafka tests.")
		}
	}
}

func olderThan(version string, least []int) bool {
	for i, part := range strings.SplitN(version, ".", 3) {
		digits := part[:len(part)-len(strings.TrimLeft(part, "0123456789"))]
		n, err := strconv.Atoi(digits)
		if err != nil || i >= len(least) {
			return false
		}
		if n != least[i] {
			return n < least[i]
		}
	}
	return false
}

func evenEnsemble(l *look) {
	servers, _ := splitConnect(l.s.Migration.ZooKeeper.Connect)
	if n := len(servers); n > 0 && n%2 == 0 {
		l.found("zookeeper.connect", fmt.Sprintf("%d servers", n), "Look whether a member is missing from the string; an even number survives no more failures than one less.")
	}
}

// severalEnsembles: a client picks any server of its string, so two trees would
// be read by turns.
func severalEnsembles(l *look) {
	var alone, leaders []string
	for _, m := range l.members(false) {
		switch {
		case m.Mode == "standalone":
			alone = append(alone, m.Address)
		case m.Mode == "leader":
			leaders = append(leaders, m.Address)
		}
	}
	servers, _ := splitConnect(l.s.Migration.ZooKeeper.Connect)
	const fix = "Find out which tree is the cluster's, and name only members of its ensemble, on brokers and in migrations.yaml."
	if len(alone) > 0 && len(servers) > 1 {
		l.found("ZooKeeper server "+strings.Join(alone, ", "), "standalone, while zookeeper.connect names more servers", fix)
	}
	if slices.Sort(leaders); len(leaders) > 1 {
		l.found("ZooKeeper servers "+strings.Join(leaders, ", "), "each leads an ensemble", fix)
	}
}

func sickMembers(l *look) {
	for _, m := range l.members(true) {
		switch {
		case m.Serving != nil && !*m.Serving:
			l.found("ZooKeeper server "+m.Address, "does not serve: "+m.Why, "Bring it back first: the migration writes to ZooKeeper until it is finalized.")
		case m.Mode == "read-only":
			l.found("ZooKeeper server "+m.Address, "is read-only: it has lost the others", "Repair the connections between the servers.")
		}
	}
}
