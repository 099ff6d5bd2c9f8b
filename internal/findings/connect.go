package findings

import (
	"fmt"
	"slices"
	"strings"
)

// How two connect strings are related, by their texts alone.
type relation int

const (
	sameEnsemble relation = iota // the same servers in any order, and the same chroot
	otherServers                 // the same chroot, other or fewer server names
	otherTree                    // another chroot
)

// compareConnect reads both as Kafka does: the chroot stands once, after the
// last host; a missing port is 2181.
func compareConnect(a, b string) relation {
	as, ac := splitConnect(a)
	bs, bc := splitConnect(b)
	switch {
	case ac != bc:
		return otherTree
	case !slices.Equal(as, bs):
		return otherServers
	}
	return sameEnsemble
}

func splitConnect(text string) (servers []string, chroot string) {
	hosts, path, _ := strings.Cut(strings.TrimSpace(text), "/")
	for _, h := range items(hosts) {
		if at := strings.LastIndexByte(h, ':'); at < 0 || strings.HasSuffix(h, "]") {
			h += ":2181"
		}
		servers = append(servers, strings.ToLower(h))
	}
	slices.Sort(servers)
	return slices.Compact(servers), strings.TrimSuffix(path, "/")
}

// otherTrees: the broker would register elsewhere at its next start, and the
// controllers copy the tree of migrations.yaml.
func otherTrees(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		got := f.value("zookeeper.connect")
		switch {
		case got == "":
			l.found(f.at("zookeeper.connect"), "zookeeper.connect is not set", "Set it as on the other brokers.")
		case strings.Contains(got, "${"): // MIG316
		case compareConnect(got, l.s.Migration.ZooKeeper.Connect) == otherTree:
			l.found(f.at("zookeeper.connect"), fmt.Sprintf("%s, and migrations.yaml has %s", got, l.s.Migration.ZooKeeper.Connect),
				"Make the chroot the same everywhere, chroot once after the last host. Look first in which tree the broker is registered now.")
		}
	}
}

// otherServerNames is often harmless: names of the same hosts, or fewer of them.
func otherServerNames(l *look) {
	for _, f := range l.zooKeeperBrokers() {
		got := f.value("zookeeper.connect")
		if got != "" && !strings.Contains(got, "${") && compareConnect(got, l.s.Migration.ZooKeeper.Connect) == otherServers {
			l.found(f.at("zookeeper.connect"), fmt.Sprintf("%s, and migrations.yaml has %s", got, l.s.Migration.ZooKeeper.Connect),
				"Make sure that all of them are members of one ensemble, then name all members everywhere.")
		}
	}
}

// zooKeeperBrokers are the files of brokers that are not yet in KRaft mode.
func (l *look) zooKeeperBrokers() []propertiesFile {
	return slices.DeleteFunc(l.brokerFiles(), func(f propertiesFile) bool { return f.value("process.roles") != "" })
}
