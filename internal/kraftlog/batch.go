package kraftlog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
)

// Layout of a record batch, magic 2 (KIP-98).
const (
	lengthEnd      = 12 // base offset and length field
	headerEnd      = 61 // everything before the first record
	crcStart       = 21 // the checksum covers all bytes from here
	compressedMask = 0x07
	controlMask    = 0x20
)

// errTorn means that the bytes end within a batch, which is normal at the end
// of a Fetch answer and wrong at the end of a snapshot.
var errTorn = errors.New("bytes end within a batch")

// batch is one record batch, checked, its records still encoded.
type batch struct {
	base    int64
	epoch   int32
	control bool
	count   int32
	records []byte
}

// entry is one record: its offset in the log and its key and value.
type entry struct {
	offset  int64
	epoch   int32
	control bool
	key     []byte
	value   []byte
}

// nextBatch decodes the batch at the start of b and returns what follows it.
func nextBatch(b []byte) (batch, []byte, error) {
	if len(b) < lengthEnd {
		return batch{}, nil, errTorn
	}
	base := int64(binary.BigEndian.Uint64(b))
	length := int32(binary.BigEndian.Uint32(b[8:]))
	if base < 0 || length < headerEnd-lengthEnd {
		return batch{}, nil, fmt.Errorf("batch at offset %d: length %d is impossible", base, length)
	}
	if len(b)-lengthEnd < int(length) {
		return batch{}, nil, errTorn
	}
	raw, rest := b[:lengthEnd+int(length)], b[lengthEnd+int(length):]
	if magic := raw[16]; magic != 2 {
		return batch{}, nil, fmt.Errorf("batch at offset %d: format version %d, want 2", base, magic)
	}
	if want, got := binary.BigEndian.Uint32(raw[17:]), crc32.Checksum(raw[crcStart:], crc32.MakeTable(crc32.Castagnoli)); want != got {
		return batch{}, nil, fmt.Errorf("batch at offset %d: checksum %08x, header says %08x", base, got, want)
	}
	attributes := binary.BigEndian.Uint16(raw[21:])
	if codec := attributes & compressedMask; codec != 0 {
		return batch{}, nil, fmt.Errorf("batch at offset %d: compressed with codec %d; metadata logs are expected to be plain", base, codec)
	}
	return batch{
		base:    base,
		epoch:   int32(binary.BigEndian.Uint32(raw[12:])),
		control: attributes&controlMask != 0,
		count:   int32(binary.BigEndian.Uint32(raw[57:])),
		records: raw[headerEnd:],
	}, rest, nil
}

// entries splits the batch into its records, whose offsets must follow each
// other: a metadata log is never compacted in place.
func (b batch) entries() ([]entry, error) {
	if b.count < 0 || int(b.count) > len(b.records) {
		return nil, fmt.Errorf("batch at offset %d: says %d records in %d bytes", b.base, b.count, len(b.records))
	}
	r := kbin.Reader{Src: b.records}
	out := make([]entry, 0, b.count)
	for i := range b.count {
		body := kbin.Reader{Src: r.Span(int(r.Varint()))}
		body.Int8()    // attributes, unused
		body.Varlong() // timestamp
		delta := body.Varint()
		e := entry{offset: b.base + int64(i), epoch: b.epoch, control: b.control, key: body.VarintBytes(), value: body.VarintBytes()}
		if !r.Ok() || !body.Ok() {
			return nil, fmt.Errorf("record at offset %d: cut off", e.offset)
		}
		if delta != i {
			return nil, fmt.Errorf("record at offset %d: says it is number %d of its batch, is number %d", e.offset, delta, i)
		}
		out = append(out, e)
	}
	if len(r.Src) != 0 {
		return nil, fmt.Errorf("batch at offset %d: %d bytes after the last record", b.base, len(r.Src))
	}
	return out, nil
}

// Control record types (KIP-595, KIP-630, KIP-853).
const (
	controlLeaderChange   = 2
	controlSnapshotHeader = 3
	controlSnapshotFooter = 4
)

// controlType reads the type of a control record from its key.
func (e entry) controlType() (int16, error) {
	r := kbin.Reader{Src: e.key}
	r.Int16() // version of the key
	kind := r.Int16()
	if !r.Ok() {
		return 0, fmt.Errorf("control record at offset %d: key of %d bytes", e.offset, len(e.key))
	}
	return kind, nil
}
