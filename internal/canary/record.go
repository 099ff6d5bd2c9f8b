package canary

import (
	"fmt"
	"hash/crc32"
	"strconv"
	"strings"
	"time"
)

const recordPrefix = "migrator-canary/1"

// maxRecord bounds what is looked at: anybody may write to the topic.
const maxRecord = 256

type record struct {
	run  string
	seq  int64
	sent time.Time
}

// encode writes a record as one line a person can read with any consumer. The
// checksum covers the topic and partition too, so a record in the wrong place
// does not count as read back.
func (r record) encode(topic string, partition int32) []byte {
	body := fmt.Sprintf("%s %s %d %d", recordPrefix, r.run, r.seq, r.sent.UnixNano())
	return fmt.Appendf(nil, "%s %08x", body, checksum(topic, partition, body))
}

func checksum(topic string, partition int32, body string) uint32 {
	text := topic + "/" + strconv.Itoa(int(partition)) + " " + body
	return crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
}

// decodeRecord reads what encode wrote; false for anything else.
func decodeRecord(topic string, partition int32, value []byte) (record, bool) {
	if len(value) > maxRecord {
		return record{}, false
	}
	fields := strings.Split(string(value), " ")
	if len(fields) != 5 || fields[0] != recordPrefix {
		return record{}, false
	}
	seq, errSeq := strconv.ParseInt(fields[2], 10, 64)
	nanos, errTime := strconv.ParseInt(fields[3], 10, 64)
	sum, errSum := strconv.ParseUint(fields[4], 16, 32)
	if errSeq != nil || errTime != nil || errSum != nil {
		return record{}, false
	}
	if uint32(sum) != checksum(topic, partition, strings.Join(fields[:4], " ")) {
		return record{}, false
	}
	return record{run: fields[1], seq: seq, sent: time.Unix(0, nanos)}, true
}
