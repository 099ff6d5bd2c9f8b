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
	if why := aliveBy(s, n); why != "" {
		return false, why
	}
	running := s.Running[n.ID]
	up, known := running.Get()
	switch {
	case known && up:
		return false, fmt.Sprintf("%s is registered nowhere as alive, but its process runs: stop it first", n.Name())
	case known:
		return true, fmt.Sprintf("%s does not run and is registered nowhere as alive", n.Name())
	default:
		return true, fmt.Sprintf("%s is registered nowhere as alive, and whether it runs cannot be seen: %s", n.Name(), cut(running.Cause()))
	}
}

// aliveBy says what holds a broker for alive, or what cannot be told; empty when
// nothing does. It asks the registries and not the brokers: those in ZooKeeper
// mode go on naming a dead one in their Metadata answers while a KRaft
// controller leads (seen for minutes on 3.9.2). Where no metadata log is known
// the brokers' word is asked for as well.
func aliveBy(s facts.Snapshot, n cluster.Node) (why string) {
	regs, ok := s.Registered.Get()
	switch {
	case !ok:
		return "whether " + n.Name() + " is in /brokers/ids is not known: " + cut(s.Registered.Cause())
	case slices.ContainsFunc(regs, func(r facts.Registration) bool { return r.ID == n.ID }):
		return n.Name() + " is in /brokers/ids: its session lives"
	}
	if lg, ok := s.Log.Get(); ok {
		if reg, there := lg.Image.Brokers[n.ID]; there && !reg.Fenced {
			return n.Name() + " is registered in the metadata log and not fenced"
		}
		return ""
	}
	md, ok := s.Metadata.Get()
	switch {
	case !ok:
		return "whether the cluster counts " + n.Name() + " as live is not known: " + cut(s.Metadata.Cause())
	case slices.ContainsFunc(md.Brokers, func(b facts.MetadataBroker) bool { return b.ID == n.ID }):
		return n.Name() + " is a live broker of the cluster"
	}
	return ""
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
			l.bad("", "%s is lost and %s still on it (%s): the copy would wait for it for ever; reassign them to live brokers first", n.Name(), plural(len(on), "partition is", "partitions are"), listed(on, ", "))
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
			l.bad("", "lost %s is still registered as ZooKeeper broker", n.Name())
		}
	}
	l.pass("no lost broker is registered as ZooKeeper broker; %s accepted as lost", plural(len(l.v.Settings.Inventory.Lost), "is", "are"))
}
