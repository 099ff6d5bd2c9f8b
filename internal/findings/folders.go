package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
)

const metadataFolder = "__cluster_metadata-0"

const readableFolders = "Let migrator run find in the broker's log folders."

// eachBrokerFolder goes over what is odd in the folders of brokers, sorted.
func (l *look) eachBrokerFolder(say bool, look func(config.Node, string, Folder)) {
	for _, n := range l.s.Migration.Nodes {
		if n.Role != cluster.Broker {
			continue
		}
		m, looked := l.s.Machines[n.ID]
		dirs := make([]string, 0, len(m.Folders))
		for dir := range m.Folders {
			dirs = append(dirs, dir)
		}
		slices.Sort(dirs)
		if say && (!looked || len(dirs) == 0) {
			l.unsure("the log folders of "+n.Name()+" were not looked at", readableFolders)
		}
		for _, dir := range dirs {
			f := m.Folders[dir]
			folder, ok := f.Get()
			if !ok && say {
				l.unsure(n.Name()+" "+dir+": "+f.Cause(), readableFolders)
			}
			if ok {
				look(n, dir, folder)
			}
		}
	}
}

// unseenFolders is a warning of its own, so that what is found in folders can
// block without blocking where nobody can look.
func unseenFolders(l *look) {
	l.eachBrokerFolder(true, func(n config.Node, dir string, f Folder) {
		if !f.Whole {
			l.unsure(n.Name()+" "+dir+": too many partitions to compare every topic id", "Compare topic_id in each partition.metadata with /brokers/topics by hand if the disks were ever restored or repaired.")
		}
	})
}

// metadataDir is where a broker keeps the metadata log: the first folder
// unless metadata.log.dir says another.
func (l *look) metadataDir(n config.Node) string {
	_, doc, _ := readable(l.s.Snapshot.Files[n.ID], n.Role)
	if doc == nil {
		return ""
	}
	f := propertiesFile{node: n, doc: doc}
	if dir := f.value("metadata.log.dir"); dir != "" {
		return dir
	}
	for _, key := range []string{"log.dirs", "log.dir"} {
		if dirs := f.list(key); len(dirs) > 0 {
			return dirs[0]
		}
	}
	return ""
}

// oldMetadataLogs: Kafka 3.9 deletes the one in the metadata folder itself
// (KAFKA-16463); any other keeps a KRaft broker from starting.
func oldMetadataLogs(l *look) {
	l.eachBrokerFolder(false, func(n config.Node, dir string, f Folder) {
		if slices.Contains(f.Odd, metadataFolder) && dir != l.metadataDir(n) {
			l.found(n.Name()+" "+dir+"/"+metadataFolder, "a metadata log outside the metadata folder", "Look whose it is, then move it away while the broker is stopped.")
		}
	})
}

func leftMetadataLogs(l *look) {
	l.eachBrokerFolder(false, func(n config.Node, dir string, f Folder) {
		if slices.Contains(f.Odd, metadataFolder) && dir == l.metadataDir(n) {
			l.found(n.Name()+" "+dir+"/"+metadataFolder, "a metadata log of an earlier attempt", "Nothing: the broker deletes it when it starts in migration mode.")
		}
	})
}

func strayFolders(l *look) {
	l.eachBrokerFolder(false, func(n config.Node, dir string, f Folder) {
		for _, name := range f.Odd {
			if strings.HasSuffix(name, "-stray") {
				l.found(n.Name()+" "+dir+"/"+name, "a partition that Kafka set aside", "Look whether its topic exists and the data is wanted; Kafka does not remove it.")
			}
		}
	})
}

const noTopicID = "AAAAAAAAAAAAAAAAAAAAAA"

// partitionsWithoutID: in KRaft mode a partition is known by its topic's id.
func partitionsWithoutID(l *look) {
	const fix = "Look whether the topic exists. If it does, move the folder away while the broker is stopped and let it replicate anew from a full ISR; if not, move it away."
	ids := l.topicIDs()
	l.eachBrokerFolder(false, func(n config.Node, dir string, f Folder) {
		for _, name := range f.Bare {
			l.found(n.Name()+" "+dir+"/"+name, "no partition.metadata", fix)
		}
		for name, id := range f.TopicIDs {
			at := strings.LastIndexByte(name, '-')
			if at < 0 || strings.HasSuffix(name, "-delete") || strings.HasSuffix(name, "-stray") || strings.HasSuffix(name, "-future") || name == metadataFolder {
				continue
			}
			want, exists := ids[name[:at]]
			switch {
			case id == noTopicID || id == "":
				l.found(n.Name()+" "+dir+"/"+name, "partition.metadata without a topic id", fix)
			case exists && want != id:
				l.found(n.Name()+" "+dir+"/"+name, fmt.Sprintf("topic id %s, and /brokers/topics/%s has %s", id, name[:at], want), fix)
			}
		}
	})
}

// topicIDs are those of ZooKeeper; topics without one are another finding's.
func (l *look) topicIDs() map[string]string {
	out := map[string]string{}
	topics, _ := l.s.Snapshot.ZKTopics.Get()
	for name, t := range topics.Topics {
		if t.HasID {
			out[name] = t.ID
		}
	}
	return out
}
