package phases

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/plan"
)

// changed is the file that the plan of a phase makes of the present ones.
func changed(t *testing.T, p cluster.Phase, snap facts.Snapshot) map[int32][]byte {
	t.Helper()
	b := built(t, p, snap)
	out := map[int32][]byte{}
	for _, st := range b.Plan.Steps {
		for _, a := range st.Actions {
			if a.Kind == plan.Write {
				out[*a.Node] = b.Contents[a.After]
			}
		}
	}
	return out
}

// holding gives each broker's file the content it really has in its mode.
func holding(snap facts.Snapshot, files map[int32][]byte) facts.Snapshot {
	for id, content := range files {
		mode, _ := configgen.Mode(content, cluster.Broker)
		snap.Files[id] = known(facts.File{Exists: true, SHA256: hash(content), Content: content, Mode: mode})
	}
	return snap
}

// threeModes are the brokers' files as the plans make them.
func threeModes(t *testing.T) (zk, migrating, kraft map[int32][]byte) {
	zk = map[int32][]byte{1: brokerFile(1), 2: brokerFile(2), 3: brokerFile(3)}
	migrating = changed(t, cluster.Load, provisioned())
	return zk, migrating, changed(t, cluster.Hybrid, holding(loaded(), migrating))
}

type keptCase struct {
	name   string
	mode   cluster.Mode                                               // of the brokers' present files
	copies func(zk, migrating []byte) []string                        // beside broker 1's; the others have the right ones
	change func(snap *facts.Snapshot, zk, migrating map[int32][]byte) // nil: nothing
	want   func(zk, migrating []byte) (files []string)                // written to broker 1, in order
	says   string                                                     // of a refusal
}

func lostJournal() []keptCase {
	both := func(zk, migrating []byte) []string { return []string{string(zk), string(migrating)} }
	return []keptCase{
		{name: "from KRaft both earlier files come back", mode: cluster.KRaft, copies: both,
			want: func(zk, migrating []byte) []string { return []string{string(migrating), string(zk)} }},
		{name: "from migration mode the original comes back", mode: cluster.ZKMigrating, copies: func(zk, _ []byte) []string { return []string{string(zk)} },
			want: func(zk, _ []byte) []string { return []string{string(zk)} }},
		{name: "copies of an earlier attempt with other files are told apart by what became of them", mode: cluster.KRaft,
			copies: func(zk, migrating []byte) []string {
				return []string{string(zk), string(zk) + "old=1\n", string(migrating), string(migrating) + "old=1\n"}
			},
			want: func(zk, migrating []byte) []string { return []string{string(migrating), string(zk)} }},
		{name: "two that may both be it are a question", mode: cluster.ZKMigrating,
			copies: func(zk, _ []byte) []string { return []string{string(zk) + "a=1\n", string(zk) + "a=2\n"} },
			says:   "broker 1 had in zk mode, and 2 copies on its node could be it (/etc/kafka/1.properties.migrator-"},
		{name: "a KRaft file without any copy is refused", mode: cluster.KRaft, copies: func(_, _ []byte) []string { return nil },
			says: "broker 1 had in zk-migrating mode, and no copy of it lies beside /etc/kafka/1.properties"},
		{name: "an original that nobody kept is the present file without the lines that ZooKeeper mode refuses", mode: cluster.ZKMigrating, copies: func(_, _ []byte) []string { return nil },
			want: func(zk, _ []byte) []string {
				return []string{string(zk) + "listener.security.protocol.map=PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL,CONTROLLER:PLAINTEXT\n"}
			}},
		{name: "a node that nobody could look at is no node without copies", mode: cluster.ZKMigrating, copies: both,
			change: func(s *facts.Snapshot, _, _ map[int32][]byte) {
				s.Kept[1] = unknown[[]facts.KeptFile]("connection refused")
			},
			says: "broker 1 had in zk mode, and whether a copy lies beside /etc/kafka/1.properties is unknown: connection refused"},
		{name: "a broker back in ZooKeeper mode keeps what its operator gave it, whatever lies beside", mode: cluster.ZKMigrating, copies: both,
			change: func(s *facts.Snapshot, zk, _ map[int32][]byte) {
				*s = holding(inMode(*s, cluster.ZK, 1), map[int32][]byte{1: append(zk[1], "num.io.threads=9\n"...)})
			},
			want: func(_, _ []byte) []string { return nil }},
	}
}

// The data folder was lost: the journal knows no file of any broker.
func TestWithoutAJournalEarlierFilesAreThoseKeptOnTheNodes(t *testing.T) {
	for _, k := range lostJournal() {
		t.Run(k.name, func(t *testing.T) {
			zk, migrating, kraft := threeModes(t)
			snap := holding(loaded(), migrating)
			if k.mode == cluster.KRaft {
				snap = holding(dualWriting(), kraft)
			}
			snap.Kept = map[int32]facts.Fact[[]facts.KeptFile]{}
			for _, id := range brokers() {
				snap.Kept[id] = beside(id, string(zk[id]), string(migrating[id]))
			}
			snap.Kept[1] = beside(1, k.copies(zk[1], migrating[1])...)
			if k.change != nil {
				k.change(&snap, zk, migrating)
			}
			b, err := tryBack(t, New(), snap, cluster.Initial)
			if k.says != "" {
				if err == nil || !strings.Contains(err.Error(), k.says) {
					t.Fatalf("%v, want a refusal with %q", err, k.says)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := k.want(zk[1], migrating[1])
			if got := writtenTo(1, b); fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("broker 1 gets\n%q, want\n%q", got, want)
			}
		})
	}
}

func beside(id int32, contents ...string) facts.Fact[[]facts.KeptFile] {
	out := []facts.KeptFile{}
	for _, c := range contents {
		mode, _ := configgen.Mode([]byte(c), cluster.Broker)
		sha := hash([]byte(c))
		out = append(out, facts.KeptFile{Path: fmt.Sprintf("/etc/kafka/%d.properties.migrator-%s.bak", id, sha[:12]),
			File: facts.File{Exists: true, SHA256: sha, Content: []byte(c), Mode: mode}})
	}
	return known(out)
}

// writtenTo are the contents that a plan gives a node, in order.
func writtenTo(id int32, b Built) []string {
	var out []string
	for _, st := range b.Plan.Steps {
		for _, a := range st.Actions {
			if a.Kind == plan.Write && *a.Node == id {
				out = append(out, string(b.Contents[a.After]))
			}
		}
	}
	return out
}

// A store that lost a content is helped by the node, but only with that very one.
func TestAContentThatTheStoreLostIsTakenFromTheNode(t *testing.T) {
	s := migrated(t).s
	snap := holding(loaded(), changed(t, cluster.Load, provisioned()))
	snap.Kept = map[int32]facts.Fact[[]facts.KeptFile]{}
	for _, id := range brokers() {
		snap.Kept[id] = beside(id, string(brokerFile(id)), string(brokerFile(id))+"a=1\n")
	}
	lost := func(string) ([]byte, error) { return nil, fs.ErrNotExist }
	b, _, err := BuildRevert(RevertInputs{Inputs: inputs(cluster.Initial, snap), State: s, Content: lost})
	if err != nil {
		t.Fatal(err)
	}
	if got := writtenTo(2, b); len(got) != 1 || got[0] != string(brokerFile(2)) {
		t.Errorf("broker 2 gets %q, want its original", got)
	}
	snap.Kept[2] = beside(2, string(brokerFile(2))+"a=1\n")
	if _, _, err = BuildRevert(RevertInputs{Inputs: inputs(cluster.Initial, snap), State: s, Content: lost}); err == nil {
		t.Error("another file than the one the journal names was taken")
	}
}

// Adopted in load and written again, a broker had its migration-mode file
// recorded as its original: the way back would have ended in migration mode.
func TestAMigrationModeFileIsNeverGivenBackAsTheOriginal(t *testing.T) {
	migrating := changed(t, cluster.Load, provisioned())
	s := migrated(t).s
	s.Originals[1] = hash(migrating[1])
	snap := holding(loaded(), migrating)
	snap.Kept = map[int32]facts.Fact[[]facts.KeptFile]{1: beside(1, string(brokerFile(1)))}
	if got := writtenTo(1, back(t, s, snap, cluster.Initial)); len(got) != 1 || got[0] != string(brokerFile(1)) {
		t.Errorf("broker 1 gets %q, want its original", got)
	}
}
