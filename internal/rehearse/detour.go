package rehearse

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/status"
)

// detour is the way back to plain ZooKeeper that a rehearsal takes once, from a
// chosen phase, before it migrates again.
type detour struct {
	from   cluster.Phase // load, hybrid or dual-write
	paths  map[int32]string
	before map[int32][]byte // brokers' files as the rehearsal found them

	paused  bool
	begun   bool
	ended   bool
	changed []string // files that are not what they were
}

// newDetour reads every broker's file; nil when no way back is wanted.
func newDetour(from cluster.Phase, ids []int32, path func(int32) string) (*detour, error) {
	if from == "" {
		return nil, nil
	}
	d := &detour{from: from, paths: map[int32]string{}, before: map[int32][]byte{}}
	for _, id := range ids {
		raw, err := os.ReadFile(path(id))
		if err != nil {
			return nil, fmt.Errorf("read the file of broker %d: %w", id, err)
		}
		d.paths[id], d.before[id] = path(id), raw
	}
	return d, nil
}

// see takes one status in; busy means that the follower has nothing to approve.
func (d *detour) see(ctx context.Context, f *follower, now status.Status) (busy, done bool, err error) {
	switch {
	case d == nil || d.ended:
		return false, false, nil
	case d.begun:
		busy, err := d.goingBack(f, now)
		return busy, false, err
	case d.wantsPause(now):
		d.paused = true
		return true, false, f.client.Pause(ctx, f.name, client.Command{Actor: actor})
	case d.there(now):
		d.begun, err = f.goBack(ctx, now)
		return true, false, err
	default:
		return d.paused, false, nil
	}
}

// wantsPause: hybrid is no place to rest, so the roll is paused after its first broker.
func (d *detour) wantsPause(now status.Status) bool {
	return d.from == cluster.Hybrid && !d.paused && len(now.BrokersIn(cluster.KRaft)) > 0
}

// there says that the cluster stands where the way back shall begin.
func (d *detour) there(now status.Status) bool {
	if now.Phase == nil || *now.Phase != d.from {
		return false
	}
	if d.from == cluster.Hybrid {
		return now.RunStatus == status.Paused
	}
	return now.RunStatus == status.NeedsApproval && (d.from != cluster.Load || now.PhaseComplete)
}

func (d *detour) goingBack(f *follower, now status.Status) (busy bool, err error) {
	if now.Phase == nil || *now.Phase != cluster.Initial || now.RunStatus == status.Reverting || now.RunStatus == status.Observing {
		return true, nil
	}
	for id, path := range d.paths {
		raw, err := os.ReadFile(path)
		if err != nil {
			return true, fmt.Errorf("read the file of broker %d: %w", id, err)
		}
		if !bytes.Equal(raw, d.before[id]) {
			d.changed = append(d.changed, path)
		}
	}
	d.ended = true
	fmt.Fprintln(f.out, f.timeline.say(time.Now(), now, "back in plain ZooKeeper mode; migrating again"))
	return false, nil
}

// promise is kept when the way back was taken and left every file as it was.
func (d *detour) promise() Promise {
	p := Promise{Text: fmt.Sprintf("the way back from %s ended in ZooKeeper mode with every broker's file byte for byte", d.from)}
	switch {
	case !d.ended:
		p.Seen = "the way back was not taken"
	case len(d.changed) > 0:
		p.Seen = "changed: " + strings.Join(d.changed, ", ")
	default:
		p.Kept, p.Seen = true, fmt.Sprintf("%d files", len(d.before))
	}
	return p
}
