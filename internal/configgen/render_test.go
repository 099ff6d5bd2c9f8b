package configgen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
)

const plainBroker = "broker.id=1\nlisteners=PLAINTEXT://b1:9092\nzookeeper.connect=zk1:2181/kafka\n"

func broker1() cluster.Node { return cluster.Node{ID: 1, Role: cluster.Broker, Host: "b1"} }

func controller1() cluster.Node { return healthy().Quorum.Voters[0] }

func TestARefusalNamesTheNodeAndWhatToDo(t *testing.T) {
	cases := []struct {
		name   string
		node   cluster.Node
		mode   cluster.Mode
		file   string
		adjust func(*Settings)
		extra  []Setting
		want   string
	}{
		{name: "another id than the inventory's", file: "broker.id=7\n", want: "the file has id 7, the configuration says 1"},
		{name: "two different ids", file: "broker.id=1\nnode.id=2\n", want: "broker.id is 1 and node.id is 2"},
		{name: "an id that is no number", file: "broker.id=one\n", want: "broker.id is not a number"},
		{name: "an id that something else fills in", file: "broker.id=${BROKER_ID}\n", want: "placeholder"},
		{name: "a listener whose name something else fills in", file: plainBroker + "listeners=${NAME}://b1:9092\n", want: "placeholder for a listener's name"},
		{name: "the controllers' listener among a broker's", file: "broker.id=1\nlisteners=A://:1,CONTROLLER://:9093\nzookeeper.connect=z:1\n", want: "choose another name"},
		{name: "the same in lower case and advertised only", file: "broker.id=1\nadvertised.listeners=A://h:1,controller://h:9093\nzookeeper.connect=z:1\n", want: "choose another name"},
		{name: "a broker without ZooKeeper", file: "broker.id=1\n", want: "zookeeper.connect is not set"},
		{name: "a KRaft broker on the way back", file: "node.id=1\nprocess.roles=broker\n", want: "restore the saved original"},
		{name: "a KRaft broker straight to ZooKeeper mode", mode: cluster.ZK, file: "node.id=1\nprocess.roles=broker\n", want: "restore the saved original"},
		{name: "a combined role", file: "node.id=1\nprocess.roles=broker,controller\n", want: "dedicated controllers"},
		{name: "a mode a broker cannot have", mode: cluster.KRaftMigrating, file: plainBroker, want: `a broker has no mode "kraft-migrating"`},
		{name: "a mode a controller cannot have", node: controller1(), mode: cluster.ZK, want: `a controller has no mode "zk"`},
		{name: "an unknown mode", mode: "combined", file: plainBroker, want: `no mode "combined"`},
		{name: "an unknown role", node: cluster.Node{ID: 1, Role: "observer"}, file: plainBroker, want: `a observer has no mode`},
		{name: "a broker id that is a voter's", file: "broker.id=3001\nbroker.id.generation.enable=false\nzookeeper.connect=z:1\n", node: cluster.Node{ID: 3001, Role: cluster.Broker}, want: "also a controller's"},
		{name: "a broken protocol map", file: plainBroker + "listener.security.protocol.map=SSL\n", want: "not NAME:PROTOCOL"},
		{name: "a flag that is no flag", file: plainBroker + "zookeeper.metadata.migration.enable=yes\n", want: "neither true nor false"},
		{name: "a broken escape", file: plainBroker + "a=\\u12\n", want: "line 4"},
		{name: "a quorum that is neither kind", file: plainBroker, adjust: func(s *Settings) { s.Quorum.Mode = "" }, want: "neither static nor dynamic"},
		{name: "a quorum without controllers", file: plainBroker, adjust: func(s *Settings) { s.Quorum.Voters = nil }, want: "no controllers"},
		{name: "a listener name in lower case", file: plainBroker, adjust: func(s *Settings) { s.Quorum.ListenerName = "controller" }, want: "upper case"},
		{name: "an unknown protocol", file: plainBroker, adjust: func(s *Settings) { s.Quorum.ListenerProtocol = "TLS" }, want: "not one of Kafka's"},
		{name: "a metadata version nobody has", file: plainBroker, adjust: func(s *Settings) { s.MetadataVersion = "4.0" }, want: "metadata version"},
		{name: "an extra setting that changes the role", file: plainBroker, extra: []Setting{{"process.roles", "broker"}}, want: "must not set"},
		{name: "a controller without log directories", node: controller1(), mode: cluster.KRaftMigrating, want: "add log.dirs"},
		{name: "a controller outside the quorum", node: cluster.Node{ID: 9, Role: cluster.Controller}, mode: cluster.KRaftMigrating, want: "not among the quorum's"},
		{name: "a controller listener named like the brokers'", node: controller1(), mode: cluster.KRaftMigrating,
			adjust: func(s *Settings) { s.InterBroker.Listener = "CONTROLLER" }, want: "choose another name"},
		{name: "SCRAM between controllers", node: controller1(), mode: cluster.KRaftMigrating,
			extra: []Setting{{"log.dirs", "/m"}, {"sasl.mechanism.controller.protocol", "SCRAM-SHA-512"}}, want: "never forms again"},
		{name: "a controller with ZooKeeper's authorizer", node: controller1(), mode: cluster.KRaftMigrating,
			extra: []Setting{{"log.dirs", "/m"}, {"authorizer.class.name", aclAuthorizer}}, want: "needs org.apache.kafka.metadata.authorizer.StandardAuthorizer"},
		{name: "a controller file of a broker", node: controller1(), mode: cluster.KRaftMigrating, file: "process.roles=broker\nnode.id=3001\n", want: "not a controller's"},
		{name: "a key store that is only a dynamic setting", file: plainBroker + "listeners=A://b1:1,tls://b1:2\nlistener.security.protocol.map=A:PLAINTEXT,TLS:SASL_SSL\nlistener.name.a.ssl.keystore.location=/k\n",
			want: "listener tls has TLS and the file no key store"},
		{name: "the same with the default map and an empty value", mode: cluster.KRaft, file: plainBroker + "listeners=SSL://b1:1\nssl.keystore.location= \n", want: "listener SSL has TLS"},
		{name: "nothing to finalize", node: controller1(), mode: cluster.KRaft, want: "no properties file to finalize"},
		{name: "no broker file", want: "no properties file to start from"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			node, mode, s := c.node, c.mode, healthy()
			if node.Role == "" {
				node = broker1()
			}
			if mode == "" {
				mode = cluster.ZKMigrating
			}
			if c.adjust != nil {
				c.adjust(&s)
			}
			var file []byte
			if c.file != "" {
				file = []byte(c.file)
			}
			out, err := Render(node, mode, file, s, c.extra)
			if err == nil {
				t.Fatalf("rendered:\n%s", out.File)
			}
			if !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), "render ") {
				t.Errorf("error %q, want it to say %q", err, c.want)
			}
			if out.File != nil {
				t.Error("a refused rendering has a file")
			}
		})
	}
}

func render1(t *testing.T, node cluster.Node, mode cluster.Mode, file string, extra ...Setting) Rendered {
	t.Helper()
	out, err := Render(node, mode, []byte(file), healthy(), extra)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// brokerFiles are the shapes of files the archives do not repeat.
func brokerFiles() []string {
	return []string{
		plainBroker,
		"broker.id=1\r\nlisteners=A://b1:9092\r\nlistener.security.protocol.map=A:SSL\r\nssl.keystore.location=/k\r\ninter.broker.listener.name=A\r\nzookeeper.connect=z:1\r\nauthorizer.class.name=" + aclAuthorizer + " \r\n",
		"node.id=1\nzookeeper.connect=z:1\ncontroller.listener.names=OTHER\nzookeeper.metadata.migration.enable=false\n",
		"broker.id=1\nbroker.id:1\nzookeeper.connect=a:1\nzookeeper.connect=b:1\\\n,c:1\nsuper.users=User:x\n",
		"broker.id=1\nlisteners=A://:${PORT}\nadvertised.listeners=A://b-${ID}:9092\nlistener.security.protocol.map=A:SSL\nssl.keystore.location=/k\nzookeeper.connect=${file:/z:c}\nssl.key.password=${file:/k:p}\n",
		"broker.id=1\nnode.id=1\nzookeeper.connect z:1\nlistener.security.protocol.map=",
		"zookeeper.connect=z:1\n",
		"broker.id=-1\nzookeeper.connect=z:1\nreserved.broker.max.id=0\n",
	}
}

func TestTheWantedModeDecidesWhateverTheWay(t *testing.T) {
	extra := []Setting{{"sasl.mechanism.controller.protocol", "PLAIN"}}
	for _, file := range brokerFiles() {
		migrating := render1(t, broker1(), cluster.ZKMigrating, file, extra...)
		twoSteps := render1(t, broker1(), cluster.KRaft, string(migrating.File), extra...)
		direct := render1(t, broker1(), cluster.KRaft, file, extra...)
		if diff := cmp.Diff(settingsOf(t, direct.File), settingsOf(t, twoSteps.File)); diff != "" {
			t.Errorf("%q: zk to kraft (-direct +over zk-migrating):\n%s", file, diff)
		}
		for mode, out := range map[cluster.Mode]Rendered{cluster.ZKMigrating: migrating, cluster.KRaft: twoSteps} {
			if got, err := Mode(out.File, cluster.Broker); err != nil || got != mode {
				t.Errorf("%q: mode is %q, %v; want %q", file, got, err, mode)
			}
			again := render1(t, broker1(), mode, string(out.File), extra...)
			if !bytes.Equal(again.File, out.File) || len(again.Changes) != 0 {
				t.Errorf("%q as %s: rendered again it changes: %+v", file, mode, again.Changes)
			}
		}
		for _, key := range parsed(t, string(twoSteps.File)).Keys() {
			if key == migrationFlag || slices.Contains(zooKeeperKeys(), key) || key == "broker.id" {
				t.Errorf("%q: a KRaft broker's file still has %s", file, key)
			}
		}
		back := render1(t, broker1(), cluster.ZK, string(migrating.File))
		if got, err := Mode(back.File, cluster.Broker); err != nil || got != cluster.ZK {
			t.Errorf("%q: mode after leaving is %q, %v", file, got, err)
		}
	}
}

func settingsOf(t *testing.T, file []byte) map[string]string {
	t.Helper()
	d, out := parsed(t, string(file)), map[string]string{}
	for _, key := range d.Keys() {
		out[key], _ = d.Value(key)
	}
	return out
}

func TestABrokerInZooKeeperModeIsLeftAlone(t *testing.T) {
	file := "# mine\n  zookeeper.connect : z:1 \r\nunknown\n"
	out := render1(t, broker1(), cluster.ZK, file)
	if string(out.File) != file || len(out.Changes) != 0 || out.Unified("f", false) != "" {
		t.Errorf("changed to %q: %+v", out.File, out.Changes)
	}
}

func TestTheProtocolVersionIsWrittenOnlyWhereTheBrokersWouldDiffer(t *testing.T) {
	cases := []struct {
		name, line, metadata string
		want                 string // empty: the key is absent
	}{
		{"absent, and the default is right", "", "3.9-IV0", ""},
		{"absent, and the default is too new", "", "3.8-IV0", "3.8-IV0"},
		{"the same in short form", "inter.broker.protocol.version=3.9\n", "3.9-IV0", "3.9"},
		{"another one", "inter.broker.protocol.version=3.7-IV2\n", "3.7-IV4", "3.7-IV4"},
		{"the last of the release in short form", "inter.broker.protocol.version=3.7\n", "3.7-IV4", "3.7"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := healthy()
			s.MetadataVersion = c.metadata
			out, err := Render(broker1(), cluster.ZKMigrating, []byte(plainBroker+c.line), s, nil)
			if err != nil {
				t.Fatal(err)
			}
			got, present := parsed(t, string(out.File)).Value("inter.broker.protocol.version")
			if got != c.want || present != (c.want != "") {
				t.Errorf("inter.broker.protocol.version is %q (%v), want %q", got, present, c.want)
			}
		})
	}
}

// FR-005: the id is in meta.properties only, and a file that names it is
// refused as long as ids are generated.
func TestAGeneratedIDIsWrittenDown(t *testing.T) {
	node := cluster.Node{ID: 1001, Role: cluster.Broker, Host: "b1"}
	for _, line := range []string{"", "broker.id=-1\n", "broker.id=1001\n", "broker.id.generation.enable=true\n"} {
		migrating := settingsOf(t, render1(t, node, cluster.ZKMigrating, line+"zookeeper.connect=z:1\n").File)
		if migrating["broker.id"] != "1001" || migrating["broker.id.generation.enable"] != "false" {
			t.Errorf("%q in migration mode: %v", line, migrating)
		}
		kraft := settingsOf(t, render1(t, node, cluster.KRaft, line+"zookeeper.connect=z:1\n").File)
		if _, old := kraft["broker.id"]; old || kraft["node.id"] != "1001" {
			t.Errorf("%q in KRaft mode: %v", line, kraft)
		}
	}
	low := settingsOf(t, render1(t, broker1(), cluster.ZKMigrating, plainBroker).File)
	if _, there := low["broker.id.generation.enable"]; there {
		t.Error("an id that nobody generated switches generation off")
	}
}

func TestEveryChangeIsExplainedAtItsLine(t *testing.T) {
	file := "# c\nbroker.id=1\nlisteners=PLAINTEXT://b1:9092\nzookeeper.connect=z:1\ninter.broker.protocol.version=3.9\n"
	out := render1(t, broker1(), cluster.KRaft, file)
	one, version := "1", "3.9"
	for _, want := range []Change{
		{Key: "broker.id", To: "node.id", Op: "rename", Before: &one, After: &one, Line: 2},
		{Key: "inter.broker.protocol.version", Op: "remove", Before: &version, Line: 5},
	} {
		i := slices.IndexFunc(out.Changes, func(c Change) bool { return c.Key == want.Key })
		if i < 0 {
			t.Fatalf("no change of %s", want.Key)
		}
		want.Reason, want.Source = out.Changes[i].Reason, out.Changes[i].Source
		if diff := cmp.Diff(want, out.Changes[i]); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	explained := map[string]bool{}
	for _, l := range out.Diff {
		explained[l.Reason] = true
	}
	for _, c := range out.Changes {
		if c.Reason == "" || c.Source == "" || !explained[c.Reason] {
			t.Errorf("the change of %s is not explained in the diff: %+v", c.Key, c)
		}
	}
}

func TestEveryRowOfEveryTableSaysWhy(t *testing.T) {
	s := healthy()
	s.InterBroker.Carried = []Setting{{"num.partitions", "1"}, {"authorizer.class.name", standardAuthorizer}, {"super.users", "User:a"}}
	modes := map[cluster.Role][]cluster.Mode{
		cluster.Broker:     {cluster.ZK, cluster.ZKMigrating, cluster.KRaft},
		cluster.Controller: {cluster.KRaftMigrating, cluster.KRaft},
	}
	for role, list := range modes {
		for _, mode := range list {
			rows, err := table(role, mode, s)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.reason == "" || r.source == "" {
					t.Errorf("%s %s: the row for %s gives no reason or source", role, mode, r.key)
				}
				if r.key == "listeners" && role == cluster.Broker {
					t.Errorf("%s: a row touches a broker's listeners", mode)
				}
			}
		}
	}
}

func TestNotesPointAtLikelyMistakes(t *testing.T) {
	file := "\xef\xbb\xbf# mark\n" + plainBroker + "num.partitions=1\nnum.partitions=2\nauthorizer.class.name=com.acme.Ranger\nsuper.users=User:a,User:b\n"
	notes := strings.Join(render1(t, broker1(), cluster.ZKMigrating, file).Notes, "\n")
	for _, want := range []string{"byte order mark", "num.partitions is set on lines 5, 6", "com.acme.Ranger is not Kafka's own", "semicolons"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}

func TestAControllerListenerWithSASLAsksForItsOwnSettings(t *testing.T) {
	s := healthy()
	s.Quorum.ListenerProtocol = "SASL_SSL"
	out, err := Render(controller1(), cluster.KRaftMigrating, nil, s, []Setting{{"log.dirs", "/m"}})
	if err != nil {
		t.Fatal(err)
	}
	notes := strings.Join(out.Notes, "\n")
	for _, want := range []string{"sasl.mechanism.controller.protocol is not set", "listener.name.controller.sasl.enabled.mechanisms is not set"} {
		if !strings.Contains(notes, want) {
			t.Errorf("notes lack %q:\n%s", want, notes)
		}
	}
}

func TestTheMechanismOfTheControllersListenerIsDerived(t *testing.T) {
	s := healthy()
	s.Quorum.ListenerProtocol, s.Quorum.Mechanism = "SASL_SSL", "PLAIN"
	const mechanism, enabled = "sasl.mechanism.controller.protocol", "listener.name.controller.sasl.enabled.mechanisms"
	tests := []struct {
		name      string
		node      cluster.Node
		mode      cluster.Mode
		file      string
		extra     []Setting
		mechanism string
		enabled   string
	}{
		{"a broker", broker1(), cluster.ZKMigrating, plainBroker, nil, "PLAIN", ""},
		{"a controller", controller1(), cluster.KRaftMigrating, "", nil, "PLAIN", "PLAIN"},
		{"what the settings say wins", controller1(), cluster.KRaftMigrating, "", []Setting{{mechanism, "GSSAPI"}}, "GSSAPI", "GSSAPI"},
		{"a prepared file has its own", controller1(), cluster.KRaftMigrating, mechanism + "=GSSAPI\n" + enabled + "=GSSAPI,PLAIN\n", nil, "GSSAPI", "GSSAPI,PLAIN"},
	}
	for _, tt := range tests {
		out, err := Render(tt.node, tt.mode, []byte(tt.file), s, append(tt.extra, Setting{"log.dirs", "/m"}))
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		got := settingsOf(t, out.File)
		if got[mechanism] != tt.mechanism || got[enabled] != tt.enabled {
			t.Errorf("%s: %q and %q, want %q and %q", tt.name, got[mechanism], got[enabled], tt.mechanism, tt.enabled)
		}
	}
	s.Quorum.ListenerProtocol = "SSL"
	out, err := Render(broker1(), cluster.ZKMigrating, []byte(plainBroker), s, nil)
	if got := settingsOf(t, out.File); err != nil || got[mechanism] != "" {
		t.Errorf("without SASL: %q, %v", got[mechanism], err)
	}
}

func TestAHugeHostileFileIsHandledInBoundedTime(t *testing.T) {
	var b strings.Builder
	b.WriteString(plainBroker)
	for i := range 9000 {
		fmt.Fprintf(&b, "zookeeper.%d=%d\n#\n", i%4500, i)
	}
	b.WriteString(strings.Repeat("zookeeper.connect=z:1\n", 1000))
	out := render1(t, broker1(), cluster.KRaft, b.String())
	if got := bytes.Count(out.File, []byte("zookeeper.")); got != 9000 {
		t.Errorf("%d keys of somebody else are left, want 9000", got)
	}
	_ = Diff("f", []byte(b.String()), bytes.ReplaceAll([]byte(b.String()), []byte("="), []byte(":x")))
}

// FuzzRender: a broker's file is a stranger's text. Whatever renders renders
// the same again, and no secret of it is shown.
func FuzzRender(f *testing.F) {
	for _, file := range brokerFiles() {
		f.Add([]byte(file))
	}
	f.Add([]byte("listener.security.protocol.map=A:SSL, ,CONTROLLER:SSL,controller:SSL,\nauthorizer.class.name=\n"))
	f.Fuzz(func(t *testing.T, tail []byte) {
		if len(tail) > 2048 {
			return
		}
		file := slices.Concat([]byte(plainBroker+"ssl.key.password=s3cr3t\n"), tail)
		for _, mode := range []cluster.Mode{cluster.ZK, cluster.ZKMigrating, cluster.KRaft} {
			out, err := Render(broker1(), mode, file, healthy(), nil)
			if err != nil {
				continue
			}
			again, err := Render(broker1(), mode, out.File, healthy(), nil)
			if err != nil || !bytes.Equal(again.File, out.File) || len(again.Changes) > 0 {
				t.Fatalf("%s of %q\ngave  %q\nagain %q, %v", mode, file, out.File, again.File, err)
			}
			if text := out.Unified("f", false) + strings.Join(out.Notes, "\n"); !bytes.Contains(tail, []byte("s3cr3t")) && strings.Contains(text, "s3cr3t") {
				t.Fatalf("a secret is shown:\n%s", text)
			}
		}
	})
}
