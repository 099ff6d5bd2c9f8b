package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"

	"migrator/internal/cluster"
	"migrator/internal/facts"
)

// round is what the reads of one round tell each other.
type round struct {
	metadata chan struct{}    // closed when this round's Metadata was read or failed
	leaders  chan leaderClaim // one claim for each controller that answered or failed
}

type leaderClaim struct {
	id     int32
	quorum facts.Quorum
	err    error
}

func newRound(controllers int) *round {
	return &round{metadata: make(chan struct{}), leaders: make(chan leaderClaim, controllers)}
}

// brokerReads ask the cluster as its clients see it.
func (o *Observer) brokerReads(r *round) []read {
	metadata := func(ctx context.Context) (facts.Metadata, error) {
		defer close(r.metadata)
		md, err := o.sources.brokers.metadata(ctx)
		if err != nil {
			return facts.Metadata{}, err
		}
		for _, b := range md.Brokers {
			o.book.live(b.ID, b.Host, b.Port)
		}
		return md, nil
	}
	return []read{
		question(o, "Metadata through brokers", func(s *facts.Snapshot, f facts.Fact[facts.Metadata]) { s.Metadata = f }, metadata),
		question(o, "ListPartitionReassignments through brokers", func(s *facts.Snapshot, f facts.Fact[[]string]) { s.Reassigning = f }, o.sources.brokers.reassigning),
	}
}

// apiReads ask each node for its ApiVersions: brokers in every round,
// controllers while the quorum is in use.
func (o *Observer) apiReads(r *round, want Want) []read {
	api := func(s *facts.Snapshot) *map[int32]facts.Fact[facts.API] { return &s.API }
	var reads []read
	inv := o.m.Inventory()
	for _, n := range inv.Brokers {
		name := fmt.Sprintf("ApiVersions of broker %d", n.ID)
		reads = append(reads, located(o, name, byID(api, n.ID), func(ctx context.Context) (facts.API, string, error) {
			address, err := o.brokerAddress(ctx, r, n)
			if err != nil {
				return facts.API{}, name, err
			}
			v, err := o.sources.brokers.api(ctx, n.ID, address)
			return v, name + " at " + address, err
		}))
	}
	if want.Named {
		reads = append(reads, o.namedReads(r)...)
	}
	reads = append(reads, o.settingReads(r, want)...)
	if !want.Quorum {
		return reads
	}
	for _, n := range inv.Controllers {
		source := fmt.Sprintf("ApiVersions of controller %d at %s", n.ID, hostPort(n.Host, n.Port))
		reads = append(reads, question(o, source, byID(api, n.ID), func(ctx context.Context) (facts.API, error) {
			return o.sources.controllers.api(ctx, n.ID)
		}))
	}
	return reads
}

// settingReads ask the wanted brokers what they run with.
func (o *Observer) settingReads(r *round, want Want) []read {
	settings := func(s *facts.Snapshot) *map[int32]facts.Fact[[]facts.Setting] { return &s.Settings }
	var reads []read
	for _, n := range o.m.Inventory().Brokers {
		if !slices.Contains(want.Settings, n.ID) {
			continue
		}
		name := fmt.Sprintf("DescribeConfigs of broker %d", n.ID)
		reads = append(reads, question(o, name, byID(settings, n.ID), func(ctx context.Context) ([]facts.Setting, error) {
			address, err := o.brokerAddress(ctx, r, n)
			if err != nil {
				return nil, err
			}
			return o.sources.brokers.settings(ctx, n.ID, address)
		}))
	}
	return reads
}

// namedReads ask each broker whom it takes for the controller.
func (o *Observer) namedReads(r *round) []read {
	named := func(s *facts.Snapshot) *map[int32]facts.Fact[[]int32] { return &s.Named }
	var reads []read
	for _, n := range o.m.Inventory().Brokers {
		name := fmt.Sprintf("controller as broker %d names it", n.ID)
		reads = append(reads, question(o, name, byID(named, n.ID), func(ctx context.Context) ([]int32, error) {
			address, err := o.brokerAddress(ctx, r, n)
			if err != nil {
				return nil, err
			}
			return o.sources.brokers.named(ctx, address)
		}))
	}
	return reads
}

// brokerAddress is where the broker was last seen. Only a broker that was never
// seen makes the read wait for this round's Metadata.
func (o *Observer) brokerAddress(ctx context.Context, r *round, n cluster.Node) (string, error) {
	if address, ok := o.book.address(n.ID); ok {
		return address, nil
	}
	select {
	case <-r.metadata:
	case <-ctx.Done():
	}
	if address, ok := o.book.address(n.ID); ok {
		return address, nil
	}
	return "", errors.New("its address is not known: neither Metadata nor /brokers/ids has named it yet")
}

// addressBook remembers where brokers listen, so that one that is down is
// still asked where it was.
type addressBook struct {
	mu      sync.Mutex
	byID    map[int32]string // from Metadata
	byZnode map[int32]string // from /brokers/ids; what Metadata says comes first
}

func (b *addressBook) live(id int32, host string, port int) { b.note(&b.byID, id, host, port) }

// registered notes a registration; one without a plaintext listener names no
// host and port -1.
func (b *addressBook) registered(id int32, host string, port int) { b.note(&b.byZnode, id, host, port) }

func (b *addressBook) note(m *map[int32]string, id int32, host string, port int) {
	if host == "" || port <= 0 || port > 65535 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if *m == nil {
		*m = make(map[int32]string)
	}
	(*m)[id] = hostPort(host, port)
}

func (b *addressBook) address(id int32) (string, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if a, ok := b.byID[id]; ok {
		return a, true
	}
	a, ok := b.byZnode[id]
	return a, ok
}

func hostPort(host string, port int) string {
	return net.JoinHostPort(host, strconv.Itoa(port))
}
