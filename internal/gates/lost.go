package gates

import (
	"fmt"
	"slices"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// Gone says that a broker is down as far as anybody can see, so that a person
// may accept it as lost: no registry holds it for alive, and its process is
// known not to run or its machine gives no answer. why is what was seen, or why
// it cannot be said.
func Gone(s facts.Snapshot, n cluster.Node) (gone bool, why string) {
	if alive, why := registeredAlive(s, n); alive || why != "" {
		return false, why
	}
	running := s.Running[n.ID]
	up, known := running.Get()
	switch {
	case known && up:
		return false, fmt.Sprintf("%s is registered nowhere as alive, but its process runs: stop it first", nodeName(n))
	case known:
		return true, fmt.Sprintf("%s does not run and is registered nowhere as alive", nodeName(n))
	default:
		return true, fmt.Sprintf("%s is registered nowhere as alive, and whether it runs cannot be seen: %s", nodeName(n), cut(running.Cause()))
	}
}

// registeredAlive asks the registries and not the brokers: those in ZooKeeper
// mode go on naming a dead one in their Metadata answers while a KRaft
// controller leads (seen for minutes on 3.9.2). Where no metadata log is known
// the brokers' word is asked for as well.
func registeredAlive(s facts.Snapshot, n cluster.Node) (alive bool, why string) {
	regs, ok := s.Registered.Get()
	switch {
	case !ok:
		return false, "whether " + nodeName(n) + " is in /brokers/ids is not known: " + cut(s.Registered.Cause())
	case slices.ContainsFunc(regs, func(r facts.Registration) bool { return r.ID == n.ID }):
		return true, nodeName(n) + " is in /brokers/ids: its session lives"
	}
	if lg, ok := s.Log.Get(); ok {
		if reg, there := lg.Image.Brokers[n.ID]; there && !reg.Fenced {
			return true, nodeName(n) + " is registered in the metadata log and not fenced"
		}
		return false, ""
	}
	md, ok := s.Metadata.Get()
	switch {
	case !ok:
		return false, "whether the cluster counts " + nodeName(n) + " as live is not known: " + cut(s.Metadata.Cause())
	case slices.ContainsFunc(md.Brokers, func(b facts.MetadataBroker) bool { return b.ID == n.ID }):
		return true, nodeName(n) + " is a live broker of the cluster"
	}
	return false, ""
}

// Named are the brokers that subjects of a verdict name.
func Named(subjects []string, brokers []cluster.Node) []int32 {
	var ids []int32
	for _, n := range brokers {
		if slices.Contains(subjects, nodeName(n)) {
			ids = append(ids, n.ID)
		}
	}
	return ids
}

// OnBroker lists the partitions with a replica on a broker, sorted.
func OnBroker(md facts.Metadata, id int32) []string {
	var out []string
	for _, p := range md.Partitions {
		if slices.Contains(p.Replicas, id) {
			out = append(out, partitionName(p.Topic, p.Partition))
		}
	}
	slices.Sort(out)
	return out
}

// stillAssigned fails for a lost broker that partitions still name. Kafka copies
// nothing until every broker that an assignment names has registered.
func (l *look) stillAssigned() {
	if len(l.v.Settings.Inventory.Lost) == 0 {
		return
	}
	md, ok := use(l, "assignments", l.v.Snapshot.Metadata)
	if !ok {
		return
	}
	for _, n := range l.v.Settings.Inventory.Lost {
		if on := OnBroker(md, n.ID); len(on) > 0 {
			l.bad("", "%s is lost and %s still on it (%s): the copy would wait for it for ever; reassign them to live brokers first", nodeName(n), plural(len(on), "partition is", "partitions are"), listed(on, ", "))
		}
	}
}

func judgeLostUnregistered(l *look) {
	l.todo = "Finalizing with a broker registered as ZooKeeper broker cuts it off for good, and Kafka itself does not check (KAFKA-20960). Unregister it (bin/kafka-cluster.sh unregister --id N), or bring it back and roll it to KRaft."
	lg, ok := use(l, "metadata log", l.v.Snapshot.Log)
	if !ok {
		return
	}
	for _, n := range l.v.Settings.Inventory.Lost {
		if reg, there := lg.Image.Brokers[n.ID]; there && reg.MigratingZK {
			l.bad("", "lost %s is still registered as ZooKeeper broker", nodeName(n))
		}
	}
	l.pass("no lost broker is registered as ZooKeeper broker; %s accepted as lost", plural(len(l.v.Settings.Inventory.Lost), "is", "are"))
}
