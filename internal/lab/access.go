package lab

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Dir is the cluster's folder.
func (c *Cluster) Dir() string { return c.dir }

// SupervisorPID is the process that owns the nodes; killing it kills them.
func (c *Cluster) SupervisorPID() int { return c.supervisor.Process.Pid }

// Bootstrap is host:port of every broker.
func (c *Cluster) Bootstrap() []string { return c.addresses(brokerKind) }

// ZooKeeperConnect is the connect string, with the chroot.
func (c *Cluster) ZooKeeperConnect() string {
	return strings.Join(c.addresses(zookeeperKind), ",") + c.options.Chroot
}

func (c *Cluster) addresses(k kind) []string {
	var list []string
	for _, m := range c.members {
		if m.Kind == k {
			list = append(list, host+":"+strconv.Itoa(m.port))
		}
	}
	return list
}

// BrokerIDs is the ids of the brokers in ascending order.
func (c *Cluster) BrokerIDs() []int32 { return c.ids(brokerKind) }

// ControllerIDs is the ids of the controllers to be in ascending order.
func (c *Cluster) ControllerIDs() []int32 { return c.ids(controllerKind) }

func (c *Cluster) ids(k kind) []int32 {
	var list []int32
	for _, m := range c.members {
		if m.Kind == k {
			list = append(list, m.id)
		}
	}
	return list
}

// ZooKeeperNames is the names of the ZooKeeper servers: zk1 and on.
func (c *Cluster) ZooKeeperNames() []string {
	var list []string
	for _, m := range c.members {
		if m.Kind == zookeeperKind {
			list = append(list, m.Name)
		}
	}
	return list
}

// PropertiesPath is the node's .properties file; a controller has none until
// a migration writes it.
func (c *Cluster) PropertiesPath(id int32) string {
	for _, m := range c.members {
		if m.Kind != zookeeperKind && m.id == id {
			return filepath.Join(nodeDir(c.dir, m.Name), m.Config)
		}
	}
	return filepath.Join(nodeDir(c.dir, strconv.Itoa(int(id))), "absent.properties")
}

// LogPath is one of the node's log files, such as "server.log".
func (c *Cluster) LogPath(id int32, file string) string {
	return filepath.Join(logsDir(c.dir, strconv.Itoa(int(id))), file)
}

// DataDir is the folder that holds the node's log.dirs content.
func (c *Cluster) DataDir(id int32) string {
	return filepath.Join(nodeDir(c.dir, strconv.Itoa(int(id))), "data")
}

// Start makes the process of a node ("1", "3001", "zk1") and does not wait
// until it is ready; nothing happens when it runs.
func (c *Cluster) Start(ctx context.Context, name string) error {
	return c.control(ctx, verbStart, name)
}

// Stop sends SIGTERM and waits until the process is gone.
func (c *Cluster) Stop(ctx context.Context, name string) error {
	return c.control(ctx, verbStop, name)
}

// Kill sends SIGKILL and waits until the process is gone.
func (c *Cluster) Kill(ctx context.Context, name string) error {
	return c.control(ctx, verbKill, name)
}

// Pause sends SIGSTOP: the process exists, holds its ports and does nothing.
func (c *Cluster) Pause(ctx context.Context, name string) error {
	return c.control(ctx, verbPause, name)
}

// Resume ends a Pause.
func (c *Cluster) Resume(ctx context.Context, name string) error {
	return c.control(ctx, verbResume, name)
}

func (c *Cluster) control(ctx context.Context, verb, name string) error {
	_, _, err := Control(ctx, c.dir, verb, name)
	return err
}

// Tool runs a class of the node's Kafka, such as kafka.admin.ConfigCommand, and
// returns what it printed, at most 64 KiB; an exit code other than 0 is an error.
func (c *Cluster) Tool(ctx context.Context, name, class string, args ...string) (string, error) {
	_, out, err := Control(ctx, c.dir, verbTool, name, append([]string{class}, args...)...)
	return out, err
}

// Running says whether the node's process exists.
func (c *Cluster) Running(ctx context.Context, name string) (bool, error) {
	exit, _, err := Control(ctx, c.dir, verbRunning, name)
	return exit == 0, err
}

// Ready waits until a node that was started says that it serves; it fails at
// once when the process ends.
func (c *Cluster) Ready(ctx context.Context, name string) error {
	for _, m := range c.members {
		if m.Name == name {
			return c.ready(ctx, m)
		}
	}
	return fmt.Errorf("the cluster has no node %q", name)
}

// Starts is how many processes the supervisor made for a node, whoever asked.
func (c *Cluster) Starts(id int32) (int, error) {
	starts, err := c.startsOf(strconv.Itoa(int(id)))
	return len(starts), err
}

// UseVersion makes the node's next start run another version of Kafka, whose
// jars must be there.
func (c *Cluster) UseVersion(id int32, version string) error {
	jars, err := FindJars(version)
	if err != nil {
		return err
	}
	link := filepath.Join(nodeDir(c.dir, strconv.Itoa(int(id))), "kafka")
	if err := os.Symlink(jars.Home, link+".new"); err != nil {
		return fmt.Errorf("use version %s on node %d: %w", version, id, err)
	}
	if err := os.Rename(link+".new", link); err != nil {
		return fmt.Errorf("use version %s on node %d: %w", version, id, err)
	}
	return nil
}
