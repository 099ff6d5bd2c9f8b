package observe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/noderead"
	"migrator/internal/remote"
)

// threeAndThree is a cluster of brokers 1 to 3 and controllers 3001 to 3003.
func threeAndThree() config.Migration {
	m := config.Migration{
		Name:      "payments",
		ZooKeeper: config.ZooKeeper{Connect: "zk1:2181"},
		Kafka:     config.Kafka{Bootstrap: []string{"b1:9092"}},
		Canary:    config.Canary{Topic: "__canary"},
	}
	for id := int32(1); id <= 3; id++ {
		m.Nodes = append(m.Nodes, node(id, cluster.Broker))
	}
	for id := int32(3001); id <= 3003; id++ {
		m.Nodes = append(m.Nodes, node(id, cluster.Controller))
	}
	return m
}

func node(id int32, role cluster.Role) config.Node {
	return config.Node{
		Node:       cluster.Node{ID: id, Role: role, Host: "h", Port: 9093},
		Properties: "/etc/kafka.properties",
		Logs:       config.Logs{Files: []string{"/var/log/server.log"}},
		LogDirs:    []string{"/data"},
		Commands:   config.Commands{Running: []string{"is-running"}},
	}
}

// machine is a node on which everything is well.
type machine struct {
	result remote.Result
	files  map[string]string
}

func (m machine) Run(context.Context, []string) (remote.Result, error) { return m.result, nil }

func (m machine) ReadFile(_ context.Context, path string) ([]byte, error) {
	text, ok := m.files[path]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return []byte(text), nil
}

func (machine) WriteFile(context.Context, string, []byte, remote.WriteOptions) error {
	return errors.New("observing writes nothing")
}

func (machine) Tail(context.Context, string, remote.Cursor) (remote.Tailed, error) {
	return remote.Tailed{}, errors.New("logs are followed by their follower")
}

func (machine) Stat(context.Context, string) (remote.Info, error) { return remote.Info{}, nil }

// healthy answers every question at once.
func healthy() sources {
	return sources{
		preflight: func(context.Context, facts.Snapshot) (facts.Preflight, error) { return facts.Preflight{}, nil },
		zk: zookeeperSource{
			clusterID:  says("abc"),
			holder:     says(facts.Holder{Present: true, ID: 2, Ephemeral: true}),
			epoch:      says(facts.ZKEpoch{Present: true, Value: 7}),
			migration:  says(facts.MigrationZnode{}),
			registered: says([]facts.Registration{{ID: 1, Host: "h", Port: 9001, Czxid: 5}}),
			ensemble:   says([]facts.ZKMember{{Address: "zk1:2181"}}),
			deleting:   says([]string{}),
			topic:      func(context.Context, string) (map[string]string, error) { return map[string]string{"a": "b"}, nil },
			topics:     says(facts.ZKTopics{}),
		},
		brokers: brokersSource{
			metadata: says(facts.Metadata{ClusterID: "abc", Brokers: []facts.MetadataBroker{
				{ID: 1, Host: "h", Port: 9001}, {ID: 2, Host: "h", Port: 9002}, {ID: 3, Host: "h", Port: 9003},
			}}),
			minISR:      says(map[string]int{"orders": 2}),
			reassigning: says([]string{}),
			api: func(context.Context, int32, string) (facts.API, error) {
				return facts.API{UpdateMetadata: true}, nil
			},
		},
		controllers: controllersSource{
			quorum: func(_ context.Context, id int32) (facts.Quorum, error) {
				return facts.Quorum{IsLeader: id == 3002, Leader: 3002, HasLeader: id == 3002, Epoch: 4, HighWatermark: 90}, nil
			},
			api:    func(context.Context, int32) (facts.API, error) { return facts.API{DescribeQuorum: true}, nil },
			forget: func() {},
			log: func(_ context.Context, leader int32, q facts.Quorum) (facts.Log, error) {
				return facts.Log{Leader: leader, Epoch: q.Epoch, HighWatermark: q.HighWatermark}, nil
			},
		},
		nodes: nodesSource{
			open: func(config.Access) (remote.Node, error) {
				return machine{files: map[string]string{"/etc/kafka.properties": "node.id=1\n"}}, nil
			},
			mode: func([]byte, cluster.Role) (cluster.Mode, error) { return cluster.ZK, nil },
			dirs: func([]byte) ([]string, error) { return []string{"/data"}, nil },
			meta: func(_ context.Context, _ remote.Node, dirs []string) ([]facts.MetaProperties, error) {
				return []facts.MetaProperties{{Dir: dirs[0], Exists: true}}, nil
			},
			follow: func(remote.Node, config.Logs, []noderead.FileCursor) (follower, error) { return &script{}, nil },
		},
		close: func() error { return nil },
	}
}

func says[T any](v T) func(context.Context) (T, error) {
	return func(context.Context) (T, error) { return v, nil }
}

func fails[T any](text string) func(context.Context) (T, error) {
	return func(context.Context) (T, error) {
		var none T
		return none, errors.New(text)
	}
}

// hangs obeys no context; it ends with the test.
func hangs[T any](end <-chan struct{}) func(context.Context) (T, error) {
	return func(context.Context) (T, error) {
		<-end
		var none T
		return none, errors.New("came back too late")
	}
}

// slow answers after a while, and counts how often it was asked.
func slow[T any](v T, d time.Duration, asked *int) func(context.Context) (T, error) {
	return func(ctx context.Context) (T, error) {
		*asked++
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			return v, nil
		case <-ctx.Done():
			return v, ctx.Err()
		}
	}
}

// unknowns lists every unknown fact of a snapshot with its cause.
func unknowns(s facts.Snapshot) map[string]string {
	type fact interface {
		Known() bool
		Cause() string
	}
	out := make(map[string]string)
	note := func(name string, v reflect.Value) {
		if f, ok := v.Interface().(fact); ok && !f.Known() {
			out[name] = f.Cause()
		}
	}
	v := reflect.ValueOf(s)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		note(name, v.Field(i))
		if v.Field(i).Kind() == reflect.Map {
			for _, key := range v.Field(i).MapKeys() {
				note(fmt.Sprintf("%s[%v]", name, key), v.Field(i).MapIndex(key))
			}
		}
	}
	return out
}
