package lab_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// planted are the secrets of one cluster: in migrations.yaml by their sources,
// in properties files, comments, znodes, the output of commands, and logs.
const planted = 20

func secret(n int) string { return fmt.Sprintf("pl4nted-%02d-s3cret", n) }

// TestNoneOfTwentySecretsIsEverShown goes to load with a hook that fails and
// tells, and looks through everything that came out of the program.
func TestNoneOfTwentySecretsIsEverShown(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("MIGRATOR_TOKEN", secret(1))
	t.Setenv("ZK_DIGEST", secret(2))
	t.Setenv("KEY_PASSWORD", secret(3))
	t.Setenv("STORE_COMMAND", secret(5))
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	stored := file("stored", secret(4)+"\n")
	c := startCluster(t, lab.Options{Brokers: 1, ExtraBroker: []string{
		"delegation.token.secret.key=" + secret(6),
		"ssl.truststore.password=" + secret(7),
		`listener.name.plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="` + secret(8) + `";`,
		"vendor.license=" + secret(9),
		"#ssl.key.password=" + secret(10),
		`#sasl.jaas.config = x required password="` + secret(11) + `";`,
		"password.encoder.secret=" + secret(12),
		"schema.registry=http://me:" + secret(13) + "@registry/",
		"a.client.secret=\\\n   " + secret(14),
		"my.api.key : " + secret(19),
		"basic.auth.user.info=me:" + secret(20),
	}})
	yaml := c.MigrationsYAML(lab.YAMLOptions{Name: "payments", PollInterval: "500ms", GoodPolls: 2, StepTimeout: "2m", Soak: "1h",
		ZooKeeper: []string{"digest: {user: me, password: {env: ZK_DIGEST}}"}})
	yaml = strings.Replace(yaml, "        - {key: log.dirs,", "        - {key: ssl.key.password, value: {env: KEY_PASSWORD}}\n"+
		"        - {key: ssl.keystore.password, value: {file: "+strconv.Quote(stored)+"}}\n"+
		"        - {key: listener.name.controller.plain.sasl.jaas.config, value: {command: [printenv, STORE_COMMAND]}}\n        - {key: log.dirs,", 1)
	thawed := filepath.Join(dir, "thawed")
	script := file("hook", "cat "+file("chatter", "password="+secret(16)+"\nsecret: "+secret(17)+"\n")+"\necho as $ZK_DIGEST >&2\ntest -e "+thawed+"\n")
	yaml += fmt.Sprintf("    hooks: {freeze: [sh, %q], thaw: [\"true\"], before_node: [sh, %q]}\n", script, script)
	scram := base64.StdEncoding.EncodeToString([]byte(secret(15)))

	op := &operator{t: t, c: c, name: "payments", config: file("migrations.yaml", yaml), data: filepath.Join(dir, "data"), listen: freeAddress(t)}
	op.client = client.New("http://"+op.listen, config.NewSecret(secret(1)))
	op.plant("/config/users/alice", `{"version":1,"config":{"SCRAM-SHA-256":"salt=`+scram+`,stored_key=`+scram+`,server_key=`+scram+`,iterations=4096"}}`)

	said := &captured{}
	serve := exec.Command(migratorBinary(), "serve", "--config", op.config, "--data", op.data, "--listen", op.listen, "--log-level", "debug")
	serve.Stdout, serve.Stderr = said, said
	serve.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := serve.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = serve.Process.Kill(), serve.Wait() })
	op.serve, op.ended = serve, make(chan error, 1)
	op.until("the service answers", 20*time.Second, func() bool {
		_, err := op.client.Status(t.Context(), op.name)
		return err == nil
	})

	shown := &bytes.Buffer{}
	show := func(args ...string) {
		exit, out, errs := runMigrator(t.Context(), t, args...)
		fmt.Fprintf(shown, "$ %v exits %d\n%s%s\n", args, exit, out, errs)
	}
	junit := filepath.Join(dir, "preflight.xml")
	show("validate", "--config", op.config)
	show("preflight", "payments", "--config", op.config, "--all", "--junit", junit)
	show("preflight", "payments", "--config", op.config, "--json")
	show("plan", "payments", "--config", op.config)
	show("plan", "payments", "--config", op.config, "--json")
	show("plan", "payments", "--config", op.config, "--runbook")
	op.look(shown)

	op.until("the failing hook holds the plan", 2*time.Minute, func() bool {
		s := op.status()
		if s.RunStatus == status.NeedsApproval {
			op.advance(s)
		}
		return s.RunStatus == status.Blocked
	})
	op.look(shown)
	file("thawed", "")
	show("retry", "payments", "--server", "http://"+op.listen)
	op.drive(4*time.Minute, complete(cluster.Load))
	fatal, err := os.OpenFile(c.LogPath(c.ControllerIDs()[0], "server.log"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(fatal, "[%s] ERROR Exiting Kafka due to fatal exception (kafka.Kafka$)\njava.lang.IllegalArgumentException: bad sasl.jaas.config with password=%s\n",
		time.Now().Format("2006-01-02 15:04:05,000"), secret(18))
	if err := fatal.Close(); err != nil {
		t.Fatal(err)
	}
	op.until("the fatal line is seen", time.Minute, func() bool {
		return strings.Contains(op.get("/api/v1/migrations/payments/facts"), "Exiting Kafka due to fatal exception")
	})
	op.look(shown)
	show("evidence", "payments", "--out", filepath.Join(dir, "evidence"), "--server", "http://"+op.listen)
	if err := serve.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = serve.Wait() // it says "signal: killed"

	emitted := map[string]string{"commands, API and pages": shown.String(), "the service's log": string(*said), "junit": read(t, junit), "the journal": read(t, filepath.Join(op.data, "journal.db"))}
	if err := filepath.WalkDir(filepath.Join(dir, "evidence"), func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			emitted[path] = read(t, path)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= planted; n++ {
		for where, text := range emitted {
			hush := secret(n)
			if n == 15 {
				hush = scram
			}
			if at := strings.Index(text, hush); at >= 0 {
				t.Errorf("secret %d is in %s: ...%q", n, where, text[max(0, at-200):at+len(hush)])
			}
		}
	}
	for _, must := range []string{"ssl.truststore.password", "hook", "Exiting Kafka due to fatal exception", "ssl.keystore.password"} {
		if !strings.Contains(shown.String(), must) {
			t.Errorf("%q was not shown at all: the test looks at too little", must)
		}
	}
}

// look keeps what every command, route and page of the service answers now.
func (op *operator) look(into io.Writer) {
	op.t.Helper()
	for _, args := range [][]string{{"status", op.name}, {"status", op.name, "--json"}, {"journal", op.name}, {"journal", op.name, "--json"}} {
		exit, out, errs := op.ask(args...)
		fmt.Fprintf(into, "$ %v exits %d\n%s%s\n", args, exit, out, errs)
	}
	const one = "/api/v1/migrations/payments"
	for _, path := range []string{"/api/v1/migrations", one, one + "/journal", one + "/facts", one + "/evidence", "/metrics", "/", "/fragment"} {
		fmt.Fprintf(into, "GET %s\n%s\n", path, op.get(path))
	}
}

// get asks a route of the service.
func (op *operator) get(path string) string {
	op.t.Helper()
	req, err := http.NewRequestWithContext(op.t.Context(), http.MethodGet, "http://"+op.listen+path, nil)
	if err != nil {
		op.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+os.Getenv("MIGRATOR_TOKEN"))
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		op.t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		op.t.Errorf("GET %s: %d, %v", path, resp.StatusCode, err)
	}
	return string(body)
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
	}
	return string(data)
}
