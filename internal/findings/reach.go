package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"migrator/internal/cluster"
)

// Connection is one that the migration will need.
type Connection struct {
	To  string // host:port
	For string // what for, in words
	// Quiet: nothing needs to listen there yet, so that a refusal proves that the
	// way is open.
	Quiet bool
}

// Reached is what became of a connection: Open, Refused, or why it failed.
type Reached string

const (
	Open    Reached = "open"
	Refused Reached = "refused"
)

// Failed is a connection that came to nothing, with the reason.
func Failed(why string) Reached { return Reached("failed: " + why) }

// Connections are those that each node will need: brokers to controllers, and
// controllers to one another, to ZooKeeper and to every broker's inter-broker
// listener (in hybrid mode controllers call the brokers).
func Connections(s Survey) map[int32][]Connection {
	out := map[int32][]Connection{}
	servers, _ := splitConnect(s.Migration.ZooKeeper.Connect)
	inv := s.Migration.Inventory()
	interBroker := interBrokerWays(s)
	for _, n := range inv.Nodes() {
		for _, c := range inv.Controllers {
			if c.ID == n.ID {
				continue
			}
			running, known := s.Snapshot.Running[c.ID].Get()
			out[n.ID] = append(out[n.ID], Connection{To: join(c.Host, fmt.Sprint(c.Port)), For: c.Name(), Quiet: !known || !running})
		}
		if n.Role != cluster.Controller {
			continue
		}
		for _, server := range servers {
			out[n.ID] = append(out[n.ID], Connection{To: server, For: "ZooKeeper"})
		}
		out[n.ID] = append(out[n.ID], interBroker...)
	}
	return out
}

func join(host, port string) string {
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return host + ":" + port
}

// interBrokerWays are the addresses that brokers are registered at for one another.
func interBrokerWays(s Survey) []Connection {
	var out []Connection
	l := look{s: &s}
	tree, _ := s.Tree.Get()
	for _, f := range l.brokerFiles() {
		name, _, ok := interBroker(f)
		z, present := tree.Get(fmt.Sprintf("/brokers/ids/%d", f.node.ID))
		var registration struct {
			Endpoints []string `json:"endpoints"`
		}
		if !ok || !present || json.Unmarshal(z.Data, &registration) != nil {
			continue
		}
		for _, e := range listenersOf(strings.Join(registration.Endpoints, ",")) {
			if strings.EqualFold(e.name, name) {
				out = append(out, Connection{To: join(e.host, e.port), For: "the inter-broker listener of " + f.node.Name()})
			}
		}
	}
	return out
}

func brokenWays(l *look) {
	for _, n := range l.s.Migration.Nodes {
		for _, r := range l.s.Machines[n.ID].Reach {
			result, ok := r.Result.Get()
			if !ok || result == Open || result == Refused && r.Quiet {
				continue
			}
			l.found(n.Name()+" to "+r.To, r.For+": "+string(result), "Open the way from this node: name resolution, routes, firewalls, and the address that the other side listens on.")
		}
	}
}

// untriedWays is a warning of its own: where nothing on the node can try a
// connection, the migration is not kept from beginning.
func untriedWays(l *look) {
	for _, n := range l.s.Migration.Nodes {
		reach := l.s.Machines[n.ID].Reach
		if len(reach) == 0 {
			l.unsure("no connection was tried from "+n.Name(), "Make the node reachable for migrator.")
			continue
		}
		if why := reach[0].Result; !slices.ContainsFunc(reach, func(r Reach) bool { return r.Result.Known() || r.Result.Cause() != why.Cause() }) {
			l.unsure("no connection could be tried from "+n.Name()+": "+why.Cause(), "Make the node reachable for migrator, and install nc or python3 there, or try the connections by hand.")
			continue
		}
		for _, r := range reach {
			if !r.Result.Known() {
				l.unsure(n.Name()+" to "+r.To+": "+r.Result.Cause(), "Install nc or python3 on the node, or try the connection by hand.")
			}
		}
	}
}

// foreignClients are sessions of nobody we know: brokers are told by the owner
// of their registration, the service by its host.
func foreignClients(l *look) {
	list, ok := need(l, "who is connected to ZooKeeper", l.s.Clients, "Put cons into 4lw.commands.whitelist of every ZooKeeper server, or look with ss for connections to its port.")
	tree, okTree := l.tree()
	if !ok || !okTree {
		return
	}
	owners := map[int64]bool{}
	for _, id := range tree.Children("/brokers/ids") {
		z, _ := tree.Get("/brokers/ids/" + id)
		owners[z.EphemeralOwner] = true
	}
	service := driverOf(list, tree)
	for _, c := range list {
		if owners[c.Session] || service != "" && addressOf(c) == service || l.isRunningController(c) {
			continue
		}
		l.found("client "+c.Address, "a session at ZooKeeper server "+c.Member+" that is no broker's", "Find out what runs there (monitoring, rebalancing, scripts): after the migration it sees nothing, and what it writes to ZooKeeper meanwhile is overwritten. Then waive this.")
	}
}

// driverOf is the address of the service that holds our driver znode.
func driverOf(list []ZKClient, tree Tree) string {
	z, ok := tree.Get("/migrator/driver")
	for _, c := range list {
		if ok && c.Session == z.EphemeralOwner {
			return addressOf(c)
		}
	}
	return ""
}

// addressOf drops the port, which is after the last colon also of IPv6.
func addressOf(c ZKClient) string {
	return c.Address[:max(strings.LastIndexByte(c.Address, ':'), 0)]
}

func (l *look) isRunningController(c ZKClient) bool {
	for _, n := range l.s.Migration.Inventory().Controllers {
		running, _ := l.s.Snapshot.Running[n.ID].Get()
		if running && slices.Contains(c.Nodes, n.Name()) {
			return true
		}
	}
	return false
}

// foreignZnodes: tools of the ZooKeeper age keep their own trees and ephemerals.
func foreignZnodes(l *look) {
	tree, ok := l.tree()
	if !ok {
		return
	}
	for _, name := range []string{"kafka-manager", "burrow", "cmak", "CruiseControlBrokerList", "kafka-monitor", "schema_registry", "kafkarestproxy", "leadership_eligibility"} {
		if _, there := tree.Get("/" + name); there {
			l.found("/"+name, "kept by a tool that uses ZooKeeper", "Find out whether the tool still runs and what it is to use after the migration.")
		}
	}
	for _, group := range tree.Children("/consumers") {
		for _, id := range tree.Children("/consumers/" + group + "/ids") {
			l.found("/consumers/"+group+"/ids/"+id, "an old consumer that works through ZooKeeper", "Move the consumer to a client that works through brokers: it cannot be served after the migration.")
		}
	}
}
