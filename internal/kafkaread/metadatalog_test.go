package kafkaread

import (
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kbin"
	"github.com/twmb/franz-go/pkg/kmsg"

	"migrator/internal/kraftlog"
)

// topicBatch is a batch of one Topic record per offset, named after it.
func topicBatch(base int64, epoch int32, n int) []byte {
	batch := kmsg.RecordBatch{FirstOffset: base, PartitionLeaderEpoch: epoch, Magic: 2, LastOffsetDelta: int32(n - 1), NumRecords: int32(n), ProducerID: -1, ProducerEpoch: -1, FirstSequence: -1}
	for i := range n {
		value := kbin.AppendCompactString([]byte{1, 2, 0}, fmt.Sprint("t", base+int64(i)))
		value = kbin.AppendUvarint(kbin.AppendUuid(value, [16]byte{byte(base), 14: byte(i), 15: byte(epoch)}), 0)
		batch.Records = append(batch.Records, record(i, nil, value)...)
	}
	return encode(batch)
}

func controlBatch(base int64, kind byte) []byte {
	batch := kmsg.RecordBatch{FirstOffset: base, Magic: 2, Attributes: 0x20, NumRecords: 1}
	batch.Records = record(0, []byte{0, 0, 0, kind}, []byte{0, 0})
	return encode(batch)
}

func record(delta int, key, value []byte) []byte {
	b := kbin.AppendVarint(kbin.AppendVarlong([]byte{0}, 0), int32(delta))
	b = kbin.AppendVarint(kbin.AppendVarintBytes(kbin.AppendVarintBytes(b, key), value), 0)
	return append(kbin.AppendVarint(nil, int32(len(b))), b...)
}

func encode(batch kmsg.RecordBatch) []byte {
	batch.Length = int32(49 + len(batch.Records))
	b := batch.AppendTo(nil)
	batch.CRC = int32(crc32.Checksum(b[21:], crc32.MakeTable(crc32.Castagnoli)))
	return batch.AppendTo(nil)
}

// answering gives batches of two topics each up to the high watermark.
func answering(hw int64, epoch int32) func(int, kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition) {
	return func(_ int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
		p.HighWatermark = hw
		p.RecordBatches = topicBatch(asked.FetchOffset, epoch, 2)
	}
}

func TestPollReadsToTheHighWatermarkAndGoesOnFromThere(t *testing.T) {
	f := newController(t)
	hw := int64(4)
	f.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
		if asked.CurrentLeaderEpoch != 7 {
			t.Errorf("asked with epoch %d", asked.CurrentLeaderEpoch)
		}
		answering(hw, 7)(n, asked, p)
	})
	log := openControllers(t, f.addr).NewLog()
	image, got, err := log.Poll(withTimeout(t), 3001, 7)
	if err != nil || got != 4 || len(image.Topics) != 4 || image.Offset != 3 {
		t.Fatalf("high watermark %d, %d topics, offset %d, %v", got, len(image.Topics), image.Offset, err)
	}
	hw = 5 // in the middle of the next batch
	next, got, err := log.Poll(withTimeout(t), 3001, 7)
	if err != nil || got != 5 || len(next.Topics) != 5 || len(image.Topics) != 4 {
		t.Fatalf("high watermark %d, %d topics, %d in the image before, %v", got, len(next.Topics), len(image.Topics), err)
	}
	if diff := cmp.Diff([]int64{0, 2, 4}, f.offsets()); diff != "" {
		t.Error(diff)
	}
	if last := f.fetches[2]; last.LastFetchedEpoch != 7 {
		t.Errorf("the last fetch names epoch %d, want that of the last record", last.LastFetchedEpoch)
	}
}

func TestPollFollowsTheLeader(t *testing.T) {
	hint := func(code int16, leader, epoch int32) func(int, kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition) {
		return func(_ int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			if asked.CurrentLeaderEpoch == epoch && leader == 3001 {
				answering(2, epoch)(0, asked, p)
				return
			}
			p.ErrorCode, p.HighWatermark = code, -1
			p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = leader, epoch
		}
	}
	tests := []struct {
		name    string
		first   func(int, kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition)
		wantErr string
	}{
		{"a follower names the leader", hint(6, 3002, 9), ""},
		{"the leader names its own newer epoch", hint(74, 3001, 9), ""},
		{"an old leader names the new one", hint(74, 3002, 9), ""},
		{"nobody leads", hint(6, -1, 9), "no other leader is named"},
		{"the leader named has no address", hint(6, 3009, 9), "controller 3009"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			first, second := newController(t), newController(t)
			first.onFetch(test.first)
			second.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				if asked.CurrentLeaderEpoch != 9 {
					t.Errorf("the new leader was asked with epoch %d", asked.CurrentLeaderEpoch)
				}
				answering(2, 9)(n, asked, p)
			})
			image, _, err := openControllers(t, first.addr, second.addr).NewLog().Poll(withTimeout(t), 3001, 7)
			if test.wantErr == "" && (err != nil || len(image.Topics) != 2) {
				t.Errorf("%d topics, %v", len(image.Topics), err)
			}
			if test.wantErr != "" && (err == nil || !strings.Contains(err.Error(), test.wantErr)) {
				t.Errorf("error %v, want %q", err, test.wantErr)
			}
		})
	}
}

func TestPollGivesUpOnControllersThatPointAtEachOther(t *testing.T) {
	first, second := newController(t), newController(t)
	point := func(to int32) func(int, kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition) {
		return func(_ int, _ kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.ErrorCode, p.CurrentLeader.LeaderID, p.CurrentLeader.LeaderEpoch = 6, to, 7
		}
	}
	first.onFetch(point(3002))
	second.onFetch(point(3001))
	_, _, err := openControllers(t, first.addr, second.addr).NewLog().Poll(withTimeout(t), 3001, 7)
	if err == nil || !strings.Contains(err.Error(), "gave up") {
		t.Errorf("error %v", err)
	}
}

// onSnapshot serves one snapshot in pieces; gone of the first requests find none.
func (f *fakeController) onSnapshot(content []byte, piece, gone int) {
	control(f.cluster, 59, func(req *kmsg.FetchSnapshotRequest) (kmsg.Response, error) {
		asked := req.Topics[0].Partitions[0]
		resp := req.ResponseKind().(*kmsg.FetchSnapshotResponse)
		topic := kmsg.NewFetchSnapshotResponseTopic()
		topic.Topic = req.Topics[0].Topic
		p := kmsg.NewFetchSnapshotResponseTopicPartition()
		if gone > 0 {
			gone--
			p.ErrorCode = 98
		} else {
			p.Size, p.Position = int64(len(content)), asked.Position
			p.Bytes = content[asked.Position:min(int(asked.Position)+piece, len(content))]
		}
		topic.Partitions = append(topic.Partitions, p)
		resp.Topics = append(resp.Topics, topic)
		return resp, nil
	})
}

// snapshotted serves a snapshot that ends at offset 10, and the log after it.
func snapshotted(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
	if asked.FetchOffset < 10 {
		p.HighWatermark = 12
		p.SnapshotID.EndOffset, p.SnapshotID.Epoch = 10, 5
		return
	}
	answering(12, 7)(n, asked, p)
}

func wholeSnapshot() []byte {
	return append(append(controlBatch(0, 3), topicBatch(1, 0, 3)...), controlBatch(4, 4)...)
}

func TestPollTakesTheSnapshotFirst(t *testing.T) {
	tests := []struct {
		name        string
		piece, gone int
		fetches     []int64
	}{
		{"in one piece", 1 << 20, 0, []int64{0, 10}},
		{"in small pieces", 7, 0, []int64{0, 10}},
		{"after a newer one took the first one's place", 1 << 20, 1, []int64{0, 0, 10}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newController(t)
			f.onFetch(snapshotted)
			f.onSnapshot(wholeSnapshot(), test.piece, test.gone)
			image, hw, err := openControllers(t, f.addr).NewLog().Poll(withTimeout(t), 3001, 7)
			if err != nil || hw != 12 || len(image.Topics) != 5 || image.Offset != 11 {
				t.Fatalf("high watermark %d, %d topics, offset %d, %v", hw, len(image.Topics), image.Offset, err)
			}
			if diff := cmp.Diff(test.fetches, f.offsets()); diff != "" {
				t.Error(diff)
			}
			if last := f.fetches[len(f.fetches)-1]; last.LastFetchedEpoch != 5 {
				t.Errorf("after the snapshot the fetch names epoch %d, want the snapshot's", last.LastFetchedEpoch)
			}
		})
	}
}

func TestPollTakesASnapshotWhenTheLogMovedAwayUnderIt(t *testing.T) {
	f := newController(t)
	f.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
		if n == 0 {
			answering(2, 5)(n, asked, p)
			return
		}
		snapshotted(n, asked, p)
	})
	f.onSnapshot(wholeSnapshot(), 1<<20, 0)
	log := openControllers(t, f.addr).NewLog()
	if image, _, err := log.Poll(withTimeout(t), 3001, 7); err != nil || len(image.Topics) != 2 {
		t.Fatalf("%d topics, %v", len(image.Topics), err)
	}
	image, _, err := log.Poll(withTimeout(t), 3001, 7)
	if _, old := image.Topics["t0"]; err != nil || len(image.Topics) != 5 || old {
		t.Errorf("%d topics, one of before the snapshot: %v, %v", len(image.Topics), old, err)
	}
}

func TestPollStartsOverOnADivergedLog(t *testing.T) {
	f := newController(t)
	f.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
		if n == 1 {
			p.HighWatermark, p.DivergingEpoch.Epoch, p.DivergingEpoch.EndOffset = 2, 3, 1
			return
		}
		answering(2, int32(n+1))(n, asked, p)
	})
	log := openControllers(t, f.addr).NewLog()
	before, _, err := log.Poll(withTimeout(t), 3001, 7)
	if err != nil {
		t.Fatal(err)
	}
	after, _, err := log.Poll(withTimeout(t), 3001, 7)
	if err != nil || len(after.Topics) != 2 || after.Topics["t0"].ID == before.Topics["t0"].ID {
		t.Errorf("%+v, %v; want the topics of the new log", after.Topics, err)
	}
	if diff := cmp.Diff([]int64{0, 2, 0}, f.offsets()); diff != "" {
		t.Error(diff)
	}
}

func TestPollErrors(t *testing.T) {
	tests := []struct {
		name   string
		answer func(int, kmsg.FetchRequestTopicPartition, *kmsg.FetchResponseTopicPartition)
		want   string
		is     error
	}{
		{"refused", func(_ int, _ kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) { p.ErrorCode = 31 }, "not authorized", ErrNotAuthorized},
		{"no high watermark yet", func(_ int, _ kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark = -1
		}, "no high watermark yet", nil},
		{"nothing below the high watermark", func(_ int, _ kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark = 5
		}, "no progress at offset 0", nil},
		{"damaged bytes", func(_ int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
			p.HighWatermark, p.RecordBatches = 2, topicBatch(0, 7, 2)
			p.RecordBatches[70] ^= 1
		}, "checksum", nil},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			f := newController(t)
			broken := true
			f.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				if broken {
					test.answer(n, asked, p)
					return
				}
				answering(2, 7)(n, asked, p)
			})
			log := openControllers(t, f.addr).NewLog()
			image, _, err := log.Poll(withTimeout(t), 3001, 7)
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "controller 3001") {
				t.Fatalf("error %v, want %q and the node", err, test.want)
			}
			if test.is != nil && !errors.Is(err, test.is) {
				t.Errorf("error %v, want %v in its chain", err, test.is)
			}
			if diff := cmp.Diff(kraftlog.Image{}, image); diff != "" {
				t.Errorf("an error came with an image: %s", diff)
			}
			broken = false
			if image, _, err := log.Poll(withTimeout(t), 3001, 7); err != nil || len(image.Topics) != 2 {
				t.Errorf("the next poll: %d topics, %v", len(image.Topics), err)
			}
		})
	}
}

func TestAQuorumMadeAnewIsReadFromItsBeginning(t *testing.T) {
	for _, test := range []struct {
		name  string
		hw    int64
		epoch int32
	}{
		{"its epoch is smaller", 8, 3},
		{"its log is shorter", 2, 7},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := newController(t)
			hw, epoch := int64(4), int32(7)
			f.onFetch(func(n int, asked kmsg.FetchRequestTopicPartition, p *kmsg.FetchResponseTopicPartition) {
				answering(hw, epoch)(n, asked, p)
			})
			log := openControllers(t, f.addr).NewLog()
			if _, _, err := log.Poll(withTimeout(t), 3001, epoch); err != nil {
				t.Fatal(err)
			}
			hw, epoch = test.hw, test.epoch
			image, _, err := log.Poll(withTimeout(t), 3001, epoch)
			if err != nil || len(image.Topics) != int(test.hw) || image.Epoch != epoch {
				t.Errorf("%d topics under epoch %d, %v; want %d under %d", len(image.Topics), image.Epoch, err, test.hw, epoch)
			}
			if again := f.offsets(); again[len(again)-1] >= 8 || !containsZero(again[2:]) {
				t.Errorf("fetched at %v, want a new beginning at 0", again)
			}
		})
	}
}

func containsZero(offsets []int64) bool {
	for _, o := range offsets {
		if o == 0 {
			return true
		}
	}
	return false
}
