package phases

import (
	"encoding/base64"
	"strings"
	"testing"

	"migrator/internal/cluster"
)

func TestEveryControllerIsFormattedWithTheSameFirstVoters(t *testing.T) {
	nodes := []cluster.Node{{ID: 3001, Host: "c1", Port: 9093}, {ID: 3002, Host: "fd00::2", Port: 9094}}
	got := initialControllers("abcDEFghiJKLmnoPQRstuA", 1, nodes)
	if got != initialControllers("abcDEFghiJKLmnoPQRstuA", 1, nodes) {
		t.Error("two format commands of one plan would not agree")
	}
	first, second, _ := strings.Cut(got, ",")
	if !strings.HasPrefix(first, "3001@c1:9093:") || !strings.HasPrefix(second, "3002@[fd00::2]:9094:") {
		t.Errorf("got %s", got)
	}
	for attempt := range 500 {
		id := directoryID("abcDEFghiJKLmnoPQRstuA", attempt, 3001)
		raw, err := base64.RawURLEncoding.DecodeString(id)
		if err != nil || len(raw) != 16 || id[0] == '-' {
			t.Fatalf("%q is no directory id", id)
		}
		if id == directoryID("abcDEFghiJKLmnoPQRstuA", attempt+1, 3001) || id == directoryID("abcDEFghiJKLmnoPQRstuA", attempt, 3002) {
			t.Fatal("a folder of another attempt or node has the same id")
		}
	}
}
