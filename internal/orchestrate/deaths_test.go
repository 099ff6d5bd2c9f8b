package orchestrate_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/simcluster"
)

// deaths are the worlds that a service would leave behind if it died at each
// entry of one life: the cluster and the journal, copied at that moment. Living
// on in a copy is what a killed service's successor does, without the life
// before it being lived again.
type deaths struct {
	c      *simcluster.Cluster
	s      *simcluster.Store
	on     bool
	seen   map[moment]bool
	worlds []world
}

// moment tells worlds apart: dying after an entry and before the next one is
// the same death when nothing has happened in between.
type moment struct {
	mark    simcluster.Mark
	entries int
}

// sampled is of how many worlds a short run takes one.
const sampled = 40

type world struct {
	name string
	at   time.Time
	c    *simcluster.Cluster
	s    *simcluster.Store
}

// swept is the cluster of the sweeps: as slow to read as one of many nodes, and
// with hooks, in which a service can die too.
func swept() *simcluster.Cluster {
	return simcluster.New(simcluster.Options{Seed: 1, Reading: 400 * time.Millisecond, Hooks: true})
}

func gather(c *simcluster.Cluster, s *simcluster.Store, on bool) *deaths {
	return &deaths{c: c, s: s, on: on, seen: map[moment]bool{}}
}

func (d *deaths) add(seq uint64, when death) {
	if d == nil || !d.on {
		return
	}
	c := d.c.Orphan()
	m := moment{c.Mark(), d.s.Len()}
	if d.seen[m] {
		return
	}
	d.seen[m] = true
	d.worlds = append(d.worlds, world{name: fmt.Sprintf("entry %d %s", seq, when), at: time.Now(), c: c, s: d.s.Copy()})
}

// each lives on in every world; in a short run in a sample of them.
func (d *deaths) each(t *testing.T, live func(t *testing.T, w world)) {
	for i, w := range d.worlds {
		if testing.Short() && i%sampled != 0 {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				time.Sleep(time.Until(w.at)) // it is as late as it was when the service died
				live(t, w)
			})
		})
	}
}
