package findings

import (
	"fmt"

	"migrator/internal/cluster"
)

// sharedIDs: brokers and controllers have one range of ids.
func sharedIDs(l *look) {
	controllers := l.s.Migration.Inventory().Controllers
	live, ok := l.liveIDs()
	if !ok {
		return
	}
	assigned := map[int32]string{}
	for _, t := range l.topics() {
		for _, p := range t.partitions {
			for _, id := range p.replicas {
				if _, noted := assigned[id]; !noted {
					assigned[id] = fmt.Sprintf("%s-%d", t.name, p.number)
				}
			}
		}
	}
	configured := map[string]bool{}
	for _, e := range l.entities("brokers") {
		configured[e.name] = true
	}
	for _, c := range controllers {
		l.sharedID(c, live, assigned, configured)
	}
}

func (l *look) sharedID(c cluster.Node, live map[int32]bool, assigned map[int32]string, configured map[string]bool) {
	const fix = "Give the controller an id that no broker has or had, such as 3001, in migrations.yaml."
	if live[c.ID] {
		l.found(c.Name(), fmt.Sprintf("broker %d is registered under its id", c.ID), fix)
	}
	if where, ok := assigned[c.ID]; ok && !live[c.ID] {
		l.found(c.Name(), "its id is a replica of "+where, fix)
	}
	if configured[fmt.Sprint(c.ID)] {
		l.found(c.Name(), fmt.Sprintf("/config/brokers/%d has settings of a broker", c.ID), fix)
	}
}

// pileLimit is how many notices make a child list slow to read; Kafka deletes
// its own after 15 minutes.
const pileLimit = 5000

// piledUp are notices that nobody deletes.
func piledUp(l *look) {
	t, ok := l.tree()
	if !ok {
		return
	}
	for _, path := range []string{"/config/changes", "/kafka-acl-changes", "/kafka-acl-extended-changes", "/isr_change_notification", "/log_dir_event_notification", "/delegation_token/token_changes"} {
		if n := len(t.Children(path)); n > pileLimit {
			l.found(path, fmt.Sprintf("%d notices", n), "Every broker reads the list. Delete the oldest with zookeeper-shell.sh, and give controllers the same -Djute.maxbuffer as brokers.")
		}
	}
}
