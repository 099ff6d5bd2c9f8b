package zkread

import (
	"context"
	"slices"
)

// BrokerRegistration is one child of /brokers/ids: a broker in ZooKeeper mode,
// migrating or not. A KRaft broker has none.
type BrokerRegistration struct {
	ID        int32
	Host      string  // of the first PLAINTEXT endpoint; "" when it has none
	Rack      *string // nil when it has none
	Endpoints []string
	// ListenerMap is listener name to security protocol.
	ListenerMap map[string]string
	Czxid       int64 // the broker epoch: another one means another registration
	Session     int64 // owner of the ephemeral znode
}

// Brokers reads /brokers/ids in ascending order. A registration that went away
// meanwhile is left out; one that cannot be used is in a *PartialError.
func (r *Reader) Brokers(ctx context.Context) ([]BrokerRegistration, error) {
	const root = "/brokers/ids"
	names, _, err := r.children(ctx, root)
	if err != nil {
		return nil, err
	}
	paths := below(root, names)
	var out []BrokerRegistration
	err = r.scan(ctx, paths, func(path string, n node) *NodeError {
		b, fault := decodeBroker(path, n)
		if fault == nil {
			out = append(out, b)
		}
		return fault
	})
	slices.SortFunc(out, func(a, b BrokerRegistration) int { return int(a.ID) - int(b.ID) })
	return out, err
}

func decodeBroker(path string, n node) (BrokerRegistration, *NodeError) {
	id, ok := number(path[len("/brokers/ids/"):])
	if !ok {
		return BrokerRegistration{}, &NodeError{Path: bounded(path), Reason: "its name is no broker id"}
	}
	var v struct {
		Host        *string           `json:"host"`
		Rack        *string           `json:"rack"`
		Endpoints   []string          `json:"endpoints"`
		ListenerMap map[string]string `json:"listener_security_protocol_map"`
	}
	if fault := decode(path, n.data, &v); fault != nil {
		return BrokerRegistration{}, fault
	}
	if v.Host == nil && len(v.Endpoints) == 0 {
		return BrokerRegistration{}, missing(path, "endpoints")
	}
	b := BrokerRegistration{ID: id, Rack: v.Rack, Endpoints: v.Endpoints, ListenerMap: v.ListenerMap,
		Czxid: n.stat.Czxid, Session: n.stat.EphemeralOwner}
	if v.Host != nil {
		b.Host = *v.Host
	}
	return b, nil
}

func below(root string, names []string) []string {
	paths := make([]string, 0, len(names))
	for _, name := range names {
		paths = append(paths, root+"/"+name)
	}
	return paths
}
