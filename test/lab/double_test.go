package lab_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"migrator/internal/evidence"
	"migrator/internal/plan"
	"migrator/internal/znodebackup"
)

// production writes a backup of a cluster of six brokers that is nowhere:
// topics with two replicas of four partitions each, a user, a quota, an ACL.
func production(t testing.TB, topics int) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "production.znodes")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w, err := znodebackup.NewWriter(f, znodebackup.Head{ClusterID: "cHJvZHVjdGlvbi0wMDAwMQ", Begun: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	add := func(path, data string) {
		t.Helper()
		z := znodebackup.Znode{Path: path}
		if data != "" {
			z.Data = []byte(data)
		}
		if err := w.Add(z); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"/", "/brokers", "/brokers/ids", "/brokers/topics", "/config", "/config/topics", "/config/users", "/config/clients", "/config/brokers", "/config/ips", "/kafka-acl", "/kafka-acl/Topic"} {
		add(p, "")
	}
	add("/controller_epoch", "44")
	add("/config/users/ann", `{"version":1,"config":{"SCRAM-SHA-256":"salt=c2FsdHNhbHQ=,stored_key=a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U=,server_key=a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2V5a2U=,iterations=4096"}}`)
	add("/config/clients/importer", `{"version":1,"config":{"producer_byte_rate":"1048576"}}`)
	add("/kafka-acl/Topic/orders-0", `{"version":1,"acls":[{"principal":"User:ann","permissionType":"Allow","operation":"Read","host":"*"}]}`)
	for i := range topics {
		topic := fmt.Sprintf("orders-%d", i)
		add("/config/topics/"+topic, `{"version":1,"config":{"retention.ms":"86400000"}}`)
		at := "/brokers/topics/" + topic
		id := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "topic%011d", i))
		add(at, fmt.Sprintf(`{"version":3,"topic_id":"%s","partitions":{"0":[101,102],"1":[102,103],"2":[104,101],"3":[106,105]},"adding_replicas":{},"removing_replicas":{}}`, id))
		add(at+"/partitions", "")
		for n, leader := range []int{101, 102, 104, 106} {
			add(fmt.Sprintf("%s/partitions/%d", at, n), "")
			add(fmt.Sprintf("%s/partitions/%d/state", at, n), fmt.Sprintf(`{"controller_epoch":44,"leader":%d,"version":1,"leader_epoch":%d,"isr":[%d]}`, leader, i%9, leader))
		}
	}
	if _, err := w.Finish(znodebackup.Tail{}); err != nil {
		t.Fatal(err)
	}
	return path
}

// rehearseDouble migrates the double whole, and answers its evidence.
func rehearseDouble(t testing.TB, topics int) evidence.Pack {
	t.Helper()
	out := filepath.Join(t.TempDir(), "out")
	exit, stdout, stderr := runMigrator(t.Context(), t, "rehearse", "--from-backup", production(t, topics), "--soak", "2s", "--out", out)
	t.Logf("%s\n%s", stdout, stderr)
	if exit != 0 {
		t.Fatalf("exit %d", exit)
	}
	raw, err := os.ReadFile(filepath.Join(out, "evidence.json"))
	if err != nil {
		t.Fatal(err)
	}
	var pack evidence.Pack
	if err := json.Unmarshal(raw, &pack); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(stdout, "Preflight said") || strings.Contains(stdout, "BLOCKS") {
		t.Error("the summary does not say what preflight said")
	}
	if want := fmt.Sprintf("Double: %d topics with %d partitions of 6 brokers", topics, 4*topics); !strings.Contains(stdout, want) {
		t.Errorf("the summary does not say %q", want)
	}
	return pack
}

func TestADoubleOfABackupIsMigrated(t *testing.T) {
	nightly(t)
	rehearseDouble(t, 20)
}

// BenchmarkDouble is a double of 10,000 partitions: how long the copy takes, and
// the slowest restart.
func BenchmarkDouble(b *testing.B) {
	for b.Loop() {
		var copied, slowest time.Duration
		for _, s := range rehearseDouble(b, 2500).Steps {
			if s.Done == nil {
				continue
			}
			switch took := s.Done.Sub(s.Opened); s.Kind {
			case plan.Copy:
				copied = took
			case plan.Roll:
				slowest = max(slowest, took)
			default:
			}
		}
		b.ReportMetric(copied.Seconds(), "s-copy")
		b.ReportMetric(slowest.Seconds(), "s-slowest-roll")
	}
}
