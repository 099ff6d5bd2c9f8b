package phases

import (
	"bytes"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
)

// What is kept of earlier plans changes none: not when it is used again, and
// not when a file that others depend on was edited meanwhile.
func TestAMemoChangesNoPlan(t *testing.T) {
	var memo Memo
	edited := provisioned()
	edited.Files = maps.Clone(edited.Files)
	for _, id := range brokers() {
		file := bytes.Replace(brokerFile(id), []byte("version=3.9"), []byte("version=3.8"), 1)
		file = append(file, "inter.broker.listener.name=PLAINTEXT\n"...)
		edited.Files[id] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.ZK})
	}
	for _, p := range []cluster.Phase{cluster.Initial, cluster.Load, cluster.Hybrid} {
		for i, snap := range []facts.Snapshot{provisioned(), edited, provisioned()} {
			want, got := built(t, p, snap), built(t, p, snap, func(in *Inputs) { in.Memo = &memo })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("plan %s, snapshot %d (-without +with memo):\n%s", p, i, diff)
			}
		}
	}
}

// The plan of load for three hundred brokers, as it is made again from every
// snapshot while a person reads it.
func BenchmarkAPlanMadeAgain(b *testing.B) {
	for name, memo := range map[string]*Memo{"without a memo": nil, "with a memo": {}} {
		b.Run(name, func(b *testing.B) {
			in := inputs(cluster.Load, many(300))
			in.Migration.Nodes, in.Memo = manyNodes(300), memo
			for b.Loop() {
				if _, err := Build(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func manyNodes(n int) []config.Node {
	nodes := migration().Nodes[len(brokers()):]
	for id := range int32(n) {
		node := migration().Nodes[0]
		node.ID, node.Host, node.Properties = id+1, fmt.Sprintf("b%d", id+1), fmt.Sprintf("/etc/kafka/%d.properties", id+1)
		nodes = append(nodes, node)
	}
	return nodes
}

func many(n int) facts.Snapshot {
	snap := provisioned()
	for id := range int32(n) {
		file := brokerFile(id + 1)
		snap.API[id+1] = known(facts.API{UpdateMetadata: true})
		snap.Files[id+1] = known(facts.File{Exists: true, SHA256: hash(file), Content: file, Mode: cluster.ZK})
	}
	return snap
}
