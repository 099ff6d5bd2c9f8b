package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Options describe a cluster; the zero value is a whole one of Kafka 3.9.2
// with one ZooKeeper server, three brokers and three controllers to be.
type Options struct {
	Dir            string // its folder: absent or empty; "" = a new one below the system's temporary folder
	Version        string // "" = DefaultVersion; 3.x, which alone has a ZooKeeper mode
	Brokers        int    // 0 = 3
	Controllers    int    // 0 = 3
	BrokersPerRack int    // 0 = 1
	// Binary is the executable whose `lab supervise` and `lab ctl` are used;
	// "" = this program itself.
	Binary string
	Chroot string // path of the cluster within ZooKeeper, "" = none
	// ExtraBroker are lines of server.properties, in place of the line with
	// the same key. {id}, {port}, {rack} and {dir} (the node's folder) are replaced.
	ExtraBroker []string
	// ExtraController are lines for the settings of controllers.
	ExtraController  []string
	Keep             bool   // Close leaves the folder
	ZooKeeperServers int    // 0 = 1; 1 or 3
	Heap             string // -Xmx of every node, "" = 256m
	// BeforeBrokers runs when ZooKeeper serves and no broker was started yet,
	// for what a secure cluster needs to find there.
	BeforeBrokers func(context.Context, *Cluster) error
}

// Cluster is a running cluster of real processes, owned by this one.
type Cluster struct {
	dir     string
	options Options
	java    string
	members []member

	supervisor *exec.Cmd
	pipe       io.Closer     // its end tells the supervisor to end
	ended      chan struct{} // closed when the supervisor was reaped
	endedErr   error         // set before ended is closed
	failed     atomic.Bool
	closing    sync.Once
}

// Start makes a cluster and returns when ZooKeeper and all brokers, in plain
// ZooKeeper mode, have said in their logs that they are registered and started. Controllers
// have ids, ports and folders but no configuration: making them is a migration's
// work. A missing Java or missing jars are errors. On an error nothing runs any
// more; the folder is kept, and the error names it.
func Start(ctx context.Context, o Options) (*Cluster, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	jars, err := FindJars(o.Version)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	java, err := findJava(ctx)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	dir, err := makeFolder(o.Dir)
	if err != nil {
		return nil, fmt.Errorf("start a cluster: %w", err)
	}
	c := &Cluster{dir: dir, options: o, java: java, members: newMembers(o)}
	if err := c.bringUp(ctx, jars); err != nil {
		c.MarkFailed()
		return nil, errors.Join(fmt.Errorf("start a cluster in %s: %w", dir, err), c.Close())
	}
	return c, nil
}

func (c *Cluster) bringUp(ctx context.Context, jars Jars) error {
	if err := c.makeFolders(jars); err != nil {
		return err
	}
	if err := c.startSupervisor(ctx); err != nil {
		return err
	}
	if err := c.configure(); err != nil {
		return err
	}
	if err := c.startAll(ctx, zookeeperKind); err != nil {
		return err
	}
	if c.options.BeforeBrokers != nil {
		if err := c.options.BeforeBrokers(ctx, c); err != nil {
			return fmt.Errorf("before the brokers: %w", err)
		}
	}
	return c.startAll(ctx, brokerKind)
}

func (o Options) withDefaults() (Options, error) {
	o.Version = or(o.Version, DefaultVersion)
	o.Heap = or(o.Heap, "256m")
	o.Brokers, o.Controllers = or(o.Brokers, 3), or(o.Controllers, 3)
	o.BrokersPerRack, o.ZooKeeperServers = or(o.BrokersPerRack, 1), or(o.ZooKeeperServers, 1)
	if !strings.HasPrefix(o.Version, "3.") {
		return o, fmt.Errorf("kafka %s has no ZooKeeper mode (KIP-833): start with 3.x", o.Version)
	}
	if o.Brokers < 0 || o.Controllers < 0 || o.BrokersPerRack < 0 {
		return o, errors.New("a number of nodes is negative")
	}
	if o.ZooKeeperServers != 1 && o.ZooKeeperServers != 3 {
		return o, fmt.Errorf("%d ZooKeeper servers: want 1 or 3", o.ZooKeeperServers)
	}
	if o.Chroot != "" && (!strings.HasPrefix(o.Chroot, "/") || strings.HasSuffix(o.Chroot, "/")) {
		return o, fmt.Errorf("chroot %q: want a path such as /kafka", o.Chroot)
	}
	if o.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find this program: %w", err)
		}
		o.Binary = self
	}
	return o, nil
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// makeFolder returns an empty folder's absolute path without symbolic links.
func makeFolder(dir string) (string, error) {
	if dir == "" {
		made, err := os.MkdirTemp("", "lab-")
		if err != nil {
			return "", err
		}
		return filepath.EvalSymlinks(made)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", err
	}
	if len(entries) > 0 {
		return "", fmt.Errorf("folder %s is not empty", dir)
	}
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	// Each of these means something in a class path, in log.dirs, in a
	// properties file or in migrations.yaml.
	if strings.ContainsAny(dir, ":,{}\\\n\"") {
		return "", fmt.Errorf("folder %q: its path has one of : , { } \\ \" or a line end", dir)
	}
	return filepath.EvalSymlinks(dir)
}

func newMembers(o Options) []member {
	var members []member
	add := func(k kind, name, config string, id, index, perRack int) {
		rack := ""
		if perRack > 0 {
			rack = rackName(index / perRack)
		}
		members = append(members, member{nodeSpec: nodeSpec{Name: name, Kind: k, Config: config}, id: int32(id), rack: rack})
	}
	for i := range o.ZooKeeperServers {
		add(zookeeperKind, "zk"+strconv.Itoa(i+1), "zoo.cfg", i+1, i, 0)
	}
	for i := range o.Brokers {
		add(brokerKind, strconv.Itoa(i+1), "server.properties", i+1, i, o.BrokersPerRack)
	}
	for i := range o.Controllers {
		add(controllerKind, strconv.Itoa(3001+i), "controller.properties", 3001+i, i, 1)
	}
	return members
}

// rackName is a, b, ... z, r26, r27 and on.
func rackName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return "r" + strconv.Itoa(i)
}

func (c *Cluster) makeFolders(jars Jars) error {
	sp := spec{Java: c.java, Heap: c.options.Heap, Ports: len(c.members)}
	if c.options.ZooKeeperServers > 1 {
		sp.Ports += 2 * c.options.ZooKeeperServers
	}
	for _, m := range c.members {
		home := nodeDir(c.dir, m.Name)
		for _, folder := range []string{filepath.Join(home, "data"), logsDir(c.dir, m.Name)} {
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return err
			}
		}
		if err := os.Symlink(jars.Home, filepath.Join(home, "kafka")); err != nil {
			return err
		}
		sp.Nodes = append(sp.Nodes, m.nodeSpec)
	}
	return writeJSON(specPath(c.dir), sp)
}

// startSupervisor starts the process that owns the nodes and returns when it
// listens.
func (c *Cluster) startSupervisor(ctx context.Context) error {
	errFile := filepath.Join(c.dir, "supervisor.err")
	out, err := os.OpenFile(errFile, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer out.Close()
	// Not bound to ctx: its life is the cluster's, which Close ends.
	cmd := exec.Command(c.options.Binary, "lab", "supervise", "--dir", c.dir)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the supervisor: %w", err)
	}
	c.supervisor, c.pipe, c.ended = cmd, pipe, make(chan struct{})
	go func() { // ends with the supervisor, which Close waits for
		defer close(c.ended)
		c.endedErr = cmd.Wait()
	}()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	go func() { // a supervisor that ends will never listen
		select {
		case <-c.ended:
			cancel()
		case <-ctx.Done():
		}
	}()
	if _, err := waitFile(ctx, supervisorLog(c.dir), 0, literal(listeningMessage)); err != nil {
		said, _ := os.ReadFile(errFile)
		return fmt.Errorf("start the supervisor: %w: %s", err, bounded(said))
	}
	return nil
}

// Close ends the cluster: every process of it is gone when it returns. The
// folder goes too, unless Keep was set or MarkFailed called. A second call
// does nothing more.
func (c *Cluster) Close() error {
	var err error
	c.closing.Do(func() { err = c.close() })
	return err
}

func (c *Cluster) close() error {
	var errs []error
	if c.supervisor != nil {
		errs = append(errs, ignoreClosed(c.pipe.Close()))
		select {
		case <-c.ended:
		case <-time.After(20 * time.Second):
			// The kernel then kills the nodes with it.
			errs = append(errs, errors.New("the supervisor did not end by itself"), c.supervisor.Process.Kill())
			<-c.ended
		}
		if c.endedErr != nil {
			errs = append(errs, fmt.Errorf("the supervisor ended: %w (see %s)", c.endedErr, c.dir))
			c.MarkFailed()
		}
	}
	if !c.options.Keep && !c.failed.Load() {
		errs = append(errs, os.RemoveAll(c.dir))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close the cluster in %s: %w", c.dir, err)
	}
	return nil
}

// MarkFailed makes Close keep the folder.
func (c *Cluster) MarkFailed() { c.failed.Store(true) }

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
