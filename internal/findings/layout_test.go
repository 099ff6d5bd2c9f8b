package findings

import (
	"testing"

	"migrator/internal/facts"
)

// placed changes where nodes are: host by id.
func placed(s Survey, hosts map[int32]string) Survey {
	for i, n := range s.Migration.Nodes {
		if h, ok := hosts[n.ID]; ok {
			s.Migration.Nodes[i].Host = h
		}
	}
	return s
}

func everywhere(host string) map[int32]string {
	return map[int32]string{1: host, 2: host, 3: host, 3001: host, 3002: host, 3003: host}
}

func racks(s Survey, rack string, ids ...int32) Survey {
	for i, n := range s.Migration.Nodes {
		for _, id := range ids {
			if n.ID == id {
				s.Migration.Nodes[i].Rack = rack
			}
		}
	}
	return s
}

func TestListeners(t *testing.T) {
	judgeAll(t, []seen{
		{"plain", healthy(), "MIG341", Clear, ""},
		{"both keys", withFile(healthy(), 1, "inter.broker.listener.name=PLAINTEXT\nsecurity.inter.broker.protocol=PLAINTEXT\n"), "MIG341", Found, "both set"},
		{"a name that the map lacks", withFile(healthy(), 1, "listeners=INTERNAL://:9092\n"), "MIG341", Found, "INTERNAL"},
		{"advertised as 0.0.0.0", withFile(healthy(), 1, "advertised.listeners=PLAINTEXT://0.0.0.0:9092\n"), "MIG341", Found, "0.0.0.0"},
		{"one broker on TLS (FR-045)", withFile(healthy(), 2, "listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\n"), "MIG342", Found, "broker 2"},
		{"all on TLS", everyFile(healthy(), "listeners=SSL://:9092\nsecurity.inter.broker.protocol=SSL\n"), "MIG342", Clear, ""},
		{"a broker's CONTROLLER listener (FR-047)", withFile(healthy(), 1, "listeners=PLAINTEXT://:9092,controller://:29093\nlistener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT\n"), "MIG343", Found, "CONTROLLER"},
		{"9093 is the broker's TLS port (FR-026)", placed(withFile(healthy(), 1, "listeners=PLAINTEXT://:9092,SSL://:9093\n"), map[int32]string{3001: "b1"}), "MIG344", Found, "port 9093"},
		{"the same port on another host", withFile(healthy(), 1, "listeners=PLAINTEXT://:9092,SSL://:9093\n"), "MIG344", Clear, ""},
		{"localhost among several machines", withFile(healthy(), 1, "advertised.listeners=PLAINTEXT://localhost:9092\n"), "MIG345", Found, "localhost"},
		{"localhost on one machine", placed(withFile(healthy(), 1, "advertised.listeners=PLAINTEXT://127.0.0.1:9092\n"), everywhere("127.0.0.1")), "MIG345", Clear, ""},
		{"a control plane (FR-047)", withFile(healthy(), 1, "listeners=PLAINTEXT://:9092,SSL://:29093\ncontrol.plane.listener.name=SSL\n"), "MIG346", Found, "SSL"},
		{"no control plane", healthy(), "MIG346", Clear, ""},
	})
}

func TestHowControllersAndFoldersAreSpread(t *testing.T) {
	shared := placed(healthy(), map[int32]string{3001: "b1"})
	for i, n := range shared.Migration.Nodes {
		if n.ID == 3001 {
			shared.Migration.Nodes[i].LogDirs = []string{"/d1/a/metadata"}
		}
	}
	unread := placed(healthy(), map[int32]string{3001: "b1"})
	unread.Snapshot.Meta[1] = facts.Fact[[]facts.MetaProperties]{}
	judgeAll(t, []seen{
		{"spread", healthy(), "MIG371", Clear, ""},
		{"two of three on one host (FR-090)", placed(healthy(), map[int32]string{3001: "h", 3002: "h"}), "MIG371", Found, "3001, 3002 of 3"},
		{"everything on one machine", placed(healthy(), everywhere("h")), "MIG371", Clear, ""},
		{"two of three in one rack (FR-091)", racks(healthy(), "a", 3001, 3002), "MIG372", Found, "rack a"},
		{"a cluster of one rack", racks(healthy(), "a", 1, 2, 3, 3001, 3002, 3003), "MIG372", Clear, ""},
		{"no racks on controllers", racks(healthy(), "", 3001, 3002, 3003), "MIG372", Clear, ""},
		{"the rack of the registration", healthy(), "MIG373", Clear, ""},
		{"another rack than registered", racks(healthy(), "x", 2), "MIG373", Found, "broker 2"},
		{"a controller in a broker's folder", shared, "MIG354", Found, "/d1/a/metadata"},
		{"folders not known", unread, "MIG354", Skipped, ""},
		{"folders apart", healthy(), "MIG354", Clear, ""},
		{"log.dir beside log.dirs (FR-009)", withFile(healthy(), 1, "log.dir=/old\n"), "MIG351", Found, "/old"},
		{"a folder twice (FR-009)", withFile(healthy(), 1, "log.dirs=/d1/a, /d1/b , /d1/a/\n"), "MIG352", Found, "/d1/a"},
		{"blanks around folders (FR-009)", withFile(healthy(), 1, "log.dirs=/d1/a, /d1/b \n"), "MIG352", Clear, ""},
		{"several folders (FR-009)", healthy(), "MIG353", Found, "2 log folders"},
		{"controlled shutdown off", withFile(healthy(), 1, "controlled.shutdown.enable=false\n"), "MIG359", Found, "broker 1"},
		{"controlled shutdown on", healthy(), "MIG359", Clear, ""},
	})
}
