package kafkaread

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"migrator/internal/kraftlog"
)

const (
	fetchBytes = 8 << 20
	// detours bounds how often one Poll follows another leader or starts over.
	detours = 4
)

// Log follows the metadata log from outside (KIP-595, KIP-630), as a reader
// that is no replica. It keeps its place between polls. One goroutine polls;
// the images may go anywhere.
type Log struct {
	controllers *Controllers
	fold        *kraftlog.Fold
}

// NewLog starts at the beginning of the log.
func (c *Controllers) NewLog() *Log {
	return &Log{controllers: c, fold: kraftlog.NewFold()}
}

// source is the leader being read and the epoch it leads in.
type source struct {
	leader int32
	epoch  int32
}

// errRestart means that what was read is no longer part of the log, or the
// snapshot asked for is gone: start with an empty fold.
var errRestart = errors.New("log changed under the reader")

// moved says that another leader or epoch is current.
type moved struct{ to source }

func (m *moved) Error() string {
	return fmt.Sprintf("controller %d leads in epoch %d", m.to.leader, m.to.epoch)
}

// Poll reads on up to the high watermark that the leader named first and
// returns the image and the newest high watermark. leader and epoch come from
// DescribeQuorum; where they are out of date, the answer's hint is followed.
// After an error the next Poll goes on from what is sure.
func (l *Log) Poll(ctx context.Context, leader, epoch int32) (kraftlog.Image, int64, error) {
	at := source{leader: leader, epoch: epoch}
	if epoch < l.fold.Epoch() {
		l.Forget() // epochs only rise: this is another quorum
	}
	for detour := 0; ; detour++ {
		hw, err := l.readFrom(ctx, at)
		if err == nil {
			return l.fold.Image(), hw, nil
		}
		var other *moved
		switch {
		case detour >= detours:
			return kraftlog.Image{}, 0, fmt.Errorf("metadata log of controller %d: gave up after %d detours: %w", at.leader, detour, err)
		case errors.As(err, &other):
			at = other.to
		case errors.Is(err, errRestart):
			l.Forget()
		default:
			return kraftlog.Image{}, 0, fmt.Errorf("metadata log of controller %d: %w", at.leader, err)
		}
	}
}

// Forget drops what was read, for a quorum that is gone for good. One made anew
// under the same addresses can reach the same offset in the same epoch, which
// no Fetch answer tells from the old log.
func (l *Log) Forget() { l.fold = kraftlog.NewFold() }

// readFrom reads until it has passed the first high watermark seen.
func (l *Log) readFrom(ctx context.Context, at source) (int64, error) {
	n, err := l.controllers.node(at.leader)
	if err != nil {
		return 0, err
	}
	var target int64
	for round := 0; ; round++ {
		answer, err := n.fetch(ctx, at, l.fold.Next(), l.fold.Epoch())
		if err != nil {
			return 0, err
		}
		if round == 0 {
			target = answer.HighWatermark
			if target < l.fold.Next() {
				return 0, errRestart // committed records do not go away: this is another log
			}
		}
		before := l.fold.Next()
		if err := l.take(ctx, n, at, answer); err != nil {
			return 0, err
		}
		if l.fold.Next() >= target {
			return answer.HighWatermark, nil
		}
		if l.fold.Next() <= before {
			return 0, fmt.Errorf("no progress at offset %d below the high watermark %d", before, target)
		}
	}
}

// take applies one answer: records, or the snapshot it points to.
func (l *Log) take(ctx context.Context, n *node, at source, answer kmsg.FetchResponseTopicPartition) error {
	if id := answer.SnapshotID; id.EndOffset >= 0 {
		content, err := n.fetchSnapshot(ctx, at, id.EndOffset, id.Epoch)
		if err != nil {
			return err
		}
		return l.checked(l.fold.ApplySnapshot(id.EndOffset, id.Epoch, content))
	}
	if answer.DivergingEpoch.Epoch >= 0 || answer.DivergingEpoch.EndOffset >= 0 {
		return errRestart
	}
	_, err := l.fold.ApplyBatches(answer.RecordBatches, answer.HighWatermark)
	return l.checked(err)
}

// checked drops a fold that failed: it may hold half of what it was given.
func (l *Log) checked(err error) error {
	if err != nil {
		l.Forget()
	}
	return err
}

// fetch asks for records from offset on, without waiting for new ones.
func (n *node) fetch(ctx context.Context, at source, offset int64, lastEpoch int32) (kmsg.FetchResponseTopicPartition, error) {
	var none kmsg.FetchResponseTopicPartition
	partition := kmsg.NewFetchRequestTopicPartition()
	partition.CurrentLeaderEpoch = at.epoch
	partition.FetchOffset, partition.LastFetchedEpoch = offset, lastEpoch
	partition.PartitionMaxBytes = fetchBytes
	topic := kmsg.NewFetchRequestTopic()
	topic.Topic = metadataTopic
	topic.TopicID[15] = 1
	topic.Partitions = append(topic.Partitions, partition)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes = fetchBytes
	req.Topics = append(req.Topics, topic)

	resp, err := ask[*kmsg.FetchResponse](ctx, n, req)
	if err != nil {
		return none, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return none, fmt.Errorf("Fetch at %s: %w", n.addr, err)
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return none, fmt.Errorf("Fetch at %s: answer is not about one partition", n.addr)
	}
	answer := resp.Topics[0].Partitions[0]
	if err := leaderErr(answer.ErrorCode, at, answer.CurrentLeader.LeaderID, answer.CurrentLeader.LeaderEpoch); err != nil {
		return none, fmt.Errorf("Fetch at %s: %w", n.addr, err)
	}
	if answer.HighWatermark < 0 {
		return none, fmt.Errorf("Fetch at %s: the leader knows no high watermark yet", n.addr)
	}
	return answer, nil
}

// leaderErr judges an answer's code. One that says "not me" or "not this
// epoch" becomes a move, if it names a leader other than the one just asked.
func leaderErr(code int16, at source, leader, epoch int32) error {
	err := codeErr(code)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, kerr.NotLeaderForPartition), errors.Is(err, kerr.FencedLeaderEpoch):
		to := source{leader: leader, epoch: epoch}
		if leader >= 0 && epoch >= at.epoch && to != at {
			return &moved{to: to}
		}
		return fmt.Errorf("%w, and no other leader is named", err)
	default:
		return err
	}
}
