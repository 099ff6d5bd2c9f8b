package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"filippo.io/age"

	"migrator/internal/zkread/zkfake"
)

const orders = `{"version":3,"topic_id":"AAECAwQFBgcICQoLDA0ODw","partitions":{"0":[1]}}`

// kept is a cluster with one topic, its configuration and an ACL.
func kept(t *testing.T) (*zkfake.Server, string) {
	t.Helper()
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	for path, data := range map[string]string{
		"/kafka/cluster/id":                               `{"version":"1","id":"Some-id_of22characters"}`,
		"/kafka/controller_epoch":                         "5",
		"/kafka/controller":                               `{"version":2,"brokerid":1,"timestamp":"1","kraftControllerEpoch":-1}`,
		"/kafka/brokers/topics/orders":                    orders,
		"/kafka/brokers/topics/orders/partitions/0/state": `{"version":1,"leader":1,"leader_epoch":0,"controller_epoch":5,"isr":[1]}`,
		"/kafka/config/topics/orders":                     `{"version":1,"config":{"retention.ms":"1000"}}`,
		"/kafka/config/users/alice":                       `{"version":1,"config":{"SCRAM-SHA-256":"salt=s3cret"}}`,
		"/kafka/kafka-acl/Topic/orders":                   `{"version":1,"acls":[]}`,
		"/kafka/config/changes":                           "",
	} {
		s.Put(path, []byte(data))
	}
	file := filepath.Join(t.TempDir(), "migrations.yaml")
	node := `access: {kind: local}, properties: "/nowhere/{id}.properties", logs: none`
	yaml := fmt.Sprintf(`migrations:
  - name: payments
    zookeeper: {connect: "%s/kafka"}
    kafka: {version: 3.9.2, bootstrap: ["127.0.0.1:1"]}
    quorum: {mode: static, listener: {name: CONTROLLER, protocol: PLAINTEXT, port: 9093}}
    broker_defaults: {%s, commands: {start: ["true"], stop: ["true"], running: ["false"]}}
    controller_defaults: {%s, log_dirs: ["/nowhere/metadata-{id}"], commands: {format: ["true"], start: ["true"], stop: ["true"], running: ["false"], kill: ["true"]}}
    brokers: [{id: 1, host: 127.0.0.1}, {id: 2, host: 127.0.0.1}, {id: 3, host: 127.0.0.1}]
    controllers: [{id: 3001, host: 127.0.0.1, port: 2}, {id: 3002, host: 127.0.0.1, port: 3}, {id: 3003, host: 127.0.0.1, port: 4}]
`, s.Addr(), node, node)
	if err := os.WriteFile(file, []byte(yaml), 0o600); err != nil {
		t.Fatal(err)
	}
	return s, file
}

// say runs a command within this process.
func say(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	root := newRootCommand()
	root.SetArgs(args)
	root.SetOut(&stdout)
	root.SetErr(&stderr)
	if err := root.ExecuteContext(t.Context()); err != nil {
		return exitCode(err), stdout.String(), stderr.String() + err.Error()
	}
	return 0, stdout.String(), stderr.String()
}

func backedUp(t *testing.T, config string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "payments.znodes")
	if code, out, errs := say(t, "backup", "payments", "--config", config, "--out", file); code != 0 || !strings.Contains(out, "nothing changed while it was read") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	return file
}

func TestABackupIsProvenAndNotWrittenOver(t *testing.T) {
	s, config := kept(t)
	file := backedUp(t, config)
	if s.Writes() != 0 {
		t.Errorf("a backup wrote %d times", s.Writes())
	}
	if code, out, _ := say(t, "backup", "verify", file, "--json"); code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"cluster_id": "Some-id_of22characters"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, _, errs := say(t, "backup", "payments", "--config", config, "--out", file); code != exitUsage || !strings.Contains(errs, "exists already") {
		t.Errorf("exit %d: %s", code, errs)
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 4
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := say(t, "backup", "verify", file); code != exitFailed || !strings.Contains(errs, "damaged at byte") {
		t.Errorf("exit %d: %s", code, errs)
	}
}

func TestAnEncryptedBackupIsOneDocumentAndIsProvenWithItsIdentity(t *testing.T) {
	_, config := kept(t)
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file, key := filepath.Join(dir, "payments.age"), filepath.Join(dir, "key")
	if err := os.WriteFile(key, []byte(id.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := say(t, "backup", "payments", "--config", config, "--out", file, "--recipient", id.Recipient().String(), "--json")
	if code != 0 || !json.Valid([]byte(out)) || !strings.Contains(out, `"encrypted": true`) || !strings.Contains(out, `"proven": false`) {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	if raw, err := os.ReadFile(file); err != nil || bytes.Contains(raw, []byte("orders")) {
		t.Errorf("the file shows its content, or %v", err)
	}
	if code, out, errs := say(t, "backup", "verify", file, "--identity", key); code != 0 || !strings.Contains(out, ": whole: ") {
		t.Errorf("exit %d: %s%s", code, out, errs)
	}
	if code, _, errs := say(t, "backup", "verify", file); code != exitUsage || !strings.Contains(errs, "--identity") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if code, _, _ := say(t, "backup", "payments", "--config", config, "--out", filepath.Join(dir, "x"), "--recipient", "nobody"); code != exitUsage {
		t.Errorf("a recipient that is none: exit %d", code)
	}
}

func TestARestoreShowsItsPlanAndWritesOnlyByDigest(t *testing.T) {
	s, config := kept(t)
	file := backedUp(t, config)
	s.Put("/kafka/config/topics/orders", []byte(`{"version":1,"config":{"retention.ms":"7"}}`))
	s.Delete("/kafka/kafka-acl/Topic/orders")
	args := []string{"backup", "restore", file, "payments", "--config", config, "--select", "topics,configs,acls"}
	code, out, errs := say(t, args...)
	if code != exitWaiting || s.Writes() != 0 || strings.Contains(out, "s3cret") ||
		!strings.Contains(out, "change /config/topics/orders: it differs in retention.ms") || !strings.Contains(out, "1 would be created, 1 would be changed") {
		t.Fatalf("exit %d, %d writes: %s%s", code, s.Writes(), out, errs)
	}
	if code, _, errs := say(t, append(args, "--digest", "0123")...); code != exitWaiting || s.Writes() != 0 || !strings.Contains(errs, "stale") {
		t.Errorf("a stale digest: exit %d, %d writes, %s", code, s.Writes(), errs)
	}
	digest := regexp.MustCompile(`digest ([0-9a-f]{64})`).FindStringSubmatch(out)[1]
	if code, out, errs := say(t, append(args, "--digest", digest)...); code != 0 || !strings.Contains(out, "1 created, 1 changed") {
		t.Fatalf("exit %d: %s%s", code, out, errs)
	}
	data, _ := s.Data("/kafka/config/topics/orders")
	acl, there := s.Data("/kafka/kafka-acl/Topic/orders")
	if !strings.Contains(string(data), `"1000"`) || !there || string(acl) != `{"version":1,"acls":[]}` {
		t.Errorf("configuration %s, acl %s", data, acl)
	}
	if len(s.Children("/kafka/config/changes")) != 1 || len(s.Children("/kafka/kafka-acl-changes")) != 1 {
		t.Error("brokers were not told")
	}
	if code, out, _ := say(t, args...); code != 0 || !strings.Contains(out, "0 would be created, 0 would be changed") {
		t.Errorf("the second time: exit %d, %s", code, out)
	}
}

func TestWhatMustNotBeRestoredIsRefused(t *testing.T) {
	for name, row := range map[string]struct{ path, data, says string }{
		"another cluster":             {"/kafka/cluster/id", `{"version":"1","id":"Other-id_of2characters"}`, "the backup is of cluster Some-id_of22characters"},
		"a cluster that KRaft rules":  {"/kafka/controller", `{"version":2,"brokerid":3001,"timestamp":"1","kraftControllerEpoch":4}`, "KRaft controller 3001 holds /controller"},
		"a cluster that KRaft copied": {"/kafka/migration", `{"version":0,"kraft_metadata_offset":9,"kraft_controller_id":3001,"kraft_metadata_epoch":1,"kraft_controller_epoch":1}`, "the copy to KRaft was done"},
	} {
		t.Run(name, func(t *testing.T) {
			s, config := kept(t)
			file := backedUp(t, config)
			s.Put(row.path, []byte(row.data))
			s.Delete("/kafka/config/topics/orders")
			code, _, errs := say(t, "backup", "restore", file, "payments", "--config", config, "--select", "configs")
			if code != exitRefused || !strings.Contains(errs, row.says) || s.Writes() != 0 {
				t.Errorf("exit %d, %d writes: %s", code, s.Writes(), errs)
			}
		})
	}
}
