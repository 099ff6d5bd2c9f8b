package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/configgen"
)

// listener is one entry of listeners or advertised.listeners, NAME://host:port.
type listener struct{ name, host, port string }

func listenersOf(text string) []listener {
	var out []listener
	for _, item := range items(text) {
		name, address, ok := strings.Cut(item, "://")
		if !ok {
			continue // Kafka refuses it
		}
		l := listener{name: name, host: address}
		if at := strings.LastIndexByte(address, ':'); at >= 0 {
			l.host, l.port = strings.Trim(address[:at], "[]"), address[at+1:]
		}
		out = append(out, l)
	}
	return out
}

func listenerNames(text string) []string {
	var out []string
	for _, l := range listenersOf(text) {
		out = append(out, l.name)
	}
	return out
}

// interBroker is the inter-broker listener as KafkaConfig finds it; ok is false
// when the file contradicts itself, which MIG341 says.
func interBroker(f propertiesFile) (name, protocol string, ok bool) {
	ib, err := configgen.FromBroker(f.file.Content)
	return ib.Listener, strings.ToUpper(ib.Protocol), err == nil
}

// contradictoryListeners: what Kafka refuses at the next start (KafkaConfig).
func contradictoryListeners(l *look) {
	const fix = "Correct the file: the broker does not start with it."
	for _, f := range l.brokerFiles() {
		if strings.Contains(f.value("listener.security.protocol.map")+f.value("inter.broker.listener.name"), "${") {
			continue
		}
		if _, err := configgen.FromBroker(f.file.Content); err != nil && !strings.Contains(err.Error(), "placeholder") {
			l.found(f.at("inter.broker.listener.name"), err.Error(), fix)
		}
		protocols := f.protocols()
		for _, e := range listenersOf(f.value("listeners")) {
			if _, ok := protocols[strings.ToUpper(e.name)]; !ok && !strings.Contains(e.name, "${") {
				l.found(f.at("listeners"), "listener "+e.name+" is not in listener.security.protocol.map", fix)
			}
		}
		for _, e := range listenersOf(f.value("advertised.listeners")) {
			if e.host == "0.0.0.0" {
				l.found(f.at("advertised.listeners"), e.name+" is advertised as 0.0.0.0", fix)
			}
		}
		if plane := f.value("control.plane.listener.name"); plane != "" && !slices.Contains(listenerNames(f.value("listeners")), plane) {
			l.found(f.at("control.plane.listener.name"), plane+" is not among the listeners", fix)
		}
	}
}

// protocols is listener.security.protocol.map, or Kafka's default without it.
func (f propertiesFile) protocols() map[string]string {
	text := f.value("listener.security.protocol.map")
	if text == "" {
		text = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
	}
	out := map[string]string{}
	for _, item := range items(text) {
		if name, protocol, ok := strings.Cut(item, ":"); ok {
			out[strings.ToUpper(strings.TrimSpace(name))] = strings.TrimSpace(protocol)
		}
	}
	return out
}

// interBrokerDisagrees: the controllers know one name and one protocol.
func interBrokerDisagrees(l *look) {
	files := l.brokerFiles()
	if len(files) == 0 {
		return
	}
	name, protocol, ok := interBroker(files[0])
	for _, f := range files[1:] {
		n, p, okHere := interBroker(f)
		if ok && okHere && (!strings.EqualFold(n, name) || p != protocol) {
			l.found(f.at("inter.broker.listener.name"), fmt.Sprintf("%s with %s, and %s with %s on %s", n, p, name, protocol, files[0].node.Name()), "Make it the same on all brokers.")
		}
	}
}

// takenListenerNames: a name that is in a broker's listeners cannot be the controllers'.
func takenListenerNames(l *look) {
	name := l.s.Migration.Quorum.Listener.Name
	for _, f := range l.brokerFiles() {
		for _, key := range []string{"listeners", "advertised.listeners", "control.plane.listener.name"} {
			names := append(listenerNames(f.value(key)), f.value(key))
			if slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
				l.found(f.at(key), name+" is a listener of the broker and of the controllers", "Give quorum.listener another name in migrations.yaml.")
				break
			}
		}
	}
}

// takenPorts compares the controllers' addresses with the listeners of brokers
// on the same host, and with the ZooKeeper servers there.
func takenPorts(l *look) {
	const fix = "Give the controller another port in migrations.yaml."
	servers, _ := splitConnect(l.s.Migration.ZooKeeper.Connect)
	for _, c := range l.s.Migration.Inventory().Controllers {
		if slices.Contains(servers, strings.ToLower(fmt.Sprintf("%s:%d", c.Host, c.Port))) {
			l.found(c.Name(), fmt.Sprintf("%s:%d is a ZooKeeper server", c.Host, c.Port), fix)
		}
		for _, f := range l.brokerFiles() {
			if !strings.EqualFold(f.node.Host, c.Host) {
				continue
			}
			for _, e := range listenersOf(f.value("listeners")) {
				if e.port == fmt.Sprint(c.Port) {
					l.found(f.at("listeners"), fmt.Sprintf("%s listens on port %s of %s, where %s is to be", e.name, e.port, c.Host, c.Name()), fix)
				}
			}
		}
	}
}

// advertisedLocalhost: right where everything is on one machine, wrong elsewhere.
func advertisedLocalhost(l *look) {
	if l.oneMachine() {
		return
	}
	for _, f := range l.brokerFiles() {
		key := "advertised.listeners"
		if f.value(key) == "" {
			key = "listeners"
		}
		for _, e := range listenersOf(f.value(key)) {
			if local(e.host) {
				l.found(f.at(key), e.name+" is advertised as "+e.host, "Advertise a name that the other nodes reach: in hybrid mode controllers call the brokers there.")
			}
		}
	}
}

func local(host string) bool {
	return host == "localhost" || host == "::1" || strings.HasPrefix(host, "127.")
}

// oneMachine: a cluster for trying things, where spreading means nothing.
func (l *look) oneMachine() bool {
	for _, n := range l.s.Migration.Nodes {
		if n.Host != l.s.Migration.Nodes[0].Host {
			return false
		}
	}
	return true
}

func controlPlanes(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		if v := f.value("control.plane.listener.name"); v != "" {
			l.found(f.at("control.plane.listener.name"), v, "Nothing: the key goes when the broker enters KRaft mode, which refuses it, and comes back with a way back. Its listener stays and is of no use then.")
		}
	}
}
