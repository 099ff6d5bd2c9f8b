package lab

import (
	"os/exec"
	"path/filepath"
	"time"
)

// A node's folder has a logging configuration for the node and one for tools:
// a tool must not write into the node's own log files.
const (
	nodeLogging = "node"
	toolLogging = "tool"
)

// jvm is the command line that runs a class with the software the node's
// folder links to at this moment: an upgrade is a new link and a restart.
func (s spec) jvm(dir string, n nodeSpec, logging, class string, args ...string) *exec.Cmd {
	home := nodeDir(dir, n.Name)
	argv := []string{
		"-Xmx" + s.Heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:-UsePerfData",
		"-Djava.awt.headless=true",
		"-Dmigrator.lab=" + dir,
		"-Dkafka.logs.dir=" + logsDir(dir, n.Name),
		"-Dlog4j.configuration=file:" + filepath.Join(home, logging+".log4j.properties"),
		"-Dlog4j2.configurationFile=" + filepath.Join(home, logging+".log4j2.properties"),
		"-cp", filepath.Join(home, "kafka", "libs", "*"),
	}
	argv = append(append(argv, n.JVM...), class)
	cmd := exec.Command(s.Java, append(argv, args...)...)
	cmd.Dir = home
	cmd.WaitDelay = 5 * time.Second
	return cmd
}
