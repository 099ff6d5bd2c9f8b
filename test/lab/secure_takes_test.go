package lab_test

import (
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
)

// renderedSecured are the files of every secured cluster, as its migration
// would write them, without starting anything.
func renderedSecured(t *testing.T) (names []string, files [][]byte) {
	t.Helper()
	for _, kind := range securedKinds() {
		s := kind.of(t)
		fill := func(id string) *strings.Replacer {
			return strings.NewReplacer("{id}", id, "{port}", "19092", "{port1}", "19093", "{port2}", "19094", "{dir}", "/tmp/x")
		}
		settings := func(id string, lines []string) (out []configgen.Setting) {
			for _, line := range lines {
				key, value, _ := strings.Cut(fill(id).Replace(line), "=")
				out = append(out, configgen.Setting{Key: key, Value: value})
			}
			return out
		}
		base := "broker.id=1\nbroker.rack=a\nlog.dirs=/tmp/x\nzookeeper.connect=127.0.0.1:2181" + s.options.Chroot + "\ninter.broker.protocol.version=3.9\n"
		file, err := original{lines: s.options.ExtraBroker}.file([]byte(base), fill("1"))
		if err != nil {
			t.Fatal(err)
		}
		broker := cluster.Node{ID: 1, Role: cluster.Broker, Host: "127.0.0.1"}
		controller := cluster.Node{ID: 3001, Role: cluster.Controller, Host: "127.0.0.1", Port: 19095}
		known := configgen.Settings{ZooKeeperConnect: "127.0.0.1:2181" + s.options.Chroot, KafkaVersion: "3.9.2", MetadataVersion: "3.9-IV0",
			Quorum: configgen.Quorum{Mode: "static", ListenerName: "CONTROLLER", ListenerProtocol: s.yaml.ControllerProtocol, Voters: []cluster.Node{controller}}}
		if strings.HasPrefix(s.yaml.ControllerProtocol, "SASL_") {
			known.Quorum.Mechanism = "PLAIN"
		}
		if known.InterBroker, err = configgen.FromBroker(file); err != nil {
			t.Fatal(err)
		}
		render := func(node cluster.Node, mode cluster.Mode, now []byte, extra []configgen.Setting) []byte {
			out, err := configgen.Render(node, mode, now, known, extra)
			if err != nil {
				t.Fatalf("%s: %v", kind.name, err)
			}
			names, files = append(names, kind.name+"/"+string(node.Role)+"-"+string(mode)), append(files, out.File)
			return out.File
		}
		names, files = append(names, kind.name+"/original"), append(files, file)
		migrating := render(broker, cluster.ZKMigrating, file, settings("1", s.options.BrokerSettings))
		render(broker, cluster.KRaft, migrating, settings("1", s.options.BrokerSettings))
		render(broker, cluster.ZK, migrating, nil)
		ours := append(settings("3001", s.options.ExtraController), configgen.Setting{Key: "log.dirs", Value: "/tmp/x"})
		render(controller, cluster.KRaft, render(controller, cluster.KRaftMigrating, nil, ours), ours)
	}
	return names, files
}
