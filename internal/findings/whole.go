package findings

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

const rightTree = "Is this the right ensemble and chroot? zookeeper.connect in migrations.yaml must be the brokers' own, chroot included."

// clusterIDOf reads /cluster/id; "" with a fault when it is of no use.
func (l *look) clusterIDOf() (id, fault string, ok bool) {
	z, present, ok := l.znode("/cluster/id")
	if !ok || !present {
		return "", "", false
	}
	fields, fault := object(z.Data)
	if fault != "" {
		return "", fault, true
	}
	if json.Unmarshal(fields["id"], &id) != nil || id == "" {
		return "", `it has no "id"`, true
	}
	if raw, err := base64.RawURLEncoding.DecodeString(id); err != nil || len(raw) != 16 {
		return "", "id " + id + " is no cluster id", true
	}
	return id, "", true
}

func clusterIDBroken(l *look) {
	if t, ok := l.s.Tree.Get(); ok {
		if _, there := t.Get("/cluster/id"); !there {
			seen := "there is none: no Kafka cluster has its znodes here"
			if cause := l.s.Snapshot.ClusterID.Cause(); cause != "" {
				seen = cause // it names where a cluster was found instead
			}
			l.found("/cluster/id", seen, rightTree)
			return
		}
	}
	if _, fault, ok := l.clusterIDOf(); ok && fault != "" {
		l.found("/cluster/id", fault, rightTree)
	}
}

// otherCluster: the addresses of kafka.bootstrap lead to another cluster than zookeeper.connect.
func otherCluster(l *look) {
	id, fault, ok := l.clusterIDOf()
	if !ok || fault != "" {
		return
	}
	md, ok := need(l, "Metadata through the brokers", l.s.Snapshot.Metadata, "Make the brokers of kafka.bootstrap in migrations.yaml answer.")
	if ok && md.ClusterID != id {
		l.found("the brokers of kafka.bootstrap", fmt.Sprintf("they are of cluster %s, /cluster/id says %s", md.ClusterID, id), "Correct kafka.bootstrap or zookeeper.connect in migrations.yaml: "+rightTree)
	}
}

// holder is /controller as JSON.
type holder struct {
	Broker *int32 `json:"brokerid"`
	Epoch  *int32 `json:"kraftControllerEpoch"`
}

func (l *look) holder() (h holder, z Znode, fault string, ok bool) {
	z, present, ok := l.znode("/controller")
	if !ok {
		return h, z, "", false
	}
	if !present {
		return h, z, "absent: no broker is the controller", true
	}
	if _, fault = object(z.Data); fault != "" {
		return h, z, fault, true
	}
	if json.Unmarshal(z.Data, &h) != nil || h.Broker == nil {
		return h, z, `it has no "brokerid"`, true
	}
	return h, z, "", true
}

// noController: nobody acts, and nothing could hand the role over.
func noController(l *look) {
	const fix = "Some broker must be the controller before anything is begun: look at controller.log of every broker. If the znode is left over, delete it and wait until a broker takes it: zookeeper-shell.sh CONNECT delete /controller"
	h, z, fault, ok := l.holder()
	if !ok {
		return
	}
	if fault != "" {
		l.found("/controller", fault, fix)
		return
	}
	live, ok := l.liveIDs()
	switch {
	case !ok || h.Epoch != nil && *h.Epoch >= 0: // a KRaft controller has a code of its own
	case z.EphemeralOwner == 0:
		l.found("/controller", fmt.Sprintf("it names broker %d, and no session holds it", *h.Broker), fix)
	case !live[*h.Broker]:
		l.found("/controller", fmt.Sprintf("it names broker %d, which is not alive", *h.Broker), fix)
	}
}

// kraftHolder: a new quorum may not take the role from a KRaft epoch at or above its own.
func kraftHolder(l *look) {
	h, _, fault, ok := l.holder()
	if ok && fault == "" && h.Epoch != nil && *h.Epoch >= 0 {
		l.found("/controller", fmt.Sprintf("KRaft controller %d at epoch %d", *h.Broker, *h.Epoch),
			"A migration was begun here before. Make sure that no controller of it runs, and end its way back: zookeeper-shell.sh CONNECT delete /controller, then a broker takes it.")
	}
}

// noEpoch: without /controller_epoch a KRaft controller cannot claim the role.
func noEpoch(l *look) {
	const path = "/controller_epoch"
	const fix = "Every broker that becomes controller writes it. Find out who changed it; a restart of the broker that holds /controller makes it anew."
	z, present, ok := l.znode(path)
	switch {
	case !ok:
	case !present:
		l.found(path, "absent", fix)
	default:
		if n, err := strconv.ParseInt(string(z.Data), 10, 32); err != nil || n < 0 {
			l.found(path, fmt.Sprintf("%d bytes that are no epoch", len(z.Data)), fix)
		}
	}
}

// brokenProducerIDs: a block that cannot be read stops the copy; null means that none was given yet.
func brokenProducerIDs(l *look) {
	const path = "/latest_producer_id_block"
	z, present, ok := l.znode(path)
	if !ok || !present || z.Data == nil {
		return
	}
	fields, fault := object(z.Data)
	if fault == "" {
		var broker *int32
		var first, last *string
		if optionalField(fields, "broker", &broker) && optionalField(fields, "block_start", &first) && optionalField(fields, "block_end", &last) &&
			broker != nil && wholeNumber(first) && wholeNumber(last) {
			return
		}
		fault = "broker, block_start or block_end is missing or no number"
	}
	l.found(path, fault, "Producer ids may not be given twice. Restore the znode from a backup, or write a block above every id in use: ask for help.")
}

func wholeNumber(text *string) bool {
	if text == nil {
		return false
	}
	_, err := strconv.ParseInt(strings.TrimSpace(*text), 10, 64)
	return err == nil
}

// brokenFeatures: /feature is not copied; one that cannot be read keeps brokers from starting.
func brokenFeatures(l *look) {
	z, present, ok := l.znode("/feature")
	if !ok || !present {
		return
	}
	fields, fault := object(z.Data)
	var features map[string]json.RawMessage
	switch {
	case fault != "":
		l.found("/feature", fault, "Every broker writes it when it becomes controller. Restore it before any broker restarts.")
	case !optionalField(fields, "features", &features):
		l.found("/feature", `its "features" cannot be read`, "Every broker writes it when it becomes controller. Restore it before any broker restarts.")
	case len(features) > 0:
		l.found("/feature", "finalized features: "+some(sortedKeys(features)), "They are not copied. Finalize them again after the migration with kafka-features.sh, if they are still wanted.")
	}
}
