package findings

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
)

// overridden: a setting on the command line wins over every file we write.
func overridden(l *look) {
	for _, n := range l.s.Migration.Nodes {
		p, _ := l.s.Machines[n.ID].Process.Get()
		for _, key := range p.Overrides {
			l.found(n.Name(), "started with --override "+key, "Move the setting from the unit or start script into "+n.Properties+", and restart the node.")
		}
	}
}

// fromEnvironment: images make the file anew from variables at each start.
func fromEnvironment(l *look) {
	const fix = "Migrate by changing the variables: an edit of this file is gone at the next start. Name such nodes with access: manual, or start Kafka with a file of your own."
	for _, n := range l.s.Migration.Nodes {
		p, _ := l.s.Machines[n.ID].Process.Get()
		if i := slices.IndexFunc(p.Environment, makesSettings); i >= 0 {
			l.found(n.Name(), "its process has the variable "+p.Environment[i], fix)
		}
	}
}

// madeBySomethingElse knows files by their marks; where the process shows it,
// MIG363 says so already.
func madeBySomethingElse(l *look) {
	for _, f := range l.brokerFiles() {
		p, _ := l.s.Machines[f.node.ID].Process.Get()
		g, made := configgen.GeneratedBy(f.node.Properties, f.file.Content)
		if made && !slices.ContainsFunc(p.Environment, makesSettings) {
			l.found(f.at(""), "made by "+g.By+" ("+g.Sign+")", "Keep it from writing the file while the migration runs, or change the settings where they are: "+g.From+".")
		}
	}
}

// makesSettings knows the variables of the Bitnami, Confluent and Apache images.
func makesSettings(name string) bool {
	if strings.HasPrefix(name, "KAFKA_CFG_") {
		return true
	}
	return slices.Contains([]string{"KAFKA_ZOOKEEPER_CONNECT", "KAFKA_BROKER_ID", "KAFKA_NODE_ID", "KAFKA_LISTENERS", "KAFKA_ADVERTISED_LISTENERS", "KAFKA_PROCESS_ROLES"}, name)
}

const fiveMinutes = 5 * 60 * 1000

// shortStops: systemd kills what has not stopped in time, 90 s by default, and a
// controlled shutdown of a broker may take five minutes.
func shortStops(l *look) {
	unseen := map[string][]string{} // nodes by cause: often one for all
	for _, n := range l.s.Migration.Nodes {
		f := l.s.Machines[n.ID].StopLimit
		limit, ok := f.Get()
		switch {
		case !ok:
			unseen[f.Cause()] = append(unseen[f.Cause()], n.Name())
		case limit != nil && *limit < fiveMinutes:
			l.found(n.Name(), fmt.Sprintf("killed after %g s", float64(*limit)/1000), "Set TimeoutStopSec=5min or more in the unit (systemctl edit), then systemctl daemon-reload.")
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(unseen)) {
		l.unsure("the stop limit of "+strings.Join(unseen[cause], ", ")+": "+cause, "See for yourself that whatever stops the node waits five minutes before it kills it.")
	}
}

// clockTolerance is what a synchronised clock never reaches, in milliseconds;
// reading one through a slow connection costs a second or two.
const clockTolerance = 10_000

func otherClocks(l *look) {
	unseen := map[string][]string{}
	for _, n := range l.s.Migration.Nodes {
		if n.Access.Kind == "local" {
			continue // it is this clock
		}
		f := l.s.Machines[n.ID].ClockAheadMs
		ahead, ok := f.Get()
		switch {
		case !ok:
			unseen[f.Cause()] = append(unseen[f.Cause()], n.Name())
		case ahead > clockTolerance:
			l.found(n.Name(), fmt.Sprintf("its clock is %s ahead", time.Duration(ahead)*time.Millisecond), setClocks)
		case ahead < -clockTolerance:
			l.found(n.Name(), fmt.Sprintf("its clock is %s behind", -time.Duration(ahead)*time.Millisecond), setClocks)
		}
	}
	for _, cause := range slices.Sorted(maps.Keys(unseen)) {
		l.unsure("the clocks of "+strings.Join(unseen[cause], ", ")+": "+cause, "Compare `date -u` there with `date -u` here.")
	}
}

const setClocks = "Let a time service (chrony, systemd-timesyncd) set the clock, on that machine and on this one."

// What a controller's heap must hold: the metadata image and its successor. The
// figures are rough and on the safe side of Kafka's advice.
const (
	heapBase       = 512 << 20
	heapPerReplica = 8 << 10
	// smallCluster is how many replicas fit into Kafka's default heap of 1 GiB
	// without looking.
	smallCluster = 20000
)

func smallHeaps(l *look) {
	md, ok := need(l, "the partitions", l.s.Snapshot.Metadata, "Make a broker answer.")
	replicas := 0
	for _, p := range md.Partitions {
		replicas += len(p.Replicas)
	}
	if !ok || replicas == 0 {
		return
	}
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		f := l.s.Machines[n.ID].HeapBytes
		heap, known := f.Get()
		wanted := int64(heapBase + replicas*heapPerReplica)
		switch {
		case known && replicas > smallCluster && heap < wanted:
			l.found(n.Name(), fmt.Sprintf("a heap of %d MiB for %d replicas", heap>>20, replicas), fmt.Sprintf("Give the controller at least %d MiB (KAFKA_HEAP_OPTS).", wanted>>20))
		case !known && replicas > smallCluster:
			l.unsure("the heap of "+n.Name()+": "+f.Cause(), fmt.Sprintf("See that it gets at least %d MiB for %d replicas.", wanted>>20, replicas))
		}
	}
}

// NeededFile is a file that must be on a node.
type NeededFile struct {
	Path string
	For  string
}

// FilesNeeded are the files that must be on a node: the log files that
// migrations.yaml names, and what a controller's settings will name.
func FilesNeeded(s Survey, n config.Node) []NeededFile {
	if n.Role == cluster.Broker {
		return logFiles(n)
	}
	var out []NeededFile
	add := func(key, value string) {
		if strings.HasSuffix(key, ".location") && strings.HasPrefix(value, "/") && !slices.ContainsFunc(out, func(f NeededFile) bool { return f.Path == value }) {
			out = append(out, NeededFile{value, key})
		}
	}
	for _, e := range n.Settings {
		add(e.Key, e.Value)
	}
	l := look{s: &s}
	if first := l.firstBroker(); first.doc != nil {
		ib, _ := configgen.FromBroker(first.file.Content)
		for _, e := range ib.Carried {
			if _, own := setting(n, e.Key); !own {
				add(e.Key, strings.TrimSpace(e.Value))
			}
		}
	}
	return out
}

func logFiles(n config.Node) []NeededFile {
	var out []NeededFile
	for _, path := range n.Logs.Files {
		out = append(out, NeededFile{path, "logs"})
	}
	return out
}

func missingControllerFiles(l *look) {
	l.missingFiles(cluster.Controller, "Put it there, readable for the controller.")
}

func missingLogs(l *look) {
	l.missingFiles(cluster.Broker, "Name the files that Kafka's log4j.properties really writes (server.log and controller.log), or a command that follows the log.")
}

func (l *look) missingFiles(role cluster.Role, fix string) {
	for _, n := range l.s.Migration.Nodes {
		if n.Role != role {
			continue
		}
		for _, f := range FilesNeeded(*l.s, n) {
			if there, ok := l.s.Machines[n.ID].Files[f.Path].Get(); ok && !there {
				l.found(n.Name()+" "+f.Path, "is not there, and "+f.For+" names it", fix)
			}
		}
	}
}
