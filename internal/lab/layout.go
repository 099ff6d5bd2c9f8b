package lab

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
)

// The folder of a cluster:
//
//	lab.json          what the supervisor may start (written by the owner)
//	ports.json        the ports it reserved
//	socket            the path of its unix socket
//	supervisor.log    what it did
//	starts.log        one JSON line per start of a node
//	nodes/NAME/       one node: its configuration, logs/, data/, and kafka, a
//	                  link to the software it runs

// kind is what a process of the lab is.
type kind string

const (
	zookeeperKind  kind = "zookeeper"
	brokerKind     kind = "broker"
	controllerKind kind = "controller"
)

// spec is the content of lab.json.
type spec struct {
	Java  string     `json:"java"`
	Heap  string     `json:"heap"`
	Ports int        `json:"ports"`
	Nodes []nodeSpec `json:"nodes"`
}

// nodeSpec is one process that the supervisor may start.
type nodeSpec struct {
	Name   string   `json:"name"`
	Kind   kind     `json:"kind"`
	Config string   `json:"config"`        // file name within the node's folder
	JVM    []string `json:"jvm,omitempty"` // further arguments of its Java
}

func (n nodeSpec) main() string {
	if n.Kind == zookeeperKind {
		return "org.apache.zookeeper.server.quorum.QuorumPeerMain"
	}
	return "kafka.Kafka"
}

// start is one line of starts.log. Logs has the size in bytes that each log
// file had, so that a reader can tell the lines of this start from older ones.
type start struct {
	Time string           `json:"time"` // RFC 3339, UTC
	Node string           `json:"node"`
	PID  int              `json:"pid"`
	Logs map[string]int64 `json:"logs,omitempty"`
}

func nodeDir(dir, name string) string    { return filepath.Join(dir, "nodes", name) }
func specPath(dir string) string         { return filepath.Join(dir, "lab.json") }
func portsPath(dir string) string        { return filepath.Join(dir, "ports.json") }
func socketNamePath(dir string) string   { return filepath.Join(dir, "socket") }
func supervisorLog(dir string) string    { return filepath.Join(dir, "supervisor.log") }
func startsPath(dir string) string       { return filepath.Join(dir, "starts.log") }
func logsDir(dir, name string) string    { return filepath.Join(nodeDir(dir, name), "logs") }
func stdoutPath(dir, name string) string { return filepath.Join(logsDir(dir, name), "stdout.log") }

func readJSON(path string, into any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the lab's %s: %w", filepath.Base(path), err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// writeWhole writes a file aside and renames it: a reader sees all or nothing.
func writeWhole(path string, text []byte) error {
	aside := path + ".new"
	if err := os.WriteFile(aside, text, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(aside, path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}

func writeJSON(path string, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return writeWhole(path, append(text, '\n'))
}
