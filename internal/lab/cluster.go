package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
)

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
	java, err := FindJava(ctx)
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

func (c *Cluster) makeFolders(jars Jars) error {
	sp := spec{Java: c.java, Heap: c.options.Heap, Ports: len(c.members) + c.options.Brokers*c.options.MorePorts}
	if c.options.ZooKeeperServers > 1 {
		sp.Ports += 2 * c.options.ZooKeeperServers
	}
	for _, m := range c.members {
		m.JVM = c.options.JVM
		if m.Kind == zookeeperKind {
			m.JVM = c.options.ZooKeeper.JVM
		}
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
