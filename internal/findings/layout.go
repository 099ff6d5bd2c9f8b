package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// crowdedHost: a host that holds a majority takes the quorum with it.
func crowdedHost(l *look) {
	if !l.oneMachine() {
		l.crowded("host", func(n cluster.Node) string { return strings.ToLower(n.Host) })
	}
}

// crowdedRack speaks only where the cluster has racks to spread over.
func crowdedRack(l *look) {
	racks := map[string]bool{}
	for _, n := range l.s.Migration.Nodes {
		if n.Rack != "" {
			racks[n.Rack] = true
		}
	}
	if len(racks) > 1 {
		l.crowded("rack", func(n cluster.Node) string { return n.Rack })
	}
}

func (l *look) crowded(what string, place func(cluster.Node) string) {
	controllers := l.s.Migration.Inventory().Controllers
	at := map[string][]string{}
	for _, n := range controllers {
		if p := place(n); p != "" {
			at[p] = append(at[p], fmt.Sprint(n.ID))
		}
	}
	for p, ids := range at {
		if len(ids) > len(controllers)/2 {
			l.found(what+" "+p, fmt.Sprintf("controllers %s of %d", strings.Join(ids, ", "), len(controllers)),
				"Spread the controllers so that no "+what+" has a majority. If there are only two sites, know that the loss of one is fatal, and keep copies of the metadata log.")
		}
	}
}

// otherRacks compares what brokers registered with the inventory, from which
// batches are made.
func otherRacks(l *look) {
	list, ok := need(l, "/brokers/ids", l.s.Snapshot.Registered, readableZooKeeper)
	for _, r := range list {
		n, known := l.s.Migration.Node(r.ID)
		if ok && known && n.Rack != "" && n.Rack != r.Rack {
			l.found(n.Name(), fmt.Sprintf("rack %q in migrations.yaml, registered as %q", n.Rack, r.Rack), "Correct migrations.yaml; broker.rack itself need not change for the migration.")
		}
	}
}

// sharedFolders: format and the ways back empty or move a controller's folder.
func sharedFolders(l *look) {
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Controller {
			continue
		}
		for _, b := range l.s.Migration.Nodes {
			if b.Role != cluster.Broker || b.Host != n.Host {
				continue
			}
			dirs, ok := l.s.Snapshot.Meta[b.ID].Get()
			if !ok {
				l.behind(foldersUnknown)
			}
			for _, d := range dirs {
				if i := slices.IndexFunc(n.LogDirs, func(dir string) bool { return within(dir, d.Dir) || within(d.Dir, dir) }); i >= 0 {
					l.found(n.Name()+" "+n.LogDirs[i], "lies in, or is, the folder "+d.Dir+" of "+b.Name(), "Give the controller a folder of its own.")
				}
			}
		}
	}
}

// within: is path the folder dir, or below it?
func within(path, dir string) bool {
	path, dir = strings.TrimRight(path, "/")+"/", strings.TrimRight(dir, "/")+"/"
	return strings.HasPrefix(path, dir)
}

func twoWaysToSayFolders(l *look) {
	for _, f := range l.brokerFiles() {
		if a, b := f.value("log.dirs"), f.value("log.dir"); a != "" && b != "" && a != b {
			l.found(f.at("log.dir"), "log.dir="+b+" has no effect beside log.dirs="+a, "Remove log.dir, after you looked whether anything of value lies there.")
		}
	}
}

func foldersTwice(l *look) {
	for _, f := range l.brokerFiles() {
		seen := map[string]bool{}
		for _, dir := range f.list("log.dirs") {
			dir = strings.TrimRight(dir, "/")
			if seen[dir] {
				l.found(f.at("log.dirs"), dir+" is listed twice", "List it once: the broker does not start with it.")
			}
			seen[dir] = true
		}
	}
}

// severalFolders is for the plan of whoever reads it: nothing is wrong.
func severalFolders(l *look) {
	for _, f := range l.brokerFiles() {
		if dirs := f.list("log.dirs"); len(dirs) > 1 {
			l.found(f.at("log.dirs"), fmt.Sprintf("%d log folders", len(dirs)), "Nothing: during the migration one bad disk means one broker lost, so look at the disks first.")
		}
	}
}

func controlledShutdownOff(l *look) {
	for _, f := range l.brokerFiles() {
		if strings.EqualFold(f.value("controlled.shutdown.enable"), "false") {
			l.found(f.at("controlled.shutdown.enable"), "controlled.shutdown.enable=false", "Turn it on before the rolls, or expect partitions without a leader for some seconds at each restart.")
		}
	}
}
