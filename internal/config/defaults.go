package config

import (
	"time"

	"migrator/internal/cluster"
)

// defaults is a migration with everything that may be left out. Nodes, names
// and addresses have no default.
func defaults() Migration {
	return Migration{
		Quorum: Quorum{
			Mode:     "static",
			Listener: QuorumListener{Name: "CONTROLLER", Protocol: "PLAINTEXT", Port: 9093},
		},
		Gates: Gates{
			GoodPolls:    3,
			PollInterval: 2 * time.Second,
			StepTimeout:  10 * time.Minute,
			MaxFactAge:   15 * time.Second,
		},
		Soaks: []Soak{
			{Phase: cluster.Load, Duration: 0},
			{Phase: cluster.DualWrite, Duration: 72 * time.Hour},
		},
		Drill:   Drill{Phase: cluster.DualWrite, Kinds: []string{"clean", "crash"}, MaxUnavailable: 15 * time.Second},
		Roll:    Roll{Batch: "node", First: "node"},
		Canary:  Canary{Topic: "__migrator_canary", Interval: 100 * time.Millisecond},
		Approve: cluster.Phases(),
	}
}
