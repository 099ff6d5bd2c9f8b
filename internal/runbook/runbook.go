// Package runbook prints a plan as a procedure that a person can follow by hand
// when the service is dead: commands, files, znodes and what to look at. Pure.
// Its lines are for reading and typing: the program itself runs argument lists
// and never a shell.
package runbook

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/phases"
	"migrator/internal/plan"
)

// Input is all that a runbook is made from.
type Input struct {
	Plan      plan.Plan
	Migration config.Migration
	// Snapshot is what the plan was made from; the runbook takes epochs from it.
	Snapshot facts.Snapshot
	Made     time.Time
	// Folder has the whole new files by the names of Files; empty: they were not written.
	Folder string
	// Backup names the copy of a node's file that is kept beside it.
	Backup func(path, sha256Hex string) string
}

// File is a whole new file of a plan: its name in the folder, and its content's SHA-256.
type File struct {
	Name string
	SHA  string
}

// Files lists the whole new files of a plan, in the order of its steps.
func Files(p plan.Plan) []File {
	var out []File
	for i, s := range p.Steps {
		for _, a := range s.Actions {
			if a.Kind == plan.Write && a.Node != nil {
				out = append(out, File{Name: fileName(i, *a.Node), SHA: a.After})
			}
		}
	}
	return out
}

func fileName(step int, node int32) string {
	return fmt.Sprintf("step-%02d-node-%d.properties", step+1, node)
}

// Render is the procedure as Markdown. It holds no secret: files are shown as
// redacted changes, whole ones only by name and hash.
func Render(in Input) string {
	w := &writer{in: in, tools: toolsOf(in.Migration), replaced: map[string]replaced{}}
	w.title()
	w.howTo()
	w.nodes()
	w.enter()
	for i, s := range in.Plan.Steps {
		w.step(i, s)
	}
	w.end()
	return w.b.String()
}

// replaced is what an earlier step of the same plan put in a file's place.
type replaced struct {
	step int
	sha  string
}

type writer struct {
	in       Input
	tools    tools
	b        strings.Builder
	replaced map[string]replaced // by path
}

// line writes one line, and para one with an empty line after it.
func (w *writer) line(format string, args ...any) {
	fmt.Fprintf(&w.b, format+"\n", args...)
}

func (w *writer) para(format string, args ...any) {
	w.line(format+"\n", args...)
}

// code shows lines to type. The fence is longer than any in them, so that
// nothing a file says ends the block.
func (w *writer) code(lines ...string) {
	text, fence := strings.Join(lines, "\n"), "```"
	for strings.Contains(text, fence) {
		fence += "`"
	}
	w.para("%s\n%s\n%s", fence, text, fence)
}

func (w *writer) title() {
	p := w.in.Plan
	what := "the plan " + string(p.Phase)
	if p.Revert {
		what = "the way back to " + string(p.Phase)
	}
	w.para("# Runbook: %s of %s", what, p.Name)
	w.line("- cluster id: %s", p.ClusterID)
	w.line("- digest: %s", p.Digest)
	w.line("- made: %s, from what the cluster showed then", w.in.Made.UTC().Format("2006-01-02 15:04:05 UTC"))
	w.para("- steps: %d", len(p.Steps))
	if len(p.Steps) == 0 {
		w.para("There is nothing to do.")
	}
	if w.afterControllers() {
		w.para("When this page was made no controller ran, which was taken for the work of a way back begun before. If they died instead, start them, wait for dual write, and make this page anew: what they had not yet written to ZooKeeper would be lost.")
	}
	if p.Phase == cluster.Finalize && !p.Revert {
		w.para("**After this there is no way back.** The first controller without the flag that becomes active ends the migration for good, whether you are ready or not.")
	}
}

// afterControllers: the plan begins where a way back has stopped them already.
func (w *writer) afterControllers() bool {
	p := w.in.Plan
	stops := slices.ContainsFunc(p.Steps, func(s plan.Step) bool { return s.Kind == plan.StopControllers })
	return p.Revert && p.Phase == cluster.Initial && !stops
}

func (w *writer) howTo() {
	w.para("## How to use it")
	w.para("1. **Make sure that the service does not run: it would act too.** Look on its machine, then in ZooKeeper, where its lock is gone when its session has ended:")
	w.code("pgrep -af 'migrator serve'", w.tools.zkGet("/migrator/driver"))
	w.para("The first must print nothing, the second `Node does not exist`. Keep its service manager from starting it again until you are done.")
	w.para("2. Nodes may be down in the middle of a step. Ask each with its command under *Nodes*. Start what is down, with the file that is in place, before you go on. Then find the first step whose checks afterwards do not hold, and begin there. " +
		"If `migrator` itself still runs, make this page anew: it leaves out what is done.")
	w.para("3. One step after the other. A check that cannot be answered counts as failed. Never more nodes down than a step says. If a node does not stop, wait; never kill it.")
	w.para("4. Tools are those of Kafka's `bin` folder. Where listeners ask for TLS or SASL, add `--command-config client.properties`; where ZooKeeper does, `-zk-tls-config-file zk.properties` right after the servers of `zookeeper-shell.sh`. " +
		"Commands and paths of nodes are those of migrations.yaml, with the way to the node before them: type them where migrator runs. Those of nodes that a person drives are for the node itself.")
	w.para("5. Stop configuration management before you replace a file: it would put the old one back.")
	w.para("6. Write down when each command was given and what it printed.")
}

func (w *writer) nodes() {
	w.para("## Nodes")
	w.para("Each command exits 0 while its process runs, and 1 to 4 when it does not; anything else says nothing.")
	for _, n := range w.in.Migration.Nodes {
		at := n.Host
		if n.Port > 0 {
			at = fmt.Sprintf("%s:%d", n.Host, n.Port)
		}
		w.line("- %s, at %s, file `%s`, logs: %s", n.Name(), at, n.Properties, logsInWords(n.Logs))
		w.line("")
		lines := []string{on(n, n.Commands.Running) + "; echo $?"}
		if n.Access.Kind == "wrapper" {
			lines = append(lines, on(n, []string{"echo", "here"})+"     # what is not 0 above counts only if this prints: here")
		}
		w.code(lines...)
	}
}

// enter are the gates before the plan would be offered at all.
func (w *writer) enter() {
	row, ok := phases.RowOf(w.in.Plan.Phase)
	if !ok || w.in.Plan.Revert || w.in.Plan.AdHoc || len(w.in.Plan.Steps) == 0 {
		return
	}
	w.para("## Before you begin")
	w.checks(row.Enter, plan.Step{})
}

func (w *writer) end() {
	w.para("## At the end")
	if row, ok := phases.RowOf(w.in.Plan.Phase); ok && !w.in.Plan.Revert && !w.in.Plan.AdHoc {
		w.checks(row.Done, plan.Step{})
		w.para("The way back from here: %s.", row.WayBack)
	}
	w.para("The service can take the cluster over again at any rest: start it with an empty data folder. It finds the phase by what the cluster shows, and its next plan begins with the step `adopt`. Soak and drills count anew.")
}

func logsInWords(l config.Logs) string {
	switch {
	case len(l.Files) > 0:
		return "`" + Shell(l.Files) + "`"
	case len(l.Argv) > 0:
		return "`" + Shell(l.Argv) + "`"
	default:
		return "not named in migrations.yaml"
	}
}
