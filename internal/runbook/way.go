package runbook

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"migrator/internal/config"
)

// on is the line that runs argv where a node's commands run, typed on the
// machine where migrator runs. What a person drives is typed at the node itself.
func on(n config.Node, argv []string) string {
	switch n.Access.Kind {
	case "wrapper":
		return Shell(slices.Concat(n.Access.Argv, argv))
	case "ssh":
		return Shell(append(sshTo(n.Access), Shell(slices.Concat(n.Access.SSH.Become, argv))))
	case "manual":
		if len(argv) == 0 {
			return "# at " + n.Host + ", as this node is driven: migrations.yaml names no command"
		}
		return Shell(argv)
	default:
		return Shell(argv)
	}
}

// sshTo is the ssh command line that logs in as migrator does.
func sshTo(a config.Access) []string {
	argv := []string{"ssh"}
	for _, option := range []struct{ flag, value string }{{"-F", a.SSH.Config}, {"-i", a.SSH.KeyFile}, {"-J", a.SSH.Jump}} {
		if option.value != "" {
			argv = append(argv, option.flag, option.value)
		}
	}
	if a.SSH.Port != 0 {
		argv = append(argv, "-p", fmt.Sprint(a.SSH.Port))
	}
	if a.SSH.KnownHosts != "" {
		argv = append(argv, "-o", "UserKnownHostsFile="+a.SSH.KnownHosts)
	}
	if a.SSH.User != "" {
		return append(argv, a.SSH.User+"@"+a.Host)
	}
	return append(argv, a.Host)
}

// afar says that a node's files are not on the machine where migrator runs.
func afar(n config.Node) bool { return n.Access.Kind == "ssh" || n.Access.Kind == "wrapper" }

// on is the line for the node of an action.
func (w *writer) on(id *int32, argv []string) string {
	if id != nil {
		if n, ok := w.in.Migration.Node(*id); ok {
			return on(n, argv)
		}
	}
	return Shell(argv)
}

// onAll runs one command with what each node adds to it: once for all nodes of
// this machine, and once for each other.
func onAll(nodes []config.Node, argv []string, more func(config.Node) []string) string {
	here := slices.Clone(argv)
	var lines []string
	for _, n := range nodes {
		if afar(n) {
			lines = append(lines, on(n, slices.Concat(argv, more(n))))
			continue
		}
		here = append(here, more(n)...)
	}
	if len(here) > len(argv) {
		lines = append([]string{Shell(here)}, lines...)
	}
	return strings.Join(lines, "\n")
}

// place puts a whole file of this machine in the place of a node's; owner and
// mode of one that is there stay.
func place(n config.Node, source, target string, isNew bool) []string {
	switch {
	case afar(n) && isNew:
		return []string{on(n, []string{"dd", "of=" + target, "conv=fsync"}) + " < " + Shell([]string{source}), on(n, []string{"chmod", "0640", target}) + "     # then chown it to the user that the node runs as"}
	case afar(n):
		return []string{on(n, []string{"dd", "of=" + target, "conv=fsync"}) + " < " + Shell([]string{source}) + "     # owner and mode stay"}
	case isNew:
		return []string{Shell([]string{"install", "-m", "0640", source, target}) + "     # then chown it to the user that the node runs as"}
	default:
		return []string{Shell([]string{"cp", source, target}) + "     # owner and mode stay"}
	}
}

// copyAll keeps every properties file.
func (w *writer) copyAll() string {
	here := []string{"cp", "-p", "-t", "FOLDER"}
	var lines []string
	for _, n := range w.in.Migration.Nodes {
		if afar(n) {
			lines = append(lines, on(n, []string{"cat", n.Properties})+" > "+Shell([]string{path.Join("FOLDER", fmt.Sprintf("%s-%d.properties", n.Role, n.ID))}))
			continue
		}
		here = append(here, n.Properties)
	}
	if len(here) > 4 {
		lines = append([]string{Shell(here)}, lines...)
	}
	return strings.Join(lines, "\n")
}
