package findings

import (
	"encoding/json"
	"fmt"
	"time"
)

const deleteMigration = "Make sure that no controller of an earlier attempt runs, then delete it: zookeeper-shell.sh CONNECT delete /migration"

// migrationNull: zookeeper-security-migration.sh creates every path of its list,
// /migration among them, with null data.
func migrationNull(l *look) {
	z, present, ok := l.znode("/migration")
	if !ok || !present || len(z.Data) > 0 {
		return
	}
	what := "null"
	if z.Data != nil {
		what = "empty"
	}
	l.found("/migration", fmt.Sprintf("%s, created %s, changed %s", what, at(z.CreatedMs), at(z.ModifiedMs)),
		deleteMigration+" (zookeeper-security-migration.sh without --enable.path.check makes it; Kafka 3.9.2 passes over it)")
}

// migrationLeftOver: any state that says a copy was done, or that cannot be read.
func migrationLeftOver(l *look) {
	z, present, ok := l.znode("/migration")
	if !ok || !present || len(z.Data) == 0 {
		return
	}
	var state struct {
		Version *int   `json:"version"`
		Offset  *int64 `json:"kraft_metadata_offset"`
	}
	switch err := json.Unmarshal(z.Data, &state); {
	case err != nil || state.Version == nil || state.Offset == nil:
		l.found("/migration", fmt.Sprintf("%d bytes that are no migration state", len(z.Data)), deleteMigration)
	case *state.Version != 0:
		l.found("/migration", fmt.Sprintf("version %d, which Kafka 3.9 cannot read", *state.Version), deleteMigration)
	case *state.Offset > 0:
		l.found("/migration", fmt.Sprintf("it says that a copy was done up to offset %d, changed %s", *state.Offset, at(z.ModifiedMs)), deleteMigration)
	}
}

// at is a znode's time in words.
func at(ms int64) string {
	if ms == 0 {
		return "at an unknown time"
	}
	return time.UnixMilli(ms).UTC().Format("2006-01-02 15:04:05 UTC")
}
