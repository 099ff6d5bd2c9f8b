package execute

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"migrator/internal/canary"
	"migrator/internal/znodebackup"
)

// topicLimit bounds one call that changes topics.
const topicLimit = 60 * time.Second

// createTopic makes the canary's topic: a partition for each broker, three
// replicas where there are so many, one of which may be away.
func (e *Executor) createTopic(ctx context.Context, t Task) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, topicLimit)
	defer cancel()
	brokers := len(e.m.Inventory().Brokers)
	replicas := min(3, brokers)
	minISR := max(1, replicas-1)
	if err := canary.CreateTopic(limited, e.cluster, t.Action.Topic, int32(min(brokers, 12)), int16(replicas), minISR); err != nil {
		return Result{}, err
	}
	return Result{Detail: fmt.Sprintf("topic %s, %d replicas", t.Action.Topic, replicas)}, nil
}

func (e *Executor) deleteTopic(ctx context.Context, t Task) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, topicLimit)
	defer cancel()
	return Result{Detail: "deleted"}, canary.DeleteTopic(limited, e.cluster, t.Action.Topic)
}

// verifyCanary ends our client; a lost record is a failure that a person must see.
func (e *Executor) verifyCanary(ctx context.Context) (Result, error) {
	if e.Client == nil {
		return Result{Detail: "no client runs"}, nil
	}
	v, err := e.Client.Finish(ctx)
	if err != nil {
		return Result{}, fmt.Errorf("read the canary's records back: %w", err)
	}
	if v.Lost > 0 {
		return Result{}, fmt.Errorf("%d of %d acknowledged records cannot be read back: %v", v.Lost, v.Acked, v.Missing)
	}
	detail := fmt.Sprintf("%d acknowledged, %d read back, 0 lost", v.Acked, v.ReadBack)
	if v.Unchecked > 0 {
		detail += fmt.Sprintf("; %d more were acknowledged and can no longer be checked", v.Unchecked)
	}
	return Result{Detail: detail}, nil
}

func (e *Executor) elect(ctx context.Context, t Task) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, topicLimit)
	defer cancel()
	n, away, err := canary.ElectPreferred(limited, e.cluster, t.NotPreferred)
	if err != nil {
		return Result{}, err
	}
	detail := fmt.Sprintf("%d partitions got their preferred leader; %d were not led by it before and are left alone", n, len(t.NotPreferred))
	if away > 0 {
		detail += fmt.Sprintf("; %d keep another leader, their preferred one is not in sync", away)
	}
	return Result{Detail: detail}, nil
}

// saveZnodes keeps the whole tree, as `migrator backup` does, in the blob store.
// It may hold secrets (SCRAM credentials), so it goes nowhere else.
func (e *Executor) saveZnodes(ctx context.Context, t Task) (Result, error) {
	var buf bytes.Buffer
	saved, err := znodebackup.Take(ctx, &buf, e.zk, znodebackup.NewHead(t.ClusterID), func(done, seen int) { e.tell(fmt.Sprintf("saved %d of %d znodes seen", done, seen)) })
	if err != nil {
		return Result{}, fmt.Errorf("save znodes: %w", err)
	}
	sha, err := e.blobs.Put(buf.Bytes())
	if err != nil {
		return Result{}, fmt.Errorf("save znodes: %w", err)
	}
	detail := fmt.Sprintf("%d znodes in blob %s", saved.Znodes, sha)
	if saved.Unreadable > 0 {
		detail += fmt.Sprintf("; %d exist but are not readable with our rights", saved.Unreadable)
	}
	if saved.Moved > 0 {
		detail += fmt.Sprintf("; %d changed while they were read", saved.Moved)
	}
	return Result{Detail: detail, Blob: sha}, nil
}

func (e *Executor) tell(text string) {
	if e.Progress != nil {
		e.Progress(text)
	}
}
