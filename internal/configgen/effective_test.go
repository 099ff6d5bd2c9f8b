package configgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWhatRunsIsComparedWithTheFile(t *testing.T) {
	const file = "# c\nbroker.id=1\nlisteners=A://h:1, B://h:2\nauto.leader.rebalance.enable = TRUE \nnum.io.threads=8\nssl.key.password=s3cr3t\nlog.dirs=${file:/x:d}\n"
	static := func(name, value string) Described {
		return Described{Name: name, Value: value, HasValue: true, Source: FromFile}
	}
	cases := []struct {
		name string
		is   Described
		want *Difference
	}{
		{"the same", static("broker.id", "1"), nil},
		{"the same but for blanks of a list", static("listeners", "A://h:1,B://h:2"), nil},
		{"the same but for case and blanks", static("auto.leader.rebalance.enable", "true"), nil},
		{"a dynamic value over the file's", Described{Name: "num.io.threads", Value: "16", HasValue: true, Source: FromBrokerDynamic},
			&Difference{Key: "num.io.threads", Line: 5, File: "8", Effective: "16", Source: FromBrokerDynamic}},
		{"a dynamic value that only repeats the file's", Described{Name: "num.io.threads", Value: "8", HasValue: true, Source: FromClusterDynamic}, nil},
		{"a dynamic value of its own", Described{Name: "log.retention.ms", Value: "5", HasValue: true, Source: FromClusterDynamic},
			&Difference{Key: "log.retention.ms", Effective: "5", Source: FromClusterDynamic}},
		{"an option of the command line", static("zookeeper.connect", "z:1"), &Difference{Key: "zookeeper.connect", Effective: "z:1", Source: FromFile}},
		{"a file that changed since the start", static("num.io.threads", "4"), &Difference{Key: "num.io.threads", Line: 5, File: "8", Effective: "4", Source: FromFile}},
		{"one key that fills in another", static("node.id", "1"), nil},
		{"a default", Described{Name: "num.network.threads", Value: "3", HasValue: true, Source: FromDefault}, nil},
		{"a secret of the file", Described{Name: "ssl.key.password", Source: FromFile, Sensitive: true}, nil},
		{"a dynamic secret", Described{Name: "ssl.key.password", Source: FromBrokerDynamic, Sensitive: true},
			&Difference{Key: "ssl.key.password", Line: 6, File: redactedText, Source: FromBrokerDynamic, Unknown: true}},
		{"a placeholder", static("log.dirs", "/data"), nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			got, err := Differences([]byte(file), []Described{c.is})
			if err != nil {
				t.Fatal(err)
			}
			var want []Difference
			if c.want != nil {
				want = []Difference{*c.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestADifferenceShowsNoSecret(t *testing.T) {
	described := []Described{{Name: "listener.name.a.plain.sasl.jaas.config", Value: "s3cr3t", HasValue: true, Source: FromBrokerDynamic}}
	got, err := Differences([]byte("listener.name.a.plain.sasl.jaas.config=s3cr3t-2\n"), described)
	if err != nil || len(got) != 1 {
		t.Fatalf("%v, %v", got, err)
	}
	if text := got[0].File + got[0].Effective; strings.Contains(text, "s3cr3t") {
		t.Errorf("a secret is shown: %s", text)
	}
	if _, err := Differences([]byte("a=\\u1"), nil); err == nil {
		t.Error("a file that Java refuses was compared")
	}
}
