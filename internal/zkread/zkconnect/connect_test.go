package zkconnect_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread/zkconnect"
)

func TestConnectStrings(t *testing.T) {
	for _, row := range []struct {
		in   string
		want zkconnect.Address
		says string
	}{
		{"zk1:2181,zk2:2182/kafka/prod", zkconnect.Address{Servers: []string{"zk1:2181", "zk2:2182"}, Chroot: "/kafka/prod"}, ""},
		{"zk1", zkconnect.Address{Servers: []string{"zk1:2181"}}, ""},
		{"zk1:2181/", zkconnect.Address{Servers: []string{"zk1:2181"}}, ""},
		{"zk1:2181/kafka/", zkconnect.Address{Servers: []string{"zk1:2181"}, Chroot: "/kafka"}, ""},
		{"[fd00::1]:2181,[fd00::2]/kafka", zkconnect.Address{Servers: []string{"[fd00::1]:2181", "[fd00::2]:2181"}, Chroot: "/kafka"}, ""},
		{"zk1:2181/kafka,zk2:2181/kafka", zkconnect.Address{}, "say zk1:2181,zk2:2181/kafka"},
		{"zk1:2181//kafka", zkconnect.Address{}, "empty"},
		{"", zkconnect.Address{}, "empty"},
		{"zk1:2181,", zkconnect.Address{}, "empty host"},
		{"zk1:2181, zk2:2181", zkconnect.Address{}, "blank"},
		{"zk1:x", zkconnect.Address{}, "port"},
		{"zk1:0", zkconnect.Address{}, "port"},
		{"fd00::1:2181", zkconnect.Address{}, "brackets"},
		{"[fd00::1", zkconnect.Address{}, "bracket"},
		{":2181", zkconnect.Address{}, "no host"},
		{"/kafka", zkconnect.Address{}, "empty host"},
		{"zk1,zk1:2181", zkconnect.Address{}, "twice"},
		{"zk://zk1:2181", zkconnect.Address{}, "scheme"},
		{"zk1/../x", zkconnect.Address{}, "relative"},
	} {
		t.Run(row.in, func(t *testing.T) {
			got, err := zkconnect.Parse(row.in)
			if diff := cmp.Diff(row.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (row.says != "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("got error %v, want one with %q", err, row.says)
			}
		})
	}
}

func FuzzParseNeverPanics(f *testing.F) {
	f.Add("zk1:2181,zk2:2181/kafka")
	f.Add("[::1]:2181/a/b/")
	f.Fuzz(func(t *testing.T, s string) {
		a, err := zkconnect.Parse(s)
		if err != nil {
			return
		}
		again, err := zkconnect.Parse(strings.Join(a.Servers, ",") + a.Chroot)
		if err != nil || cmp.Diff(a, again) != "" {
			t.Errorf("%q gave %v, which reads back as %v, %v", s, a, again, err)
		}
	})
}
