package zkread

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
)

// Kinds of entity below /config.
const (
	TopicConfigs  = "topics"
	BrokerConfigs = "brokers"
	UserConfigs   = "users"
	ClientConfigs = "clients"
	IPConfigs     = "ips"
)

// DefaultEntity is the name of a kind's default entity.
const DefaultEntity = "<default>"

// TopicConfig reads a topic's overrides; present is false without a znode.
func (r *Reader) TopicConfig(ctx context.Context, topic string) (config map[string]string, present bool, err error) {
	return r.Config(ctx, TopicConfigs, topic)
}

// Config reads /config/<kind>/<name>, with the name as ZooKeeper spells it
// ("CN%3Dapp", "alice/clients/c1"). Values can be secrets (SCRAM, encoded
// passwords): show them redacted. Errors never quote them.
func (r *Reader) Config(ctx context.Context, kind, name string) (config map[string]string, present bool, err error) {
	path := "/config/" + kind + "/" + name
	n, err := r.fresh(ctx, path)
	if err != nil || !n.present {
		return nil, false, err
	}
	config, fault := decodeConfig(path, n.data)
	if fault != nil {
		return nil, true, fault
	}
	return config, true, nil
}

// Configs reads all entities of a kind, users' clients included, by the name
// that Config takes. What cannot be used is in a *PartialError.
func (r *Reader) Configs(ctx context.Context, kind string) (map[string]map[string]string, error) {
	root := "/config/" + kind
	names, _, err := r.children(ctx, root)
	if err != nil {
		return nil, err
	}
	paths := below(root, names)
	if kind == UserConfigs {
		parents := make([]string, 0, len(names))
		for _, path := range paths {
			parents = append(parents, path+"/clients")
		}
		clients, err := r.childrenOf(ctx, parents)
		if err != nil {
			return nil, err
		}
		for _, parent := range parents {
			paths = append(paths, below(parent, clients[parent])...)
		}
	}
	out := make(map[string]map[string]string, len(paths))
	err = r.scan(ctx, paths, func(path string, n node) *NodeError {
		c, fault := decodeConfig(path, n.data)
		if fault == nil {
			out[path[len(root)+1:]] = c
		}
		return fault
	})
	return out, err
}

// decodeConfig takes what Kafka takes: no data and no "config" mean no
// overrides. Its faults never show content, which may be a secret.
func decodeConfig(path string, data []byte) (map[string]string, *NodeError) {
	if len(data) == 0 {
		return map[string]string{}, nil
	}
	var v struct {
		Config map[string]*string `json:"config"`
	}
	if len(data) > maxJSON || json.Unmarshal(data, &v) != nil {
		return nil, &NodeError{Path: path, Reason: fmt.Sprintf("%d bytes that are no json of the form {\"version\":1,\"config\":{\"key\":\"value\"}}", len(data))}
	}
	out := make(map[string]string, len(v.Config))
	for key, value := range v.Config {
		if value == nil {
			return nil, &NodeError{Path: path, Reason: "key " + bounded(key) + " is null"}
		}
		out[key] = *value
	}
	return out, nil
}

// EntityName is the name that Kafka shows for a user, client or ip, whose znode
// is form-encoded (KAFKA-16222); ok is false for an encoding Kafka cannot read.
func EntityName(znode string) (name string, ok bool) {
	if znode == DefaultEntity {
		return znode, true
	}
	name, err := url.QueryUnescape(strings.TrimSpace(znode))
	return name, err == nil
}
