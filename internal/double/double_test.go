package double

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/znodebackup"
)

func tree(pairs ...string) []znodebackup.Znode {
	out := []znodebackup.Znode{{Path: "/"}}
	for i := 0; i < len(pairs); i += 2 {
		out = append(out, znodebackup.Znode{Path: pairs[i], Data: []byte(pairs[i+1])})
	}
	return out
}

func ones(n int) []byte { return bytes.Repeat([]byte{1}, n) }

func folded(t *testing.T, local []int32, pairs ...string) (map[string]string, Double) {
	t.Helper()
	d, err := Fold(tree(pairs...), local, ones)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, z := range d.Znodes {
		out[z.Path] = string(z.Data)
	}
	return out, d
}

func TestAssignmentsAreFoldedAndStatesAgreeWithThem(t *testing.T) {
	got, d := folded(t, []int32{1, 2, 3},
		"/brokers/ids/11", "{}", "/brokers/ids/25", "{}",
		"/brokers/topics", "",
		"/brokers/topics/orders", `{"version":3,"topic_id":"x","partitions":{"0":[11,14,17],"1":[25,12,99,40]},"adding_replicas":{"0":[99]},"removing_replicas":{}}`,
		"/brokers/topics/orders/partitions", "", "/brokers/topics/orders/partitions/0", "",
		"/brokers/topics/orders/partitions/0/state", `{"controller_epoch":77,"leader":14,"version":1,"leader_epoch":9,"isr":[14]}`,
		"/brokers/topics/orders/partitions/1/state", `{"controller_epoch":77,"leader":-1,"version":1,"leader_epoch":9,"isr":[25]}`)
	// In order: 11, 12, 14, 17, 25, 40, 99.
	want := map[string]string{
		"/brokers/topics":                           "",
		"/brokers/topics/orders":                    `{"adding_replicas":{},"partitions":{"0":[1,3,2],"1":[2,3,1]},"removing_replicas":{},"topic_id":"x","version":3}`,
		"/brokers/topics/orders/partitions":         "",
		"/brokers/topics/orders/partitions/0":       "",
		"/brokers/topics/orders/partitions/0/state": `{"controller_epoch":0,"isr":[1,3,2],"leader":1,"leader_epoch":9,"version":1}`,
		"/brokers/topics/orders/partitions/1/state": `{"controller_epoch":0,"isr":[2,3,1],"leader":2,"leader_epoch":9,"version":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	if d.Topics != 1 || d.Partitions != 2 || d.Brokers != 7 {
		t.Errorf("%d topics, %d partitions, %d brokers", d.Topics, d.Partitions, d.Brokers)
	}
	said := strings.Join(d.Notes, "\n")
	for _, want := range []string{"1 topics whose reassignment", "1 partitions with fewer replicas", "1 partitions without a leader", "1 partitions that were short"} {
		if !strings.Contains(said, want) {
			t.Errorf("notes lack %q:\n%s", want, said)
		}
	}
}

func TestWhatLivesOrIsSecretStaysOut(t *testing.T) {
	got, d := folded(t, []int32{1},
		"/brokers", "", "/brokers/ids", "", "/brokers/ids/5", "{}", "/controller", "{}", "/controller_epoch", "9", "/cluster/id", "{}", "/migration", "{}", "/migrator/driver", "x",
		"/admin", "", "/admin/delete_topics", "", "/admin/delete_topics/old", "", "/admin/reassign_partitions", "{}", "/isr_change_notification/a", "{}",
		"/delegation_token/tokens/t", "secret", "/hermes/x", "", "/consumers", "", "/kafka-acl/Topic/orders", `{"acls":[]}`, "/kafka-acl-changes/acl_1", "",
		"/config/users/ann", `{"version":1,"config":{"SCRAM-SHA-256":"salt=c2FsdA==,stored_key=a2V5,server_key=???,iterations=4096","producer_byte_rate":"1"}}`,
		"/config/brokers/5", `{"version":1,"config":{"listener.name.x.ssl.keystore.password":"hunter2","ssl.key.password":"hunter2","log.cleaner.threads":"2"}}`,
		"/config/brokers/<default>", `{"version":1,"config":{"sasl.jaas.config":"hunter2","min.insync.replicas":"2"}}`,
		"/latest_producer_id_block", `{"version":1,"broker":5,"block_start":"0","block_end":"999"}`)
	want := map[string]string{
		"/brokers": "", "/admin": "", "/kafka-acl/Topic/orders": `{"acls":[]}`,
		"/config/users/ann":         `{"config":{"SCRAM-SHA-256":"salt=AQEBAQ==,stored_key=AQEB,server_key=???,iterations=4096","producer_byte_rate":"1"},"version":1}`,
		"/config/brokers/1":         `{"config":{"log.cleaner.threads":"2"},"version":1}`,
		"/config/brokers/<default>": `{"config":{"min.insync.replicas":"2"},"version":1}`,
		"/latest_producer_id_block": `{"block_end":"999","block_start":"0","broker":1,"version":1}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
	said := strings.Join(d.Notes, "\n")
	for _, want := range []string{"topics to be deleted", "running reassignment", "delegation tokens", "SCRAM credentials replaced", "3 dynamic broker settings", "not Kafka's own"} {
		if !strings.Contains(said, want) {
			t.Errorf("notes lack %q:\n%s", want, said)
		}
	}
}

// Preflight shall say of the double what it would say of production.
func TestWhatCannotBeUnderstoodStaysAsItIs(t *testing.T) {
	pairs := []string{"/brokers/topics/bad", `{"partitions":7}`, "/brokers/topics/bad/partitions/0/state", "x", "/config/topics/bad", "{", "/config/users/u", "{}", "/latest_producer_id_block", "[]"}
	got, _ := folded(t, []int32{1}, pairs...)
	for i := 0; i < len(pairs); i += 2 {
		if got[pairs[i]] != pairs[i+1] {
			t.Errorf("%s: %q, want %q", pairs[i], got[pairs[i]], pairs[i+1])
		}
	}
}

func BenchmarkFold(b *testing.B) {
	pairs := []string{"/brokers/topics", ""}
	for i := range 2500 {
		at := fmt.Sprintf("/brokers/topics/orders-%d", i)
		pairs = append(pairs, at, `{"version":3,"topic_id":"x","partitions":{"0":[101,102],"1":[102,103],"2":[104,101],"3":[106,105]},"adding_replicas":{},"removing_replicas":{}}`)
		for n := range 4 {
			pairs = append(pairs, fmt.Sprintf("%s/partitions/%d/state", at, n), `{"controller_epoch":44,"leader":101,"version":1,"leader_epoch":9,"isr":[101]}`)
		}
	}
	saved := tree(pairs...)
	b.ReportAllocs()
	for b.Loop() {
		if d, err := Fold(saved, []int32{1, 2, 3}, ones); err != nil || d.Partitions != 10_000 {
			b.Fatal(d.Partitions, err)
		}
	}
}
