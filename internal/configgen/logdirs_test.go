package configgen

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLogFolders(t *testing.T) {
	for _, test := range []struct {
		name string
		file string
		want []string
		err  string
	}{
		{"log.dirs wins over log.dir", "log.dir=/a\nlog.dirs=/b\n", []string{"/b"}, ""},
		{"log.dir alone", "log.dir=/a\n", []string{"/a"}, ""},
		{"neither is Kafka's default", "broker.id=1\n", []string{"/tmp/kafka-logs"}, ""},
		{"spaces and doubles", "log.dirs=/a , /b,/a\n", []string{"/a", "/b"}, ""},
		{"a metadata folder outside of them", "log.dirs=/a\nmetadata.log.dir=/m\n", []string{"/a", "/m"}, ""},
		{"a metadata folder among them", "log.dirs=/a,/m\nmetadata.log.dir=/m\n", []string{"/a", "/m"}, ""},
		{"a placeholder", "log.dirs=${env:DIR}\n", nil, "placeholder"},
		{"a file Java refuses", "log.dirs=\\u12\n", nil, "line"},
	} {
		t.Run(test.name, func(t *testing.T) {
			got, err := LogDirs([]byte(test.file))
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err == nil) != (test.err == "") || (err != nil && !strings.Contains(err.Error(), test.err)) {
				t.Errorf("error %v, want %q in it", err, test.err)
			}
		})
	}
}
