package survey

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/remote"
)

func TestWhatIsOddInALogFolder(t *testing.T) {
	dir := t.TempDir()
	for path, content := range map[string]string{
		"orders-3/partition.metadata":         "version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAAA\n",
		"a-b-10/partition.metadata":           "version: 0\ntopic_id: x1\n",
		"bare-0/00000000000000000000.log":     "",
		"orders-4.0f1c-stray/x":               "",
		"orders-5.0f1c-delete/x":              "",
		"orders-6.0f1c-future/x":              "",
		"__cluster_metadata-0/x":              "",
		"meta.properties":                     "version=0\n",
		"with blank-1/partition.metadata":     "version: 0\ntopic_id: x2\n",
		"recovery-point-offset-checkpoint":    "",
		"bare-0/deeper-1/partition.metadata2": "",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, path)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, path), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	l := looker{machine: remote.NewLocal()}
	f, err := l.folder(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(f.Odd)
	if got := strings.Join(f.Odd, " "); got != "__cluster_metadata-0 orders-4.0f1c-stray orders-5.0f1c-delete" {
		t.Errorf("odd: %s", got)
	}
	if got := strings.Join(f.Bare, " "); got != "bare-0" {
		t.Errorf("without partition.metadata: %s", got)
	}
	if got := fmt.Sprint(f.TopicIDs); got != "map[a-b-10:x1 orders-3:AAAAAAAAAAAAAAAAAAAAAA with blank-1:x2]" || !f.Whole {
		t.Errorf("ids %s, whole %v", got, f.Whole)
	}
	if _, err := l.folder(t.Context(), filepath.Join(dir, "absent")); err == nil {
		t.Error("a folder that is not there was looked through")
	}
}

func TestWhatACommandLineSays(t *testing.T) {
	p := commandLine([]string{"java", "-Xmx1G", "-Xms1G", "kafka.Kafka", "/etc/kafka/server.properties", "--override", "broker.id=3", "--override=ssl.key.password=hunter2"})
	if p.HeapBytes == nil || *p.HeapBytes != 1<<30 || fmt.Sprint(p.Overrides) != "[broker.id ssl.key.password]" {
		t.Errorf("heap %v, overrides %v", p.HeapBytes, p.Overrides)
	}
	if got := kafkaVariables("PATH=/bin\x00KAFKA_CFG_NODE_ID=1\x00KAFKA_ZOOKEEPER_CONNECT=zk\x00"); fmt.Sprint(got) != "[KAFKA_CFG_NODE_ID KAFKA_ZOOKEEPER_CONNECT]" {
		t.Errorf("variables %v", got)
	}
}

func TestThisMachinesClockIsNotAheadOfItself(t *testing.T) {
	ahead, err := looker{machine: remote.NewLocal()}.clockAhead(t.Context())
	if err != nil || ahead < -5000 || ahead > 5000 {
		t.Errorf("%d ms, %v", ahead, err)
	}
}

func TestStopLimitsOfSystemd(t *testing.T) {
	for text, want := range map[string]string{
		"TimeoutStopUSec=1min 30s\n": "90000", "TimeoutStopUSec=5min": "300000", "TimeoutStopUSec=infinity": "none", "TimeoutStopUSec=1h 1min 1s 500ms": "3661500",
		"TimeoutStopUSec=2d 1h": "176400000", "TimeoutStopUSec=never": "unknown", "": "unknown",
	} {
		got := "unknown"
		if ms, ok := stopLimit(facts.Known(text, "systemctl", time.Unix(1, 0))).Get(); ok && ms == nil {
			got = "none"
		} else if ok {
			got = fmt.Sprint(*ms)
		}
		if got != want {
			t.Errorf("%q is %s, want %s", text, got, want)
		}
	}
}

func TestAConnectionIsOpenRefusedOrFailed(t *testing.T) {
	open, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	local := config.Node{Access: config.Access{Kind: "local"}}
	got := reach(context.Background(), local, []findings.Connection{{To: open.Addr().String()}, {To: closed.Addr().String()}, {To: "no-such-host.invalid:9093"}})
	for i, want := range []string{"open", "refused", "failed: "} {
		if r, ok := got[i].Result.Get(); !ok || !strings.HasPrefix(string(r), want) {
			t.Errorf("%s: %q, want %q", got[i].To, r, want)
		}
	}
	machines := map[string]remote.Node{"the node's own tools": remote.NewLocal()}
	if !testing.Short() {
		machines["only busybox"] = onlyBusybox(t)
	}
	for to, want := range map[string]findings.Reached{open.Addr().String(): findings.Open, closed.Addr().String(): findings.Refused} {
		for with, machine := range machines {
			if r, err := fromAfar(t.Context(), looker{machine: machine}, to); err != nil || r != want {
				t.Errorf("with %s %s is %q (%v), want %q", with, to, r, err, want)
			}
		}
	}
}

// A node that ssh did not reach was said to lack nc and python3.
func TestANodeThatIsNotReachedLacksNoTool(t *testing.T) {
	machine := remote.NewSSH(config.Access{Kind: "ssh", Host: "127.0.0.1", SSH: config.SSH{Port: 1, User: "kafka", KeyFile: filepath.Join(t.TempDir(), "absent")}})
	if _, err := fromAfar(t.Context(), looker{machine: machine}, "127.0.0.1:9093"); err == nil || strings.Contains(err.Error(), "no tool") || !strings.Contains(err.Error(), "ssh kafka@127.0.0.1:1") {
		t.Errorf("error %v, want why ssh does not reach it", err)
	}
}

// onlyBusybox is a node with busybox's commands and no others.
func onlyBusybox(t *testing.T) remote.Node {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("busybox", "--install", "-s", dir).CombinedOutput(); err != nil {
		t.Fatalf("busybox is needed (as root: make sshd): %v: %s", err, out)
	}
	return remote.NewWrapper([]string{"env", "PATH=" + dir}, nil)
}
