package znodebackup_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/znodebackup"
)

const (
	orders = `{"version":3,"topic_id":"AAECAwQFBgcICQoLDA0ODw","partitions":{"0":[1]}}`
	kept   = `{"version":1,"config":{"retention.ms":"1000"}}`
)

func saved(path, data string) znodebackup.Znode {
	return znodebackup.Znode{Path: path, Data: []byte(data), ACL: []znodebackup.ACL{{Perms: 31, Scheme: "world", ID: "anyone"}}}
}

func TestWhatARestoreWouldDo(t *testing.T) {
	for _, row := range []struct {
		name   string
		znode  znodebackup.Znode
		now    string // content of the znode now; "" = absent
		topics string // content of /brokers/topics/orders now
		doomed []string
		want   znodebackup.Deed
		why    string
		notice *znodebackup.Notice
	}{
		{name: "a topic that is gone", znode: saved("/brokers/topics/orders", orders), want: znodebackup.Create, why: "it is gone; it begins without records"},
		{name: "a topic that lives with other replicas", znode: saved("/brokers/topics/orders", orders), now: `{"partitions":{"0":[2]}}`, want: znodebackup.Leave,
			why: "it exists with another id or other replicas: a topic that lives is changed with Kafka's own tools"},
		{name: "a topic that is being deleted", znode: saved("/brokers/topics/orders", orders), doomed: []string{"orders"}, want: znodebackup.Leave, why: "it waits for its deletion"},
		{name: "a configuration that differs", znode: saved("/config/topics/orders", kept), now: `{"version":1,"config":{"retention.ms":"5","x":"s3cret"}}`, topics: orders,
			want: znodebackup.Change, why: "it differs in retention.ms, x", notice: &znodebackup.Notice{Prefix: "/config/changes/config_change_", Data: `{"entity_path":"topics/orders","version":2}`}},
		{name: "a configuration with the same meaning", znode: saved("/config/topics/orders", kept), now: `{"config":{"retention.ms":"1000"},"version":1}`, topics: orders, want: znodebackup.Leave, why: znodebackup.AsSaved},
		{name: "a configuration of no topic", znode: saved("/config/topics/gone", kept), want: znodebackup.Leave, why: "there is no such topic"},
		{name: "a user's client that is gone", znode: saved("/config/users/CN%3Dapp/clients/c1", kept), want: znodebackup.Create, why: "it is gone",
			notice: &znodebackup.Notice{Prefix: "/config/changes/config_change_", Data: `{"entity_path":"users/CN%3Dapp/clients/c1","version":2}`}},
		{name: "a literal acl", znode: saved("/kafka-acl/TransactionalId/t-1", `{"version":1,"acls":[]}`), want: znodebackup.Create, why: "it is gone",
			notice: &znodebackup.Notice{Prefix: "/kafka-acl-changes/acl_changes_", Data: "TRANSACTIONAL_ID:t-1"}},
		{name: "a prefixed acl", znode: saved("/kafka-acl-extended/prefixed/Topic/pay", `{"version":1,"acls":[]}`), want: znodebackup.Create, why: "it is gone",
			notice: &znodebackup.Notice{Prefix: "/kafka-acl-extended-changes/acl_changes_", Data: `{"name":"pay","patternType":"PREFIXED","resourceType":"TOPIC","version":1}`}},
		{name: "a parent without content", znode: saved("/kafka-acl/Topic", ""), want: znodebackup.Create, why: "it is gone"},
		{name: "what the backup could not read", znode: znodebackup.Znode{Path: "/config/users/alice", Unreadable: "hidden"}, want: znodebackup.Leave, why: "the backup could not read it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			now := map[string]znodebackup.Seen{}
			if row.now != "" {
				now[row.znode.Path] = znodebackup.Seen{Data: []byte(row.now), Version: 7}
			}
			if row.topics != "" {
				now["/brokers/topics/orders"] = znodebackup.Seen{Data: []byte(row.topics)}
			}
			steps := znodebackup.PlanRestore([]znodebackup.Znode{row.znode}, now, row.doomed, znodebackup.Parts())
			if len(steps) != 1 {
				t.Fatalf("got %+v", steps)
			}
			got := steps[0]
			if got.Deed != row.want || got.Why != row.why {
				t.Errorf("got %s: %s", got.Deed, got.Why)
			}
			if diff := cmp.Diff(row.notice, got.Notice); diff != "" {
				t.Errorf("notice (-want +got):\n%s", diff)
			}
			if got.Deed == znodebackup.Change && got.Version != 7 {
				t.Errorf("a change must name the version it was planned for, got %d", got.Version)
			}
		})
	}
}

func TestWhatMustNeverBeWrittenBelongsToNoPart(t *testing.T) {
	for _, path := range []string{"/", "/controller", "/controller_epoch", "/migration", "/cluster/id", "/brokers/ids/1", "/brokers/topics", "/brokers/seqid",
		"/brokers/topics/orders/partitions/0/state", "/config/changes/config_change_0000000001", "/kafka-acl-changes/acl_changes_1", "/migrator/driver", "/admin/delete_topics/orders"} {
		if part, ok := znodebackup.PartOf(path); ok {
			t.Errorf("%s belongs to %s", path, part)
		}
	}
}

func TestATopicComesBackBehindItsConfiguration(t *testing.T) {
	saved := []znodebackup.Znode{saved("/brokers/topics/orders", orders), saved("/config/topics/orders", kept)}
	steps := znodebackup.PlanRestore(saved, nil, nil, znodebackup.Parts())
	if len(steps) != 2 || steps[0].Path != "/config/topics/orders" || steps[0].Deed != znodebackup.Create || steps[1].Deed != znodebackup.Create {
		t.Errorf("got %+v", steps)
	}
	only := znodebackup.PlanRestore(saved, nil, nil, []znodebackup.Part{znodebackup.Configs})
	if len(only) != 1 || only[0].Deed != znodebackup.Leave {
		t.Errorf("the topic is not chosen, so its configuration stays: %+v", only)
	}
}

func TestTheDigestFollowsWhatWouldBeWritten(t *testing.T) {
	digest := func(now map[string]znodebackup.Seen) string {
		steps := znodebackup.PlanRestore([]znodebackup.Znode{saved("/config/brokers/1", kept)}, now, nil, znodebackup.Parts())
		d, err := znodebackup.Digest("cluster", "backup", steps)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	at := func(version int32) map[string]znodebackup.Seen {
		return map[string]znodebackup.Seen{"/config/brokers/1": {Data: []byte(`{}`), Version: version}}
	}
	if digest(at(3)) != digest(at(3)) || digest(at(3)) == digest(at(4)) || digest(at(3)) == digest(nil) {
		t.Error("the digest does not tell plans apart, or not the same for one")
	}
}
