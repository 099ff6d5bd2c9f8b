package findings

import (
	"fmt"
	"slices"
	"strconv"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
)

const reservedID = 1000 // Kafka's default of reserved.broker.max.id

// idsDiffer: the id of migrations.yaml against the file and every folder. A
// broker that starts under another id is another broker.
func idsDiffer(l *look) {
	const fix = "Find out which id is right: the one in /brokers/ids while the broker runs. Correct the others, the folder last."
	for _, f := range l.brokerFiles() {
		want := strconv.Itoa(int(f.node.ID))
		for _, key := range []string{"broker.id", "node.id"} {
			if v := f.value(key); v != "" && v != "-1" && v != want {
				l.found(f.at(key), fmt.Sprintf("%s is %s, migrations.yaml says %s", key, v, want), fix)
			}
		}
	}
	l.eachFolder(cluster.Broker, func(n config.Node, d facts.MetaProperties) {
		if want := strconv.Itoa(int(n.ID)); d.Exists && d.NodeID != "" && d.NodeID != want {
			l.found(metaOf(n, d), fmt.Sprintf("the folder belongs to broker %s, migrations.yaml says %s", d.NodeID, want), fix)
		}
	})
}

// generatedIDs: KAFKA-17543. The plan writes the id of migrations.yaml into the
// file; that it is the broker's own is for MIG302 to say.
func generatedIDs(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		id, off := f.value("broker.id"), f.value("broker.id.generation.enable") == "false"
		if id == "" {
			id = f.value("node.id")
		}
		limit := reservedID
		if n, err := strconv.Atoi(f.value("reserved.broker.max.id")); err == nil {
			limit = n
		}
		n, err := strconv.Atoi(id)
		switch {
		case id == "" || id == "-1":
			l.found(f.at("broker.id"), fmt.Sprintf("no id is written, so that of meta.properties counts; migrations.yaml says %d", f.node.ID), "Nothing: the plan writes broker.id into the file.")
		case err == nil && n > limit && !off:
			l.found(f.at("broker.id"), fmt.Sprintf("broker.id %d is above reserved.broker.max.id %d while ids are generated", n, limit), "Nothing: the plan writes broker.id.generation.enable=false into the file.")
		}
	}
}

// foldersWithoutMeta: a running broker wrote the file into each folder it
// has. Where it is missing the folder is new, or its disk is not mounted.
func foldersWithoutMeta(l *look) {
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Broker {
			continue
		}
		dirs, ok := need(l, n.Name()+"'s meta.properties", l.s.Snapshot.Meta[n.ID], "Let migrator read the broker's log folders, and mend a meta.properties that is named here.")
		for _, d := range dirs {
			if ok && !d.Exists && !l.onlyMetadata(n, d.Dir) {
				l.found(metaOf(n, d), "missing", "Look whether the disk is mounted. Restart the broker in ZooKeeper mode, which writes the file into a folder that was added; a KRaft broker does not start without it.")
			}
		}
	}
}

// onlyMetadata: metadata.log.dir outside log.dirs gets its meta.properties when
// the broker first starts in migration mode.
func (l *look) onlyMetadata(n config.Node, dir string) bool {
	_, doc, _ := readable(l.s.Snapshot.Files[n.ID], n.Role)
	if doc == nil {
		return false
	}
	f := propertiesFile{node: n, doc: doc}
	dirs := f.list("log.dirs")
	if len(dirs) == 0 {
		dirs = f.list("log.dir")
	}
	return f.value("metadata.log.dir") == dir && !slices.Contains(dirs, dir)
}

// formattedFolders: KAFKA-20762. Only a broker in ZooKeeper mode minds.
func formattedFolders(l *look) {
	l.eachFolder(cluster.Broker, func(n config.Node, d facts.MetaProperties) {
		if d.Exists && d.Version != 0 {
			l.found(metaOf(n, d), fmt.Sprintf("version %d", d.Version),
				fmt.Sprintf("Stop the broker, keep a copy of the file, write version=0, broker.id=%d and the same cluster.id (no node.id) into it, and start the broker.", n.ID))
		}
	})
}

// foreignFolders compares every folder with /cluster/id.
func foreignFolders(l *look) {
	id, ok := need(l, "/cluster/id", l.s.Snapshot.ClusterID, readableZooKeeper)
	if !ok {
		return
	}
	l.eachFolder(cluster.Broker, func(n config.Node, d facts.MetaProperties) {
		switch {
		case !d.Exists || d.ClusterID == id:
		case d.ClusterID == "":
			l.found(metaOf(n, d), "no cluster.id", "Restart the broker, which writes it; look first whether the folder is this cluster's.")
		default:
			l.found(metaOf(n, d), fmt.Sprintf("cluster.id %s, and /cluster/id is %s", d.ClusterID, id),
				"Is zookeeper.connect the right ensemble and chroot? If it is, the folder comes from another cluster, or /cluster/id was made anew.")
		}
	})
}

// sharedDirectoryIDs: every folder of a cluster has an id of its own (KIP-858);
// a copied disk brings its own along.
func sharedDirectoryIDs(l *look) {
	first := map[string]string{}
	l.eachFolder(cluster.Broker, func(n config.Node, d facts.MetaProperties) {
		switch where, taken := first[d.DirectoryID]; {
		case d.DirectoryID == "":
		case taken:
			l.found(metaOf(n, d), "directory.id "+d.DirectoryID+" is also that of "+where, "Remove the line directory.id from the copy while its broker is stopped; the broker makes a new one.")
		default:
			first[d.DirectoryID] = metaOf(n, d)
		}
	})
}

const foldersUnknown = "MIG304"

// eachFolder goes over the meta.properties of one role's folders; those that
// could not be read are MIG304's to say.
func (l *look) eachFolder(role cluster.Role, look func(config.Node, facts.MetaProperties)) {
	for _, n := range l.s.Migration.Nodes {
		if n.Role != role {
			continue
		}
		dirs, ok := l.s.Snapshot.Meta[n.ID].Get()
		if !ok {
			l.behind(foldersUnknown)
		}
		for _, d := range dirs {
			look(n, d)
		}
	}
}

func metaOf(n config.Node, d facts.MetaProperties) string {
	return n.Name() + " " + d.Dir + "/meta.properties"
}
