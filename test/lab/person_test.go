package lab_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/plan"
	"migrator/internal/status"
)

// person drives every node by hand: reads what the status asks for, does it with
// a shell, copies files into the node's folder.
type person struct {
	op     *operator
	folder string
	// careless is the node whose file gets a mistyped value, and which is started
	// with it all the same; 0: none. Nothing is put right before noticed is set.
	careless int32
	mistaken bool
	noticed  atomic.Bool
}

// byHand starts a service whose nodes only a person can reach, and that person.
func byHand(t *testing.T, c *lab.Cluster, o lab.YAMLOptions, careless int32) (*operator, *person) {
	t.Helper()
	p := &person{folder: t.TempDir(), careless: careless}
	yaml := strings.ReplaceAll(c.MigrationsYAML(o), "access: {kind: local}", fmt.Sprintf("access: {kind: manual, files: %q}", filepath.Join(p.folder, "{id}")))
	yaml = regexp.MustCompile(`(?m)^( *)logs: \[.*\]$`).ReplaceAllString(yaml, "${1}logs: none")
	for _, id := range c.BrokerIDs() {
		p.copy(t, c, id)
	}
	for _, id := range c.ControllerIDs() {
		if err := os.MkdirAll(p.of(id), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, hook := range []string{"freeze", "thaw", "before_node", "after_node"} {
		id := ""
		if strings.HasSuffix(hook, "node") {
			id = " {id}"
		}
		if hook == "freeze" {
			yaml += "    hooks:\n"
		}
		yaml += fmt.Sprintf("      %s: [sh, -c, %q]\n", hook, "echo "+hook+id+" >> "+p.hooks())
	}
	p.op = newOperatorOf(t, c, o.Name, yaml)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); p.work(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return p.op, p
}

func (p *person) of(id int32) string { return filepath.Join(p.folder, fmt.Sprint(id)) }

// hooks is the file to which every hook adds a line.
func (p *person) hooks() string { return filepath.Join(p.folder, "hooks") }

// copy gives a node's properties file and meta.properties into its folder.
func (p *person) copy(t *testing.T, c *lab.Cluster, id int32) {
	t.Helper()
	file := c.PropertiesPath(id)
	err := os.MkdirAll(p.of(id), 0o700)
	for _, from := range []string{file, filepath.Join(c.DataDir(id), "meta.properties")} {
		err = errors.Join(err, copyFile(from, filepath.Join(p.of(id), filepath.Base(from))))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

func (p *person) work(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(300 * time.Millisecond):
		}
		s, err := p.op.client.Status(ctx, p.op.name)
		if err != nil {
			continue // the service is being killed or started
		}
		var hands sync.WaitGroup // what is due on several nodes is done side by side
		for _, e := range s.Manual {
			if e.Now {
				hands.Go(func() {
					if err := p.does(ctx, e); err != nil && ctx.Err() == nil {
						p.op.t.Errorf("%s of node %d by hand: %v", e.Action, e.Node, err)
					}
				})
			}
		}
		hands.Wait()
	}
}

func (p *person) does(ctx context.Context, e status.Errand) error {
	data := filepath.Join(p.op.c.DataDir(e.Node), "meta.properties")
	copied := filepath.Join(p.of(e.Node), "meta.properties")
	switch e.Action {
	case plan.Stop, plan.Kill:
		return p.types(ctx, e.Argv)
	case plan.Start:
		if strings.Contains(e.Seen, "stop it") {
			if err := p.op.c.Stop(ctx, fmt.Sprint(e.Node)); err != nil {
				return err
			}
		}
		return p.types(ctx, e.Argv)
	case plan.Write:
		return p.writes(ctx, e)
	case plan.FormatDirs:
		if _, err := os.Stat(data); err == nil {
			return copyFile(data, copied)
		}
		return errors.Join(p.types(ctx, e.Argv), copyFile(data, copied))
	case plan.Archive:
		if _, err := os.Stat(e.Path); err != nil {
			return nil
		}
		return errors.Join(p.types(ctx, e.Argv), os.Remove(copied))
	default:
		return nil
	}
}

func (p *person) writes(ctx context.Context, e status.Errand) error {
	planned, err := p.op.client.File(ctx, e.File)
	if err != nil {
		return nil // no longer asked for
	}
	copied := filepath.Join(p.of(e.Node), filepath.Base(e.Path))
	if e.Node != p.careless || p.noticed.Load() {
		return errors.Join(os.WriteFile(e.Path, planned, 0o600), os.WriteFile(copied, planned, 0o600))
	}
	if p.mistaken {
		return nil
	}
	p.mistaken = true
	wrong := []byte(strings.Replace(string(planned), "controller.quorum.voters=", "controller.quorum.voters=9@127.0.0.1:1,", 1))
	return errors.Join(os.WriteFile(e.Path, wrong, 0o600), os.WriteFile(copied, wrong, 0o600), p.op.c.Start(ctx, fmt.Sprint(e.Node)))
}

func (p *person) types(ctx context.Context, argv []string) error {
	out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%v: %w: %s", argv, err, out)
	}
	return nil
}

// TestAPersonLoadsByHand: nobody but a person touches a node, from the first
// controller to brokers in migration mode and the copy.
func TestAPersonLoadsByHand(t *testing.T) {
	c := startCluster(t, lab.Options{Brokers: 2})
	op, p := byHand(t, c, lab.YAMLOptions{Name: "payments", Soak: "1h", PollInterval: "500ms", GoodPolls: 1, StepTimeout: "2m"}, 0)
	before := op.starts(c.BrokerIDs())
	op.drive(4*time.Minute, complete(cluster.Load))
	for id, n := range op.starts(c.BrokerIDs()) {
		if n-before[id] != 1 {
			t.Errorf("broker %d was restarted %d times, want once", id, n-before[id])
		}
	}
	ran, err := os.ReadFile(p.hooks())
	if err != nil {
		t.Fatal(err)
	}
	// Which controller's hook ends first is chance; each broker's stand around its restart.
	for _, want := range []string{"freeze\nbefore_node 300", "\nthaw\nfreeze\nbefore_node", "before_node 1\nafter_node 1\n", "before_node 2\nafter_node 2\n"} {
		if !strings.Contains(string(ran), want) {
			t.Errorf("hooks ran as\n%s\nwant %q among them", ran, want)
		}
	}
	if !strings.HasSuffix(string(ran), "\nthaw\n") {
		t.Errorf("the last hook is not the thaw:\n%s", ran)
	}
}

// TestAPersonMigratesByHand: the whole of it, with drills, all the way back to
// plain ZooKeeper mode. On the way forward a value of node 2's file is mistyped,
// and the node started all the same: it is named, nothing goes on, and once the
// file is right a retry does.
func TestAPersonMigratesByHand(t *testing.T) {
	nightly(t)
	c := startCluster(t, lab.Options{})
	op, p := byHand(t, c, lab.YAMLOptions{Name: "payments", Soak: "5s", PollInterval: "500ms", GoodPolls: 1, StepTimeout: "2m", DrillKinds: []string{"clean", "crash"}}, 2)
	originals := op.files(c.BrokerIDs())
	op.drive(3*time.Minute, complete(cluster.Initial))
	op.advance(op.status())
	op.until("node 2 runs with a wrong file, which blocks", 3*time.Minute, func() bool { return op.status().RunStatus == status.Blocked })
	if what := op.status().Blocked.What; !strings.Contains(what, `node 2 runs again`) || !strings.Contains(what, `controller.quorum.voters is "9@127.0.0.1:1,`) {
		t.Errorf("the mistake is not named: %s", what)
	}
	started := op.starts(c.BrokerIDs())
	op.pause(5 * time.Second)
	if diff := restarted(started, op.starts(c.BrokerIDs())); len(diff) > 0 {
		t.Errorf("brokers %v were started while the mistake stood", diff)
	}
	p.noticed.Store(true)
	op.until("what is right is seen", 2*time.Minute, func() bool { return len(op.status().Manual) == 0 })
	if exit, out, errs := op.run("retry", op.name); exit != 0 {
		t.Fatalf("retry exited %d:\n%s%s", exit, out, errs)
	}
	offered := op.drive(9*time.Minute, complete(cluster.DualWrite))
	if offered.Drill == nil || offered.Drill.Verdict != "pass" || len(offered.Drill.Runs) < 2 {
		t.Errorf("drills by hand: %+v", offered.Drill)
	}
	op.goesBack(cluster.Initial, originals)
}
