package zkread

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"migrator/internal/zkread/zkconnect"
)

// ClusterID reads /cluster/id. A tree without one is a *NoClusterIDError,
// which says whether the chroot is likely wrong.
func (r *Reader) ClusterID(ctx context.Context) (string, error) {
	const path = "/cluster/id"
	n, err := r.fresh(ctx, path)
	if err != nil {
		return "", err
	}
	if !n.present {
		return "", &NoClusterIDError{Path: r.full(path), Advice: r.elsewhere(ctx)}
	}
	var v struct {
		ID *string `json:"id"`
	}
	if fault := decode(path, n.data, &v); fault != nil {
		return "", fault
	}
	if v.ID == nil || *v.ID == "" {
		return "", missing(path, "id")
	}
	if len(*v.ID) > 100 || bounded(*v.ID) != *v.ID {
		return "", &NodeError{Path: path, Reason: "the id is no cluster id: " + bounded(*v.ID)}
	}
	return *v.ID, nil
}

// elsewhere looks for a cluster at the root and one level below it, for the
// advice only: what it cannot read it leaves out.
func (r *Reader) elsewhere(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	root, err := openAt(zkconnect.Address{Servers: r.addr.Servers}, r.timeout, r.login)
	if err != nil {
		return "check the connect string"
	}
	defer root.Close()
	tops, _, err := root.children(ctx, "/")
	if err != nil {
		return "check the connect string"
	}
	var at []string
	for _, top := range append([]string{""}, tops[:min(len(tops), 50)]...) {
		chroot := "/" + top
		path := strings.TrimSuffix(chroot, "/") + "/cluster/id"
		if n, err := root.fresh(ctx, path); err == nil && n.present && strings.TrimSuffix(chroot, "/") != r.addr.Chroot {
			at = append(at, bounded(chroot))
		}
	}
	switch {
	case len(at) > 0:
		return "a cluster is at " + strings.Join(at, ", ") + ": end zookeeper.connect in that chroot, as the brokers' zookeeper.connect does"
	case r.addr.Chroot != "":
		return "compare the chroot " + r.addr.Chroot + " with the brokers' zookeeper.connect"
	}
	return "no cluster found one level below either: copy zookeeper.connect from a broker's properties, chroot included"
}

// Controller is /controller: who claims to act.
type Controller struct {
	Present  bool
	BrokerID int32
	// KRaftEpoch is nil in the text of brokers that know no KRaft, -1 when a
	// ZooKeeper-mode broker holds the znode, else the quorum's epoch (KIP-866).
	KRaftEpoch *int32
	Ephemeral  bool // a broker's; a KRaft controller's is persistent
	Zxid       int64
	// ZnodeVersion is what a delete has to name.
	ZnodeVersion int32
	Raw          []byte // what to save before a delete
}

// HeldByKRaft says whether a KRaft controller holds the znode.
func (c Controller) HeldByKRaft() bool {
	return c.Present && c.KRaftEpoch != nil && *c.KRaftEpoch >= 0
}

// Controller reads /controller.
func (r *Reader) Controller(ctx context.Context) (Controller, error) {
	const path = "/controller"
	n, err := r.fresh(ctx, path)
	if err != nil || !n.present {
		return Controller{}, err
	}
	var v struct {
		BrokerID   *int32 `json:"brokerid"`
		KRaftEpoch *int32 `json:"kraftControllerEpoch"`
	}
	if fault := decode(path, n.data, &v); fault != nil {
		return Controller{}, fault
	}
	if v.BrokerID == nil {
		return Controller{}, missing(path, "brokerid")
	}
	return Controller{Present: true, BrokerID: *v.BrokerID, KRaftEpoch: v.KRaftEpoch, Ephemeral: n.stat.EphemeralOwner != 0,
		Zxid: n.stat.Czxid, ZnodeVersion: n.stat.Version, Raw: n.data}, nil
}

// Epoch is /controller_epoch.
type Epoch struct {
	Present      bool
	Value        int32
	ZnodeVersion int32
	Raw          []byte
}

// ControllerEpoch reads /controller_epoch, which rises at each claim of /controller.
func (r *Reader) ControllerEpoch(ctx context.Context) (Epoch, error) {
	const path = "/controller_epoch"
	n, err := r.fresh(ctx, path)
	if err != nil || !n.present {
		return Epoch{}, err
	}
	value, err := strconv.ParseInt(string(n.data[:min(len(n.data), 20)]), 10, 32)
	if err != nil || value < 0 {
		return Epoch{}, &NodeError{Path: path, Reason: "not a number; " + head(n.data)}
	}
	return Epoch{Present: true, Value: int32(value), ZnodeVersion: n.stat.Version, Raw: n.data}, nil
}

// Migration is /migration, which the KRaft controllers keep (KIP-866).
type Migration struct {
	Present bool
	// Null: the znode exists without data, which makes Kafka's driver retry for ever.
	Null            bool
	ControllerID    int32 // -1 before the copy
	ControllerEpoch int32 // -1 before the copy
	Offset          int64 // of the metadata log; -1 before the copy
	MetadataEpoch   int32
	ZnodeVersion    int32
	ModifiedMs      int64 // by ZooKeeper's clock, since 1970
	Raw             []byte
}

// Migration reads /migration.
func (r *Reader) Migration(ctx context.Context) (Migration, error) {
	const path = "/migration"
	n, err := r.fresh(ctx, path)
	if err != nil || !n.present {
		return Migration{}, err
	}
	m := Migration{Present: true, ZnodeVersion: n.stat.Version, ModifiedMs: n.stat.Mtime, Raw: n.data}
	if len(n.data) == 0 {
		m.Null = true
		return m, nil
	}
	var v struct {
		Version         *int   `json:"version"`
		ControllerID    *int32 `json:"kraft_controller_id"`
		ControllerEpoch *int32 `json:"kraft_controller_epoch"`
		Offset          *int64 `json:"kraft_metadata_offset"`
		MetadataEpoch   *int32 `json:"kraft_metadata_epoch"`
	}
	if fault := decode(path, n.data, &v); fault != nil {
		return Migration{}, fault
	}
	switch {
	case v.Version == nil:
		return Migration{}, missing(path, "version")
	case *v.Version != 0:
		return Migration{}, &NodeError{Path: path, Reason: fmt.Sprintf("version %d is unknown: Kafka 3.9 writes 0", *v.Version)}
	case v.ControllerID == nil || v.ControllerEpoch == nil || v.Offset == nil || v.MetadataEpoch == nil:
		return Migration{}, missing(path, "kraft_controller_id, kraft_controller_epoch, kraft_metadata_offset or kraft_metadata_epoch")
	}
	m.ControllerID, m.ControllerEpoch, m.Offset, m.MetadataEpoch = *v.ControllerID, *v.ControllerEpoch, *v.Offset, *v.MetadataEpoch
	return m, nil
}
