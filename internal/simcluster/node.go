package simcluster

import (
	"errors"
	"fmt"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

// node is one machine: a file, a folder, a log and at most one process.
type node struct {
	config.Node
	file     *content   // nil: absent
	replaced []*content // what edits replaced
	kept     []*content // copies beside the file: what writes replaced
	meta     *meta      // meta.properties of its folder
	lines    []line
	proc     *process
	starts   int  // processes so far
	broken   bool // no process of it lives longer than a moment
	slow     bool // its replicas do not catch up
	doomed   doom
	stopsIn  time.Duration // so long its next stop takes; 0: as usual

	died      time.Time // of the newest process
	clean     bool      // it ended by a clean shutdown
	lastFetch time.Time // of the metadata log
	logEnd    int64
	metaLevel int16 // metadata.version it was formatted with
}

// doom is how the next processes of a node die, each so long after its start.
type doom struct {
	left  int
	after time.Duration
	kind  lineKind
	text  string
}

type meta struct {
	version   int
	clusterID string
	nodeID    int32
}

// process is one run of a node with the file it was started with.
type process struct {
	serial   int
	mode     cluster.Mode
	file     []byte // as it was at the start
	level    int16  // of its inter.broker.protocol.version
	booted   bool   // it has read everything it needs
	ready    bool   // it serves
	stopping bool
	drained  bool // controlled shutdown has moved its leaders
}

// incarnation is the id a process registers with.
func (p *process) incarnation() string { return fmt.Sprintf("incarnation-%06d", p.serial) }

// lineKind is what a log line says.
type lineKind int

const (
	lineStarting lineKind = iota
	lineStarted
	lineShutDown
	lineState
	lineCopyDone
	lineFatal
	lineRace // of the start-up race; fatal
	lineRefused
)

type line struct {
	kind  lineKind
	state cluster.MigrationState
	text  string
}

func (n *node) say(kind lineKind, text string) {
	n.lines = append(n.lines, line{kind: kind, text: text})
}

func (c *Cluster) newNode(cfg config.Node) *node {
	n := &node{Node: cfg}
	if cfg.Role == cluster.Broker {
		n.file = newContent(firstFile(cfg), cfg.Role)
		n.meta = &meta{clusterID: clusterID, nodeID: cfg.ID}
	}
	return n
}

func (n *node) broker() bool { return n.Role == cluster.Broker }

// serves says that a process of the node answers.
func (n *node) serves() bool { return n.proc != nil && n.proc.ready }

// inMode says that it serves in one of the modes.
func (n *node) inMode(modes ...cluster.Mode) bool {
	if !n.serves() {
		return false
	}
	for _, m := range modes {
		if n.proc.mode == m {
			return true
		}
	}
	return false
}

// launch makes a process out of the file as it is now.
func (n *node) launch(c *Cluster) {
	c.serial++
	n.starts++
	p := &process{serial: c.serial}
	n.proc = p
	n.say(lineStarting, "starting")
	err := errors.New("no properties file")
	if n.file != nil {
		p.mode, p.level, p.file, err = n.file.mode, n.file.level, n.file.data, n.file.bad
	}
	if err == nil && n.Role == cluster.Controller && n.meta == nil {
		err = errors.New("no meta.properties in /data/meta")
	}
	if err == nil && n.broken {
		err = errors.New("fatal error during startup")
	}
	if err != nil {
		text := err.Error()
		c.later(800*time.Millisecond, n, func(c *Cluster, n *node) {
			n.say(lineFatal, text)
			n.end(c, false)
		})
		return
	}
	if d := n.doomed; d.left > 0 {
		n.doomed.left--
		c.later(d.after, n, func(c *Cluster, n *node) {
			n.say(d.kind, d.text)
			n.end(c, false)
		})
	}
	low, high := 2*time.Second, 3500*time.Millisecond
	if n.Role == cluster.Controller {
		low, high = time.Second, 2*time.Second
	}
	c.later(c.between(low, high), n, func(_ *Cluster, n *node) { n.proc.booted = true })
}

// startCommand is what the start command does; a node that runs is left alone.
func (n *node) startCommand(c *Cluster) {
	if n.proc == nil {
		n.launch(c)
	}
	c.rules.cameBack(n.ID)
}

// stopCommand begins a clean shutdown; the process ends later.
func (n *node) stopCommand(c *Cluster) {
	p := n.proc
	if p == nil || p.stopping {
		return
	}
	p.stopping = true
	c.later(300*time.Millisecond, n, func(c *Cluster, n *node) { n.proc.drained = c.acting() != byNobody })
	c.later(n.stopTakes(c), n, func(c *Cluster, n *node) {
		n.say(lineShutDown, "shut down completed")
		n.end(c, true)
	})
}

func (n *node) stopTakes(c *Cluster) time.Duration {
	if d := n.stopsIn; d > 0 {
		n.stopsIn = 0
		return d
	}
	switch {
	case n.Role == cluster.Controller:
		return c.between(200*time.Millisecond, 800*time.Millisecond)
	case c.acting() == byNobody:
		return 10600 * time.Millisecond // controlled shutdown is tried again, then given up
	case n.proc.mode == cluster.KRaft:
		return c.between(2500*time.Millisecond, 4800*time.Millisecond)
	default:
		return c.between(800*time.Millisecond, 900*time.Millisecond)
	}
}

func (n *node) end(c *Cluster, clean bool) {
	n.proc, n.died, n.clean = nil, c.now, clean
}

// later lets something happen to a node if it still runs the same process then.
func (c *Cluster) later(d time.Duration, n *node, do func(*Cluster, *node)) {
	id, serial := n.ID, n.proc.serial
	c.in(d, func(c *Cluster) {
		if n := c.nodes[id]; n.proc != nil && n.proc.serial == serial {
			do(c, n)
		}
	})
}

// boot lets processes that are up begin to serve as soon as what they depend
// on is there.
func (c *Cluster) boot() {
	for _, cfg := range c.cfg.Nodes {
		n := c.nodes[cfg.ID]
		p := n.proc
		if p == nil || !p.booted || p.ready || p.stopping {
			continue
		}
		switch {
		case !n.broker():
		case p.mode == cluster.KRaft:
			if c.quorum.leader == 0 {
				continue
			}
		case !c.zk.writable():
			continue
		}
		p.ready = true
		n.say(lineStarted, "started")
		if !n.broker() && c.quorum.hasState {
			n.lines = append(n.lines, line{kind: lineState, state: c.quorum.state}) // a replica prints what it replays
		}
	}
}
