package gates

import (
	"maps"
	"slices"
	"strconv"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// Memory is what judging keeps between snapshots. The zero Memory is that of a
// service just started: nothing was seen moving, no poll was good.
type Memory struct {
	sets    map[string]SetState
	since   map[string]sinceResult
	znode   znodeMemory
	parity  parityMemory
	markers []marker
	// short is since when each partition has been seen with an ISR that is not full.
	short map[string]time.Time
	guard guardMemory
}

type sinceResult struct {
	result Result
	at     time.Time
}

// znodeMemory follows /migration.
type znodeMemory struct {
	seen    bool
	version int32
	offset  *int64
	since   time.Time // begun of the first reading with this version
	last    time.Time // begun of the newest reading
	changed bool      // since began with a change that we saw
	had     time.Time // when that first reading had ended, at the latest
	// highWatermark of the metadata log as since began.
	highWatermark *int64
}

// marker is one accepted metadata write of the canary.
type marker struct {
	key, value string
	at         time.Time
}

const (
	maxMarkers    = 150 // over two minutes at one a second
	markerSpacing = time.Second
)

// observe folds what the view shows into the memory. Doing so twice with the
// same view changes nothing more.
func (m Memory) observe(v *View, shared *round) Memory {
	m.znode = m.znode.observe(v)
	m.parity = m.parity.observe(v)
	m.markers = observeMarkers(m.markers, v)
	m.short = observeShort(m.short, v, shared)
	m.guard = m.guard.observe(v)
	return m
}

func (z znodeMemory) observe(v *View) znodeMemory {
	f := fresh(v, v.Snapshot.Migration)
	m, ok := f.Get()
	if !ok || (z.seen && !f.Begun().After(z.last)) {
		return z
	}
	if !m.Present || m.Null {
		return znodeMemory{}
	}
	next := znodeMemory{seen: true, version: m.Version, offset: m.Offset, since: f.Begun(), last: f.Begun(), had: v.Now}
	switch {
	case !z.seen || m.Version < z.version: // a lower version is another znode
	case m.Version == z.version && equalPointers(m.Offset, z.offset):
		next.since, next.had, next.changed, next.highWatermark = z.since, z.had, z.changed, z.highWatermark
	default:
		next.changed = true
	}
	if leader, ok := freshLeader(v).Get(); ok && next.highWatermark == nil {
		next.highWatermark = &leader.HighWatermark
	}
	return next
}

func equalPointers[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func observeMarkers(old []marker, v *View) []marker {
	c, ok := fresh(v, v.Snapshot.CanaryStats).Get()
	if !ok || c.MarkerKey == "" || c.MarkerAt.IsZero() {
		return old
	}
	if n := len(old); n > 0 && c.MarkerAt.Sub(old[n-1].at) < markerSpacing {
		return old
	}
	next := append(slices.Clone(old), marker{key: c.MarkerKey, value: c.MarkerValue, at: c.MarkerAt})
	return next[max(0, len(next)-maxMarkers):]
}

// reached says that a store with this value has seen the write or a later one:
// the canary's values are numbers that only rise.
func (m marker) reached(value string) bool {
	if value == m.value {
		return true
	}
	have, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		return false
	}
	want, err := strconv.ParseInt(m.value, 10, 64)
	return err == nil && have >= want
}

// observeShort remembers since when partitions are short; one that is full
// again is forgotten. Where the partitions are unknown nothing is forgotten.
func observeShort(old map[string]time.Time, v *View, shared *round) map[string]time.Time {
	l := &look{v: v, round: shared}
	partitions, ok := l.partitions()
	if !ok {
		return old
	}
	next := map[string]time.Time{}
	for _, p := range partitions {
		if isrHolds(v, p) {
			continue
		}
		name := partitionName(p.Topic, p.Partition)
		next[name] = l.oldest
		if since, was := old[name]; was {
			next[name] = since
		}
	}
	return next
}

// isrHolds says that a partition's ISR is full, or no worse than before the plan.
func isrHolds(v *View, p facts.Partition) bool {
	if len(p.Replicas) > 0 && len(p.ISR) >= len(p.Replicas)-lostReplicas(v, p) {
		return true
	}
	before, ok := v.Short[partitionName(p.Topic, p.Partition)]
	return ok && len(p.ISR) >= before
}

// lostReplicas counts the replicas on brokers that a person accepted as lost,
// as far as they are out of the ISR: nothing brings them back.
func lostReplicas(v *View, p facts.Partition) int {
	count := 0
	for _, n := range v.Settings.Inventory.Lost {
		if slices.Contains(p.Replicas, n.ID) && !slices.Contains(p.ISR, n.ID) {
			count++
		}
	}
	return count
}

// rememberResults notes since when each gate reads as it does.
func (m *Memory) rememberResults(verdicts []Verdict, now time.Time) {
	next := make(map[string]sinceResult, len(verdicts))
	for _, v := range verdicts {
		next[v.Gate] = sinceResult{result: v.Result, at: now}
		if old, ok := m.since[v.Gate]; ok && old.result == v.Result {
			next[v.Gate] = old
		}
	}
	m.since = next
}

// migrationState is ZkMigrationState as far as a fresh log tells it.
func migrationState(v *View) (cluster.MigrationState, bool) {
	lg, ok := fresh(v, v.Snapshot.Log).Get()
	if !ok || !lg.Image.HasState {
		return "", false
	}
	return lg.Image.State, true
}

func cloneSets(sets map[string]SetState) map[string]SetState {
	if sets == nil {
		return map[string]SetState{}
	}
	return maps.Clone(sets)
}
