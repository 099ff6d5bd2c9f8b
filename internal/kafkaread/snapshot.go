package kafkaread

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// maxSnapshot bounds what one snapshot may take of memory, in bytes; 200,000
// partitions need about a tenth of it.
const maxSnapshot = 512 << 20

// fetchSnapshot reads one whole snapshot in pieces.
func (n *node) fetchSnapshot(ctx context.Context, at source, endOffset int64, epoch int32) ([]byte, error) {
	var content []byte
	for {
		piece, err := n.snapshotPiece(ctx, at, endOffset, epoch, int64(len(content)))
		if errors.Is(err, kerr.SnapshotNotFound) {
			return nil, errRestart // a newer snapshot took its place
		}
		if err != nil {
			return nil, fmt.Errorf("FetchSnapshot %d-%d at %s: %w", endOffset, epoch, n.addr, err)
		}
		content = append(content, piece.Bytes...)
		switch done := int64(len(content)); {
		case piece.Size > maxSnapshot:
			return nil, fmt.Errorf("FetchSnapshot %d-%d at %s: %d bytes are more than %d", endOffset, epoch, n.addr, piece.Size, maxSnapshot)
		case done == piece.Size:
			return content, nil
		case done > piece.Size, len(piece.Bytes) == 0:
			return nil, fmt.Errorf("FetchSnapshot %d-%d at %s: %d bytes read of %d", endOffset, epoch, n.addr, done, piece.Size)
		}
	}
}

func (n *node) snapshotPiece(ctx context.Context, at source, endOffset int64, epoch int32, position int64) (kmsg.FetchSnapshotResponseTopicPartition, error) {
	var none kmsg.FetchSnapshotResponseTopicPartition
	partition := kmsg.NewFetchSnapshotRequestTopicPartition()
	partition.CurrentLeaderEpoch = at.epoch
	partition.SnapshotID.EndOffset, partition.SnapshotID.Epoch = endOffset, epoch
	partition.Position = position
	topic := kmsg.NewFetchSnapshotRequestTopic()
	topic.Topic, topic.Partitions = metadataTopic, append(topic.Partitions, partition)
	req := kmsg.NewPtrFetchSnapshotRequest()
	req.MaxBytes = fetchBytes
	req.Topics = append(req.Topics, topic)

	resp, err := ask[*kmsg.FetchSnapshotResponse](ctx, n, req)
	if err != nil {
		return none, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return none, err
	}
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return none, errors.New("answer is not about one partition")
	}
	piece := resp.Topics[0].Partitions[0]
	if err := leaderErr(piece.ErrorCode, at, piece.CurrentLeader.LeaderID, piece.CurrentLeader.LeaderEpoch); err != nil {
		return none, err
	}
	if piece.Position != position {
		return none, fmt.Errorf("asked from byte %d, got from byte %d", position, piece.Position)
	}
	return piece, nil
}
