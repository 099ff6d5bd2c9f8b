package findings

import (
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// meta changes the meta.properties of broker 1.
func meta(change func([]facts.MetaProperties) []facts.MetaProperties) Survey {
	s := healthy()
	dirs, _ := s.Snapshot.Meta[1].Get()
	s.Snapshot.Meta[1] = known(change(dirs))
	return s
}

func TestWhoABrokerIs(t *testing.T) {
	judgeAll(t, []seen{
		{"ids agree", healthy(), "MIG302", Clear, ""},
		{"the file has another id (FR-005)", withFile(healthy(), 2, "broker.id=7\n"), "MIG302", Found, "server.properties:8"},
		{"node.id differs (FR-005)", withFile(healthy(), 2, "node.id=9\n"), "MIG302", Found, "node.id is 9"},
		{"a folder is another broker's (FR-005)", meta(func(d []facts.MetaProperties) []facts.MetaProperties { d[1].NodeID = "1001"; return d }), "MIG302", Found, "/d1/b/meta.properties"},
		{"no broker.id (FR-005)", without(healthy(), 1, "broker.id"), "MIG303", Found, "no id is written"},
		{"broker.id=-1 (FR-005)", withFile(healthy(), 1, "broker.id=-1\n"), "MIG303", Found, "no id is written"},
		{"id 1001 with generation on (FR-005)", withFile(healthy(), 1, "broker.id=1001\n"), "MIG303", Found, "broker.id.generation.enable=false"},
		{"id 1001 with generation off", withFile(healthy(), 1, "broker.id=1001\nbroker.id.generation.enable=false\n"), "MIG303", Clear, ""},
		{"a KRaft broker has node.id alone", withFile(healthy(), 1, "=node.id=1\nprocess.roles=broker\n"), "MIG303", Clear, ""},
	})
}

func TestWhatABrokersFoldersSay(t *testing.T) {
	type list = []facts.MetaProperties
	second := func(change func(*facts.MetaProperties)) Survey {
		return meta(func(d list) list { change(&d[1]); return d })
	}
	unread := healthy()
	unread.Snapshot.Meta[2] = facts.Unknown[list]("version 2", "test", time.Unix(1, 0))
	metadataOnly := withFile(meta(func(d list) list { return append(d, facts.MetaProperties{Dir: "/m"}) }), 1, "metadata.log.dir=/m\n")
	twice := meta(func(d list) list { d[0].DirectoryID, d[1].DirectoryID = "x", "x"; return d })
	judgeAll(t, []seen{
		{"all there", healthy(), "MIG304", Clear, ""},
		{"one of two lacks it (FR-009)", second(func(d *facts.MetaProperties) { d.Exists = false }), "MIG304", Found, "/d1/b"},
		{"metadata.log.dir gets it in migration mode", metadataOnly, "MIG304", Clear, ""},
		{"not readable", unread, "MIG304", Unknown, "version 2"},
		{"not readable, said once", unread, "MIG306", Skipped, ""},
		{"version 1 (FR-099)", second(func(d *facts.MetaProperties) { d.Version = 1 }), "MIG305", Found, "version 1"},
		{"another cluster (FR-021)", second(func(d *facts.MetaProperties) { d.ClusterID = "BBB" }), "MIG306", Found, "right ensemble and chroot"},
		{"no cluster.id (FR-021)", second(func(d *facts.MetaProperties) { d.ClusterID = "" }), "MIG306", Found, "no cluster.id"},
		{"own cluster", healthy(), "MIG306", Clear, ""},
		{"a copied disk", twice, "MIG307", Found, "/d1/a"},
		{"no directory ids yet", healthy(), "MIG307", Clear, ""},
	})
}

func TestAFileThatCannotBeReadIsSaidOnce(t *testing.T) {
	s := healthy()
	s.Snapshot.Files[1] = facts.Unknown[facts.File]("permission denied", "test", time.Unix(1, 0))
	blocked := 0
	for _, f := range Judge(s, nil) {
		if f.Code[3] == '3' && f.Blocks() {
			blocked++
		}
	}
	if blocked != 1 {
		t.Errorf("%d findings of files block for one unreadable file, want 1", blocked)
	}
	judgeAll(t, []seen{
		{"unreadable", s, filesUnreadable, Unknown, "permission denied"},
		{"what rests on it", s, "MIG303", Skipped, ""},
		{"a broken escape", withFile(healthy(), 1, "x=\\u12\n"), filesUnreadable, Found, "line 8"},
		{"a controller's file is not there yet", healthy(), filesUnreadable, Clear, ""},
	})
}

func TestKeysThatAreNotWhatTheySeem(t *testing.T) {
	bom := withFile(healthy(), 1, "=\xef\xbb\xbfbroker.id=1\n")
	secret := withFile(healthy(), 1, "ssl.key.password=aaa\nssl.key.password=bbb\n")
	judgeAll(t, []seen{
		{"a byte order mark (FR-117)", bom, "MIG308", Found, "byte order mark"},
		{"none", healthy(), "MIG308", Clear, ""},
		{"lines of Windows (FR-117)", withFile(healthy(), 1, "a=b\r\nc=d"), "MIG320", Found, "CR LF"},
		{"two values (FR-053)", withFile(healthy(), 1, "num.partitions=1\nnum.partitions : 2\n"), "MIG309", Found, "lines 8, 9"},
		{"twice the same (FR-053)", withFile(healthy(), 1, "broker.id=1\n"), "MIG309", Clear, ""},
		{"an ignored flag (FR-003)", withFile(healthy(), 1, "zookeeper.metadata.migration.enabled=true\n"), "MIG310", Found, "zookeeper.metadata.migration.enable"},
		{"wrong case (FR-003)", withFile(healthy(), 1, "Zookeeper.Connect=zk\n"), "MIG310", Found, "zookeeper.connect"},
		{"unknown keys stay (FR-065)", withFile(healthy(), 1, "ProducerConfig.RETRIES_CONFIG=10\nconfluent.license=abc\n"), "MIG310", Clear, ""},
		{"a blank after a class (FR-050)", withFile(healthy(), 1, "authorizer.class.name=kafka.security.authorizer.AclAuthorizer \n"), "MIG318", Found, "server.properties:8"},
		{"a blank that Kafka trims (FR-050)", withFile(healthy(), 1, "num.partitions=1 \n"), "MIG318", Clear, ""},
		{"an id from outside (FR-054)", withFile(healthy(), 1, "broker.id=${ID}\n"), "MIG316", Found, "broker.id"},
		{"a host from outside (FR-054)", withFile(healthy(), 1, "advertised.listeners=PLAINTEXT://${HOST}:9092\n"), "MIG316", Clear, ""},
		{"a listener's name from outside (FR-054)", withFile(healthy(), 1, "listeners=${NAME}://:9092\n"), "MIG316", Found, "listeners"},
		{"config providers (FR-055)", withFile(healthy(), 1, "config.providers=file\nssl.key.password=${file:/x:y}\n"), "MIG317", Found, "used in 1 values"},
	})
	for _, i := range judged(t, secret, "MIG309").Items {
		if want := "ssl.key.password is set on lines 8, 9 with different values; the last one counts"; i.Seen != want {
			t.Errorf("a secret set twice is shown as %q, want %q", i.Seen, want)
		}
	}
}

func TestFilesThatRunAheadOfTheMigration(t *testing.T) {
	controller := func(text string) Survey {
		s := healthy()
		s.Snapshot.Files[3001] = known(facts.File{Exists: true, Content: []byte(text), Mode: cluster.KRaft})
		return s
	}
	const voters = "controller.quorum.voters=3001@c1:9093,3003@c3:9093,3002@c2:9093\n"
	judgeAll(t, []seen{
		{"no flag (FR-003)", controller("process.roles=controller\n"), "MIG311", Found, "controller 3001"},
		{"misspelt flag (FR-003)", controller("process.roles=controller\nzookeeper.metadata.migration.enabled=true\n"), "MIG311", Found, ""},
		{"with the flag", controller("process.roles=controller\nzookeeper.metadata.migration.enable=true\n"), "MIG311", Clear, ""},
		{"a fragment", controller("ssl.keystore.location=/x\n"), "MIG311", Clear, ""},
		{"other voters (FR-003)", controller("controller.quorum.voters=3001@c1:9093\n"), "MIG312", Found, "3001@c1:9093"},
		{"the same voters in another order", controller(voters + "zookeeper.connect=zk3:2181,zk1,zk2:2181/kafka/\nnode.id=3001\n"), "MIG312", Clear, ""},
		{"another tree (FR-003)", controller("zookeeper.connect=zk1:2181,zk2:2181,zk3:2181\n"), "MIG312", Found, "zk1:2181"},
		{"process.roles too early (FR-044, FR-027)", withFile(healthy(), 1, "process.roles=broker\n"), "MIG313", Found, "KRaft mode"},
		{"the flag too early", withFile(healthy(), 1, "zookeeper.metadata.migration.enable=true\n"), "MIG313", Found, migrationFlag},
		{"listener names without the flag (FR-098)", withFile(healthy(), 1, "controller.listener.names=CONTROLLER\n"), "MIG313", Found, "does not start"},
		{"plain files", healthy(), "MIG313", Clear, ""},
	})
}

func TestWhereBrokersRegister(t *testing.T) {
	connect := func(v string) Survey { return withFile(healthy(), 2, "zookeeper.connect="+v+"\n") }
	judgeAll(t, []seen{
		{"another order, no ports, a slash at the end (FR-039)", connect("zk3,zk2:2181,ZK1/kafka/"), "MIG314", Clear, ""},
		{"the same", connect("zk3,zk2:2181,zk1/kafka/"), "MIG315", Clear, ""},
		{"another chroot (FR-021, FR-024)", connect("zk1:2181,zk2:2181,zk3:2181"), "MIG314", Found, "server.properties:8"},
		{"no value", connect(""), "MIG314", Found, "not set"},
		{"one member only", connect("zk1:2181/kafka"), "MIG315", Found, "zk1:2181/kafka"},
		{"another ensemble (FR-053)", connect("new:2181/kafka"), "MIG315", Found, "new:2181"},
		{"a KRaft broker has none", withFile(healthy(), 2, "=node.id=2\nprocess.roles=broker\n"), "MIG314", Clear, ""},
	})
}

func TestWhatOneValueComesToCountFor(t *testing.T) {
	judgeAll(t, []seen{
		{"brokers agree", healthy(), "MIG319", Clear, ""},
		{"one broker elects unclean leaders", withFile(healthy(), 2, "unclean.leader.election.enable=true\n"), "MIG319", Found, "unclean.leader.election.enable"},
		{"zookeeper.set.acl on one broker (FR-036)", withFile(healthy(), 2, "zookeeper.set.acl=true\n"), "MIG319", Found, "zookeeper.set.acl"},
		{"a file made by Ansible", withFile(healthy(), 1, "# Ansible managed\n"), "MIG366", Found, "Ansible"},
		{"files made by hand", healthy(), "MIG366", Clear, ""},
	})
}
