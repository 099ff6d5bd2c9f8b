package architecture

import (
	"bytes"
	"go/ast"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// pure are the packages whose answers depend on their arguments alone, so that
// a decision can be replayed and tested without a cluster.
var pure = []string{"cluster", "facts", "plan", "gates", "configgen", "revert", "phases", "status", "kraftlog", "runbook", "findings", "draft"}

const module = "migrator/"

func isPure(pkg string) bool {
	name, ok := strings.CutPrefix(pkg, "internal/")
	return ok && slices.Contains(pure, name)
}

func TestPurePackagesImportNothingThatTouchesTheWorld(t *testing.T) {
	banned := []string{"os", "io", "net", "log", "context", "sync", "syscall", "embed", "runtime", "math/rand", "crypto/rand", "crypto/tls", "path/filepath", "testing"}
	for _, f := range sources(t) {
		if !isPure(f.pkg) {
			continue
		}
		for _, imp := range f.imports() {
			// net/url reads text and opens nothing.
			if imp != "net/url" && slices.ContainsFunc(banned, func(b string) bool { return under(imp, b) }) {
				t.Errorf("%s imports %s: a pure package gets everything as an argument, so that the same facts always give the same decision", f.at, imp)
			}
		}
	}
}

func TestPurePackagesImportOnlyPurePackagesOfOurs(t *testing.T) {
	// config is read for its types: what migrations.yaml says is an argument.
	allowed := []string{"internal/config"}
	for _, f := range sources(t) {
		if !isPure(f.pkg) {
			continue
		}
		for _, imp := range f.imports() {
			ours, ok := strings.CutPrefix(imp, module)
			if ok && !isPure(ours) && !slices.Contains(allowed, ours) {
				t.Errorf("%s imports %s: through it a pure package could reach the world", f.at, imp)
			}
		}
	}
}

func TestClusterImportsNothingOfOurs(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			if f.pkg == "internal/cluster" && strings.HasPrefix(imp, module) {
				t.Errorf("%s imports %s: the nouns stand below everything else", f.at, imp)
			}
		}
	}
}

func TestPurePackagesReadNoClock(t *testing.T) {
	clocks := []string{"Now", "Since", "Until", "Sleep", "After", "Tick", "NewTimer", "NewTicker", "AfterFunc"}
	for _, f := range sources(t) {
		name, ok := f.nameOf("time")
		if !ok || !isPure(f.pkg) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == name && slices.Contains(clocks, sel.Sel.Name) {
				t.Errorf("%s:%d uses time.%s: a pure package is told the time, or a replayed journal would decide differently", f.at, f.line(n), sel.Sel.Name)
			}
			return true
		})
	}
}

// owner says where a third-party module may be imported, and why only there.
type owner struct {
	module string // an import path or its beginning
	in     []string
	why    string
}

func owners() []owner {
	const wire = "the client's types stay behind one package, so that it can be replaced and its traps are handled once"
	return []owner{
		{"github.com/go-zookeeper/zk", []string{"internal/zkread", "internal/execute/znode.go", "internal/execute/znode_keeper.go", "internal/execute/znode_restore.go", "internal/execute/znode_double.go"}, "reading ZooKeeper is one package; writes stand in three files: the migration's, a restore's, and those to a throwaway cluster"},
		{"github.com/klauspost/compress", []string{"internal/znodebackup"}, wire},
		{"filippo.io/age", []string{"internal/znodebackup"}, wire},
		{"github.com/twmb/franz-go/pkg/kbin", []string{"internal/kafkaread", "internal/canary", "internal/kraftlog"}, wire},
		{"github.com/twmb/franz-go/pkg/kmsg", []string{"internal/kafkaread", "internal/canary", "internal/kraftlog"}, wire},
		{"github.com/twmb/franz-go", []string{"internal/kafkaread", "internal/canary", "internal/connect"}, wire},
		{"go.etcd.io/bbolt", []string{"internal/journal"}, wire},
		{"github.com/labstack/echo", []string{"internal/httpapi"}, wire},
		{"github.com/prometheus", []string{"internal/httpapi"}, wire},
		{"github.com/spf13/viper", []string{"internal/config"}, "viper changes the case of keys and must never see Kafka's"},
		{"github.com/spf13/pflag", []string{"internal/config", "cmd/migrator"}, wire},
		{"github.com/spf13/cobra", []string{"cmd/migrator"}, "commands are wiring"},
		{"github.com/goccy/go-yaml", []string{"internal/config"}, wire},
		{"github.com/aymanbagabas/go-udiff", []string{"internal/configgen"}, wire},
		{"golang.org/x/crypto/ssh", []string{"internal/remote"}, "only remote reaches nodes"},
		{"github.com/skeema/knownhosts", []string{"internal/remote/sshlink"}, "only one place judges host keys"},
		{"github.com/kevinburke/ssh_config", []string{"internal/remote/sshlink"}, wire},
		{"github.com/skeema/knownhosts", []string{"internal/remote"}, "only remote reaches nodes"},
		{"github.com/kevinburke/ssh_config", []string{"internal/remote"}, "only remote reaches nodes"},
		{"github.com/pavlo-v-chernykh/keystore-go", []string{"internal/connect", "internal/lab"}, "key stores are read where connections are made"},
		{"github.com/youmark/pkcs8", []string{"internal/connect", "internal/lab"}, "key stores are read where connections are made"},
		{"software.sslmate.com/src/go-pkcs12", []string{"internal/connect", "internal/lab"}, "key stores are read where connections are made"},
		{"golang.org/x/sync", []string{"internal"}, "goroutines in groups, no client"},
		{"golang.org/x/term", []string{"cmd/migrator"}, "only commands talk to a terminal"},
	}
}

func TestEachThirdPartyModuleStaysBehindItsPackage(t *testing.T) {
	for _, f := range sources(t) {
		for _, imp := range f.imports() {
			if first, _, _ := strings.Cut(imp, "/"); !strings.Contains(first, ".") {
				continue // standard library or ours
			}
			list := owners()
			i := slices.IndexFunc(list, func(o owner) bool { return under(imp, o.module) })
			if i < 0 {
				t.Errorf("%s imports %s, which no package owns yet: say here where it belongs and why", f.at, imp)
				continue
			}
			if !slices.ContainsFunc(list[i].in, func(place string) bool { return f.at == place || under(f.pkg, place) }) {
				t.Errorf("%s imports %s, which belongs in %s: %s", f.at, imp, strings.Join(list[i].in, ", "), list[i].why)
			}
		}
	}
}

func TestOnlyRemoteAndTheLabRunCommands(t *testing.T) {
	for _, f := range sources(t) {
		if under(f.pkg, "internal/remote") || under(f.pkg, "internal/lab") || under(f.pkg, "internal/secrets") {
			continue // secrets runs the operator's password tool on this machine, never a command on a node
		}
		if slices.Contains(f.imports(), "os/exec") {
			t.Errorf("%s imports os/exec: commands on nodes go through remote, which bounds their time and output", f.at)
		}
	}
}

// writes of the ZooKeeper client, by method. The session's own calls are not among them.
var writes = []string{"Create", "CreateContainer", "CreateTTL", "CreateProtectedEphemeralSequential", "Set", "SetACL", "Delete", "Multi", "MultiCtx"}

func TestOnlyThreeFilesWriteToZooKeeper(t *testing.T) {
	for _, f := range sources(t) {
		if _, ok := f.nameOf("github.com/go-zookeeper/zk"); !ok || f.at == "internal/execute/znode.go" || f.at == "internal/execute/znode_restore.go" || f.at == "internal/execute/znode_double.go" {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && slices.Contains(writes, sel.Sel.Name) {
				t.Errorf("%s:%d calls %s in a file that holds a ZooKeeper client: every write to ZooKeeper stands in internal/execute/znode.go or, for a restore, znode_restore.go, or, for a throwaway cluster, znode_double.go", f.at, f.line(n), sel.Sel.Name)
			}
			return true
		})
	}
}

func TestTheLoopFitsOneLook(t *testing.T) {
	const limit = 150
	data, err := os.ReadFile(filepath.Join("..", "..", "internal", "orchestrate", "loop.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(data, []byte("\n")); n > limit {
		t.Errorf("internal/orchestrate/loop.go has %d lines, more than %d: what the service does in which order must be seen at one look", n, limit)
	}
}

func TestNothingBelowMainEndsTheProcessOrSleeps(t *testing.T) {
	for _, f := range sources(t) {
		if under(f.pkg, "cmd") || under(f.pkg, "test") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			x, ok := sel.X.(*ast.Ident)
			if !ok {
				return true
			}
			if osName, imported := f.nameOf("os"); imported && x.Name == osName && sel.Sel.Name == "Exit" {
				t.Errorf("%s:%d calls os.Exit: only main ends the process, so that a half-done batch is brought to an end", f.at, f.line(n))
			}
			if timeName, imported := f.nameOf("time"); imported && x.Name == timeName && sel.Sel.Name == "Sleep" && f.pkg != "internal/lab" {
				t.Errorf("%s:%d calls time.Sleep: every wait ends with its context", f.at, f.line(n))
			}
			return true
		})
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Name.Name == "init" {
				t.Errorf("%s:%d has an init function: nothing runs before main says so", f.at, f.line(fn))
			}
		}
	}
}
