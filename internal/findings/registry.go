package findings

import (
	"cmp"
	"slices"

	"migrator/internal/gates"
)

// row is a line of the registry with its check.
type row struct {
	Row
	check func(*look)
}

// All is the registry, by code.
func All() []Row {
	rows := table()
	out := make([]Row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.Row)
	}
	return out
}

// table is every finding. MIG2xx are seen in ZooKeeper and over Kafka's
// protocol, MIG3xx in files and on machines, MIG4xx in connections and tools.
// MIG001 to MIG199 are gates.
func table() []row {
	rows := slices.Concat(inZooKeeper(), onNodes(), aroundThem())
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Code, b.Code) })
	return rows
}

func inZooKeeper() []row {
	return []row{
		{Row{Code: "MIG201", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration exists without content.",
			Why:       "The controllers try to read it for ever and the copy never begins.",
			Reference: "KAFKA-19480, all of 3.4 to 3.9.1"}, migrationNull},
		{Row{Code: "MIG202", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration is left over from an earlier migration.",
			Why:       "Fresh controllers take the copy for done and push their empty metadata over ZooKeeper: every topic is deleted.",
			Reference: "KAFKA-17146"}, migrationLeftOver},
	}
}

func onNodes() []row { return nil }

func aroundThem() []row { return nil }
