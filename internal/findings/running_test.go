package findings

import (
	"testing"

	"migrator/internal/facts"
)

// asked is the ready cluster with something changed.
func asked(change func(*Survey)) Survey {
	s := withZnodes(nil)
	change(&s)
	return s
}

func fileAndRun(id int32, text string, more ...facts.Setting) Survey {
	return runsWith(withFile(withZnodes(nil), id, text), id, more...)
}

func TestVersionsAreFoundUnderTheirCode(t *testing.T) {
	const key = "inter.broker.protocol.version"
	kafka := func(version string) Survey {
		return asked(func(s *Survey) { s.Migration.Kafka.Version = version })
	}
	judgeAll(t, []seen{
		{"one broker is behind (FR-010)", fileAndRun(2, key+"=3.8\n"), "MIG271", Found, "3.8"},
		{"another broker has none (FR-010)", runsWith(without(withZnodes(nil), 2, key), 2, facts.Setting{Name: key, Value: "3.9-IV0", Source: "default"}), "MIG271", Clear, ""},
		{"in force is another than the file says", fileAndRun(2, "", facts.Setting{Name: key, Value: "3.8", Source: "static"}), "MIG271", Found, "in force is 3.8"},
		{"no version at all", fileAndRun(2, key+"=latest\n"), "MIG271", Found, "latest"},
		{"3.4 (FR-010)", fileAndRun(2, key+"=3.4\n"), "MIG272", Found, "3.4"},
		{"3.6-IV0 (FR-010)", fileAndRun(2, key+"=3.6-IV0\n"), "MIG272", Found, "3.6-IV0"},
		{"3.6 means the last of it", fileAndRun(2, key+"=3.6\n"), "MIG272", Clear, ""},
		{"several folders at 3.6 (FR-009)", fileAndRun(2, key+"=3.6\n"), "MIG273", Found, "2 folders"},
		{"one folder with blanks and twice at 3.6 (FR-009)", fileAndRun(2, key+"=3.6\nlog.dirs=/d1/kafka , /d1/kafka\n"), "MIG273", Clear, ""},
		{"several folders at 3.9", withZnodes(nil), "MIG273", Clear, ""},
		{"another release (FR-020)", asked(func(s *Survey) { s.Releases[3] = known("3.8") }), "MIG275", Found, "broker 3"},
		{"a vendor's requests, and its own default tells", asked(func(s *Survey) {
			s.Releases[3] = known("")
			*s = runsWith(*s, 3, facts.Setting{Name: key, Value: "3.8-IV0", Source: "default"})
		}), "MIG275", Found, "3.8-IV0"},
		{"nothing tells", asked(func(s *Survey) { s.Releases[3], s.Effective[3] = known(""), facts.Fact[[]facts.Setting]{} }), "MIG275", Unknown, "broker 3"},
		{"3.7.0 (FR-020)", kafka("3.7.0"), "MIG276", Found, "KAFKA-16667"},
		{"a vendor's number (FR-020)", kafka("7.6.0-ccs"), "MIG276", Found, "no version of Apache Kafka"},
		{"a vendor's 3.9 (FR-020)", kafka("3.9.2-amzn"), "MIG276", Clear, ""},
		{"3.9.1 (FR-020)", kafka("3.9.1"), "MIG277", Found, "KAFKA-19480"},
		{"3.9.2", kafka("3.9.2"), "MIG277", Clear, ""},
	})
}

func TestWhatRunsIsComparedWithTheFile(t *testing.T) {
	judgeAll(t, []seen{
		{"the same", withZnodes(nil), "MIG281", Clear, ""},
		{"an override on the command line (FR-058)", fileAndRun(2, "", facts.Setting{Name: "zookeeper.connect", Value: "zk9:2181", Source: "static"}), "MIG281", Found, "zk9"},
		{"an override of a key that the file does not have (FR-058)", fileAndRun(2, "", facts.Setting{Name: "authorizer.class.name", Value: "com.acme.A", Source: "static"}), "MIG281", Found, "com.acme.A"},
		{"node.id is broker.id's own copy", fileAndRun(2, "", facts.Setting{Name: "node.id", Value: "2", Source: "static"}), "MIG281", Clear, ""},
		{"blanks do not count", fileAndRun(2, "", facts.Setting{Name: "log.dirs", Value: "/d2/a, /d2/b", Source: "static"}), "MIG281", Clear, ""},
		{"a placeholder is not compared", fileAndRun(2, "zookeeper.connect=${file:/x:y}\n", facts.Setting{Name: "zookeeper.connect", Value: "zk1:2181", Source: "static"}), "MIG281", Clear, ""},
		{"a dynamic setting has a code of its own", fileAndRun(2, "", facts.Setting{Name: "listeners", Value: "PLAINTEXT://x:1", Source: "dynamic-broker"}), "MIG281", Clear, ""},
		{"a broker that does not say", asked(func(s *Survey) { s.Effective[2] = facts.Fact[[]facts.Setting]{} }), "MIG281", Unknown, "broker 2"},
		{"an edit since the start", fileAndRun(2, "num.io.threads=16\n", facts.Setting{Name: "num.io.threads", Value: "8", Source: "default"}), "MIG282", Found, "num.io.threads=16"},
		{"a synonym lends its source", fileAndRun(2, "log.retention.minutes=60\n", facts.Setting{Name: "log.retention.hours", Value: "168", Source: "static"}), "MIG282", Clear, ""},
		{"another spelling of a number", fileAndRun(2, "log.cleaner.min.cleanable.ratio=0.50\n", facts.Setting{Name: "log.cleaner.min.cleanable.ratio", Value: "0.5", Source: "static"}), "MIG282", Clear, ""},
		{"a password is not compared", fileAndRun(2, "ssl.key.password=a\n", facts.Setting{Name: "ssl.key.password", Null: true, Sensitive: true, Source: "static"}), "MIG282", Clear, ""},
	})
}

func TestFoldersAndAvailabilityAreFoundUnderTheirCode(t *testing.T) {
	two := withTopic("t", `{"version":3,"topic_id":"y2pJxVWfSJWzjSfi3rJPgA","partitions":{"0":[1]}}`)
	judgeAll(t, []seen{
		{"an offline folder (FR-009)", asked(func(s *Survey) {
			s.LogDirs[2] = known([]LogDir{{Path: "/d2/b", Offline: true, Error: "KAFKA_STORAGE_ERROR"}})
		}), "MIG274", Found, "/d2/b"},
		{"a broker that does not say", asked(func(s *Survey) { delete(s.LogDirs, 2) }), "MIG274", Unknown, "broker 2"},
		{"one replica", withZnodes(two), "MIG283", Found, "one replica"},
		{"as many in sync as there are", asked(func(s *Survey) { s.Snapshot.MinISR = known(map[string]int{"orders": 3}) }), "MIG283", Found, "is 3"},
		{"not told", asked(func(s *Survey) { s.Snapshot.MinISR = facts.Fact[map[string]int]{} }), "MIG283", Unknown, "min.insync"},
	})
	if f := judged(t, asked(func(s *Survey) { s.Snapshot.MinISR = facts.Fact[map[string]int]{} }), "MIG283"); f.Blocks() {
		t.Error("a warning that cannot be ruled out blocks")
	}
}
