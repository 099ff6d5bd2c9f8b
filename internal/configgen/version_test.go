package configgen

import (
	"testing"

	"migrator/internal/cluster"
)

func TestVersionsHaveTheLevelsOfKafka(t *testing.T) {
	cases := []struct {
		version, name string
		level         int16
	}{
		{"3.9", "3.9-IV0", 21}, {"3.9.2", "3.9-IV0", 21}, {"3.9-IV0", "3.9-IV0", 21}, {"3.8", "3.8-IV0", 20},
		{"3.7", "3.7-IV4", 19}, {"3.7-IV2", "3.7-IV2", 17}, {"3.6", "3.6-IV2", 14}, {"3.6-IV1", "3.6-IV1", 13},
		{"3.4.1", "3.4-IV0", 8}, {"3.0", "3.0-IV1", 1},
	}
	for _, c := range cases {
		name, err := NormalVersion(c.version)
		if err != nil || name != c.name {
			t.Errorf("%s is %s, %v; want %s", c.version, name, err, c.name)
		}
		level, err := FeatureLevel(c.version)
		if err != nil || level != c.level {
			t.Errorf("level of %s is %d, %v; want %d", c.version, level, err, c.level)
		}
	}
	for _, version := range []string{"", "3", "3.9-IV1", " 3.9", "3.9 ", "4.0", "2.8", "3.10", "x"} {
		if level, err := FeatureLevel(version); err == nil {
			t.Errorf("%q has level %d", version, level)
		}
	}
}

func TestTheProtocolVersionInForceIsTheFilesOrTheSoftwares(t *testing.T) {
	cases := []struct{ file, kafka, want string }{
		{"", "3.9.2", "3.9-IV0"},
		{"", "3.7.2", "3.7-IV4"},
		{"inter.broker.protocol.version=3.6\n", "3.9.2", "3.6-IV2"},
		{"inter.broker.protocol.version=3.4\ninter.broker.protocol.version=3.6-IV1\n", "3.9.2", "3.6-IV1"},
	}
	for _, c := range cases {
		if got, err := EffectiveIBP([]byte(c.file), c.kafka); err != nil || got != c.want {
			t.Errorf("%q on %s: %s, %v; want %s", c.file, c.kafka, got, err, c.want)
		}
	}
	for _, file := range []string{"inter.broker.protocol.version=\n", "inter.broker.protocol.version=${V}\n", "inter.broker.protocol.version=4.0\n", "a=\\u1\n"} {
		if got, err := EffectiveIBP([]byte(file), "3.9.2"); err == nil {
			t.Errorf("%q: %s", file, got)
		}
	}
	if got, err := EffectiveIBP(nil, "4.1.0"); err == nil {
		t.Errorf("unknown software: %s", got)
	}
}

func TestAFileSaysItsMode(t *testing.T) {
	const flag = "zookeeper.metadata.migration.enable"
	cases := []struct {
		file string
		role cluster.Role
		want cluster.Mode
	}{
		{"broker.id=1\n", cluster.Broker, cluster.ZK},
		{"process.roles=\n" + flag + "= FALSE\n", cluster.Broker, cluster.ZK},
		{flag + "=True \n", cluster.Broker, cluster.ZKMigrating},
		{"process.roles=broker\n", cluster.Broker, cluster.KRaft},
		{"process.roles=broker\n" + flag + "=true\n", cluster.Broker, cluster.KRaft},
		{"process.roles=controller\n" + flag + "=true\n", cluster.Controller, cluster.KRaftMigrating},
		{"process.roles = controller\n#" + flag + "=true\n", cluster.Controller, cluster.KRaft},
		{"process.roles=broker,controller\n", cluster.Broker, ""},
		{"process.roles=controller\n", cluster.Broker, ""},
		{"", cluster.Controller, ""},
		{flag + "=\n", cluster.Broker, ""},
		{"broker.id=1\n", "observer", ""},
	}
	for _, c := range cases {
		got, err := Mode([]byte(c.file), c.role)
		if got != c.want || (err != nil) != (c.want == "") {
			t.Errorf("%s with %q is %q, %v; want %q", c.role, c.file, got, err, c.want)
		}
	}
}
