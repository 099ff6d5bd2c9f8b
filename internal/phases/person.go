package phases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
	"migrator/internal/gates"
	"migrator/internal/plan"
)

// manualAccess is the kind of access whose nodes a person drives.
const manualAccess = "manual"

// Errand is one action that a person is to do, now or once what stands before it
// in its step is done.
type Errand struct {
	Step   plan.Step
	Action plan.Action
	Now    bool
	Since  time.Time // zero unless Now
	Saw    string    // what is observed instead, where that says anything
}

// Errands lists what a person is to do in the open step, in its order.
func Errands(s State, snap facts.Snapshot, inv cluster.Inventory, planned map[string][]byte) []Errand {
	step, ok := s.OpenStep()
	if !ok {
		return nil
	}
	var out []Errand
	for _, a := range s.work(step) {
		st := s.Run.Actions[a.ID]
		if !a.Manual || st.OK {
			continue
		}
		ask := Errand{Step: step, Action: a, Now: st.Running}
		if ask.Now {
			ask.Since, ask.Saw = st.Begun, watcher{s, step, a, snap, inv, planned}.look().saw
		}
		out = append(out, ask)
	}
	slices.SortStableFunc(out, func(a, b Errand) int { return a.Action.Stage - b.Action.Stage })
	return out
}

// Asking: a person is to do something now, and nothing else can go on.
func Asking(s State) bool {
	step, ok := s.OpenStep()
	return ok && asking(s, step) != ""
}

func asking(s State, step plan.Step) string {
	var ids []string
	for _, a := range s.work(step) {
		if a.Manual && s.Run.Actions[a.ID].Running {
			ids = append(ids, a.ID)
		}
	}
	if len(ids) == 0 {
		return ""
	}
	return "a person is to do " + strings.Join(ids, ", ") + "; `migrator status` says how"
}

// byHand marks the actions on nodes that a person drives.
func (b *builder) byHand(s plan.Step) plan.Step {
	s.Actions = slices.Clone(s.Actions)
	for i, a := range s.Actions {
		if a.Node == nil {
			continue
		}
		n, ok := b.in.Migration.Node(*a.Node)
		s.Actions[i].Manual = ok && n.Access.Kind == manualAccess
	}
	return s
}

// formatOf is the format command of a controller. A person who drives one need
// not name it: it is Kafka's own.
func formatOf(n config.Node, quorumMode string) []string {
	if len(n.Commands.Format) > 0 || n.Access.Kind != manualAccess {
		return n.Commands.Format
	}
	argv := []string{"kafka-storage.sh", "format", "--cluster-id={cluster_id}", "--release-version={metadata_version}", "--config", n.Properties}
	if quorumMode == "dynamic" {
		argv = append(argv, "--initial-controllers={initial_controllers}")
	}
	return argv
}

func doer(manual bool) string {
	if manual {
		return "a person"
	}
	return "the service"
}

// asks judges what a person was asked for: seen done, or done wrongly. ok is
// false while there is only to wait.
func asks(s State, step plan.Step, in Situation, asked []plan.Action) (Decision, bool) {
	for _, a := range asked {
		w := watcher{s, step, a, in.Snapshot, in.Inventory, in.Planned}.look()
		switch {
		case w.done:
			return Decision{Verb: Witness, Step: step, Actions: []plan.Action{a}, Why: w.saw}, true
		case w.wrong && s.Blocked == nil:
			return Decision{Verb: Block, Step: step, Blocked: Blocked{Step: step.ID, What: w.saw,
				ToDo: "put the planned file on the node and into its folder, restart the node with it, then `migrator retry`"}}, true
		}
	}
	return Decision{}, false
}

// besides are the actions that are not among the others.
func besides(others, all []plan.Action) []plan.Action {
	return slices.DeleteFunc(all, func(a plan.Action) bool {
		return slices.ContainsFunc(others, func(o plan.Action) bool { return o.ID == a.ID })
	})
}

// watcher looks whether a person did an action: by what is observed after it
// was asked for, never by their word.
type watcher struct {
	s       State
	step    plan.Step
	a       plan.Action
	snap    facts.Snapshot
	inv     cluster.Inventory
	planned map[string][]byte
}

type watched struct {
	done  bool
	wrong bool // it was passed over: going on as it stands would start the wrong mode
	saw   string
}

func (w watcher) look() watched {
	switch w.a.Kind {
	case plan.Stop:
		return w.stopped()
	case plan.Write:
		return w.written()
	case plan.FormatDirs:
		return w.formatted()
	case plan.Start:
		return w.started()
	case plan.Archive:
		return w.archived()
	case plan.Disable:
		return w.down("nothing shows whether it can start again; it does not run")
	default:
		return watched{saw: fmt.Sprintf("nothing is known of how a person does %q", w.a.Kind)}
	}
}

// since reads a fact that was looked for after the person was asked.
func since[T any](w watcher, f facts.Fact[T]) (T, bool) {
	v, ok := f.Get()
	return v, ok && !f.Begun().Before(w.s.Run.Actions[w.a.ID].Begun)
}

func (w watcher) down(saw string) watched {
	running, known := since(w, w.snap.Running[*w.a.Node])
	switch {
	case !known:
		return watched{saw: "whether it runs is not known: " + w.snap.Running[*w.a.Node].Cause()}
	case running:
		return watched{saw: "it still answers"}
	default:
		return watched{done: true, saw: saw}
	}
}

// stopped: its port is closed. Whoever is quick has started it again before
// anybody looked: then it has registered anew, in the wanted mode, and its
// planned file is there.
func (w watcher) stopped() watched {
	how := registeredAnew(w.s.Run.Baseline, w.snap, *w.a.Node)
	if mode, known := w.mode(); how != "" && known && mode == w.step.Mode && w.planDone() {
		return watched{done: true, saw: how}
	}
	return w.down("nothing listens on its port any more")
}

// mode is how the node runs, seen after the person was asked.
func (w watcher) mode() (cluster.Mode, bool) {
	n, ok := w.inv.Node(*w.a.Node)
	if !ok {
		return "", false
	}
	return since(w, w.snap.Mode(n))
}

// planDone: the node's copy is what this step leaves in its file.
func (w watcher) planDone() bool {
	file, ok := since(w, w.snap.Files[*w.a.Node])
	return ok && file.Exists && file.SHA256 == writes(w.step, *w.a.Node)
}

// registered: as a broker in either store, or as a controller.
func registered(snap facts.Snapshot, id int32) bool {
	regs, _ := snap.Registered.Get()
	l, _ := snap.Log.Get()
	br, broker := l.Image.Brokers[id]
	_, controller := l.Image.Controllers[id]
	return broker && !br.Fenced || controller || slices.ContainsFunc(regs, func(r facts.Registration) bool { return r.ID == id })
}

func registeredAnew(b gates.Baseline, snap facts.Snapshot, id int32) string {
	if regs, ok := snap.Registered.Get(); ok {
		before, was := b.Czxid[id]
		if i := slices.IndexFunc(regs, func(r facts.Registration) bool { return r.ID == id }); was && i >= 0 && regs[i].Czxid > before {
			return fmt.Sprintf("it has registered anew in /brokers/ids (czxid %d, %d before)", regs[i].Czxid, before)
		}
	}
	l, ok := snap.Log.Get()
	before, was := b.Incarnation[id]
	now := ""
	if br, has := l.Image.Brokers[id]; ok && has {
		now = br.Incarnation
	}
	if c, has := l.Image.Controllers[id]; ok && has {
		now = c.Incarnation
	}
	if was && now != "" && now != before {
		return "it has registered anew in the metadata log"
	}
	return ""
}

// written: the node's copy has the planned content. A node that runs again
// meanwhile was started with something else, or the copy was forgotten.
func (w watcher) written() watched {
	file, ok := since(w, w.snap.Files[*w.a.Node])
	if ok && file.Exists && file.SHA256 == w.a.After {
		return watched{done: true, saw: "the copy in its folder is the planned file"}
	}
	saw := w.differs(file, ok)
	if running, known := since(w, w.snap.Running[*w.a.Node]); known && running && w.startsAfter() {
		return watched{wrong: true, saw: fmt.Sprintf("node %d runs again, and %s", *w.a.Node, saw)}
	}
	return watched{saw: saw}
}

// startsAfter: the node is started by this step, and was seen down in it where
// the step stops it.
func (w watcher) startsAfter() bool {
	starts := false
	for _, a := range w.step.Actions {
		if a.Node == nil || *a.Node != *w.a.Node {
			continue
		}
		if a.Kind == plan.Stop && !w.s.Run.Actions[a.ID].OK {
			return false
		}
		starts = starts || a.Kind == plan.Start
	}
	return starts
}

// differs names what the node's copy has that the planned file has not.
func (w watcher) differs(file facts.File, known bool) string {
	switch {
	case !known:
		return "the copy of its file cannot be read: " + w.snap.Files[*w.a.Node].Cause()
	case !file.Exists:
		return "there is no copy of " + w.a.Path + " in its folder"
	case file.SHA256 == w.a.Before:
		return "the copy of its file is still the one from before"
	}
	if keys := differentKeys(w.planned[w.a.After], file.Content); len(keys) > 0 {
		return "the copy of its file is not the planned one: " + strings.Join(keys, "; ")
	}
	return "the copy of its file is not the planned one byte for byte, although its settings are the same"
}

// maxKeys of a wrong file are named.
const maxKeys = 5

// differentKeys says in which settings a file is not the planned one.
func differentKeys(planned, found []byte) []string {
	want, err := configgen.Parse(planned)
	if err != nil || len(planned) == 0 {
		return nil
	}
	have, err := configgen.Parse(found)
	if err != nil {
		return []string{"it cannot be read as properties"}
	}
	var out []string
	for _, key := range want.Keys() {
		wanted, _ := want.Value(key)
		value, there := have.Value(key)
		switch {
		case !there:
			out = append(out, fmt.Sprintf("%s is missing, planned is %q", key, configgen.Redact(key, wanted)))
		case value != wanted:
			out = append(out, fmt.Sprintf("%s is %q, planned is %q", key, configgen.Redact(key, value), configgen.Redact(key, wanted)))
		}
	}
	for _, key := range have.Keys() {
		if _, planned := want.Value(key); !planned {
			value, _ := have.Value(key)
			out = append(out, fmt.Sprintf("%s=%s is not in the planned file", key, configgen.Redact(key, value)))
		}
	}
	if more := len(out) - maxKeys; more > 0 {
		out = append(out[:maxKeys], fmt.Sprintf("and %d more", more))
	}
	return out
}

// formatted: its meta.properties are there, or it runs already, which Kafka
// does not do on a folder without.
func (w watcher) formatted() watched {
	metas, known := since(w, w.snap.Meta[*w.a.Node])
	whole := known && len(metas) > 0 && !slices.ContainsFunc(metas, func(m facts.MetaProperties) bool { return !m.Exists })
	for _, m := range metas {
		if known && m.Exists && (m.ClusterID != w.s.ClusterID || m.NodeID != fmt.Sprint(*w.a.Node)) {
			return watched{saw: fmt.Sprintf("%s is formatted for cluster %s and node %s, this is cluster %s and node %d", m.Dir, m.ClusterID, m.NodeID, w.s.ClusterID, *w.a.Node)}
		}
	}
	if running, ok := since(w, w.snap.Running[*w.a.Node]); !whole && ok && running {
		return watched{done: true, saw: "it runs"}
	}
	if whole {
		return watched{done: true, saw: "its meta.properties are those of this cluster and node"}
	}
	return watched{saw: "there is no copy of its meta.properties, and it does not run yet"}
}

// started: it answers, and not in another mode than the planned one. One that
// ran when this was asked for was started before its planned file was seen, so
// it is to be started anew.
func (w watcher) started() watched {
	running, known := since(w, w.snap.Running[*w.a.Node])
	st := w.s.Run.Actions[w.a.ID]
	mode, modeKnown := w.mode()
	switch {
	case !known:
		return watched{saw: "whether it runs is not known: " + w.snap.Running[*w.a.Node].Cause()}
	case !running:
		return watched{saw: "nothing listens on its port"}
	case st.Restore:
		return watched{done: true, saw: "it answers"}
	case st.Ran && !registered(w.snap, *w.a.Node):
		return watched{saw: "its port is open; it has not registered yet"}
	case st.Ran && registeredAnew(w.s.Run.Baseline, w.snap, *w.a.Node) == "":
		return watched{wrong: true, saw: fmt.Sprintf("node %d runs since before its planned file was seen: stop it, and start it with that file", *w.a.Node)}
	case modeKnown && w.step.Mode != "" && mode != w.step.Mode:
		return watched{wrong: true, saw: fmt.Sprintf("node %d was started in %s mode, planned is %s: the file on the node is not the one in its folder", *w.a.Node, mode, w.step.Mode)}
	case !modeKnown:
		return watched{saw: "its port is open; it does not answer yet"}
	default:
		return watched{done: true, saw: fmt.Sprintf("it answers in %s mode", mode)}
	}
}

// archived: the copies of its meta.properties are gone too, as the folder is.
func (w watcher) archived() watched {
	metas, known := since(w, w.snap.Meta[*w.a.Node])
	for _, m := range metas {
		if known && m.Dir == w.a.Path && m.Exists {
			return watched{saw: "the copy of " + m.Dir + "/meta.properties is still there: move it aside with the folder"}
		}
	}
	return w.down("no meta.properties is there any more, and it does not run")
}
