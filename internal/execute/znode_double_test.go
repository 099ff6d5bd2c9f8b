package execute

import (
	"fmt"
	"strings"
	"testing"

	"migrator/internal/double"
)

func TestADoubleIsLoadedInManyTransactionsIntoAnEmptyZooKeeperOnly(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	tree := []double.Znode{{Path: "/brokers"}, {Path: "/brokers/topics"}}
	for i := range 1200 {
		tree = append(tree, double.Znode{Path: fmt.Sprintf("/brokers/topics/t%d", i), Data: []byte(strings.Repeat("x", 400))})
	}
	var told []int
	if err := z.Load(t.Context(), tree, func(n int) { told = append(told, n) }); err != nil {
		t.Fatal(err)
	}
	if n := len(s.Children("/brokers/topics")); n != 1200 || len(told) < 3 || told[len(told)-1] != len(tree) {
		t.Errorf("%d topics, told %v", n, told)
	}
	if data, _ := s.Data("/brokers/topics/t1199"); len(data) != 400 {
		t.Errorf("the last topic has %d bytes", len(data))
	}
	err := z.Load(t.Context(), []double.Znode{{Path: "/config"}}, func(int) { t.Error("done") })
	if err == nil || !strings.Contains(err.Error(), "has a cluster already") {
		t.Errorf("into a cluster: %v", err)
	}
	if _, there := s.Data("/config"); there {
		t.Error("a znode was made beside a cluster")
	}
}
