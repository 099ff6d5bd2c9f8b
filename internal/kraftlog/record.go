package kraftlog

import (
	"encoding/base64"
	"fmt"

	"github.com/twmb/franz-go/pkg/kbin"
)

// Record types of the metadata log by Kafka's numbers.
const (
	typeRegisterBroker           = 0
	typeUnregisterBroker         = 1
	typeTopic                    = 2
	typePartition                = 3
	typeConfig                   = 4
	typePartitionChange          = 5
	typeFenceBroker              = 7
	typeUnfenceBroker            = 8
	typeRemoveTopic              = 9
	typeFeatureLevel             = 12
	typeBrokerRegistrationChange = 17
	typeNoOp                     = 20
	typeZkMigrationState         = 21
	typeBeginTransaction         = 23
	typeEndTransaction           = 24
	typeAbortTransaction         = 25
	typeRegisterController       = 27
)

// typeName names a record type for counts and errors.
func typeName(kind uint32) string {
	names := [...]string{
		0: "RegisterBroker", 1: "UnregisterBroker", 2: "Topic", 3: "Partition", 4: "Config", 5: "PartitionChange",
		6: "AccessControl", 7: "FenceBroker", 8: "UnfenceBroker", 9: "RemoveTopic", 10: "DelegationToken",
		11: "UserScramCredential", 12: "FeatureLevel", 14: "ClientQuota", 15: "ProducerIds",
		17: "BrokerRegistrationChange", 18: "AccessControlEntry", 19: "RemoveAccessControlEntry", 20: "NoOp",
		21: "ZkMigrationState", 22: "RemoveUserScramCredential", 23: "BeginTransaction", 24: "EndTransaction",
		25: "AbortTransaction", 26: "RemoveDelegationToken", 27: "RegisterController",
	}
	if int64(kind) < int64(len(names)) && names[kind] != "" {
		return names[kind]
	}
	return fmt.Sprintf("unknown-%d", kind)
}

// newestVersion is the newest version whose layout is known here. A type that
// only counts has none: its content is not read.
func newestVersion(kind uint32) (uint32, bool) {
	switch kind {
	case typeRegisterBroker:
		return 3, true
	case typePartition, typePartitionChange, typeBrokerRegistrationChange:
		return 2, true
	case typeUnregisterBroker, typeTopic, typeConfig, typeFenceBroker, typeUnfenceBroker, typeRemoveTopic,
		typeFeatureLevel, typeZkMigrationState, typeBeginTransaction, typeEndTransaction, typeAbortTransaction, typeRegisterController:
		return 0, true
	default:
		return 0, false
	}
}

// record is one metadata record with its frame taken off.
type record struct {
	offset  int64
	epoch   int32
	kind    uint32
	version uint32
	body    []byte
}

func decodeFrame(e entry) (record, error) {
	if e.value == nil {
		return record{}, fmt.Errorf("record at offset %d: no value", e.offset)
	}
	r := kbin.Reader{Src: e.value}
	frame := r.Uvarint()
	out := record{offset: e.offset, epoch: e.epoch, kind: r.Uvarint(), version: r.Uvarint()}
	if !r.Ok() {
		return record{}, fmt.Errorf("record at offset %d: cut off within its frame", e.offset)
	}
	if frame != 1 {
		return record{}, fmt.Errorf("record at offset %d: frame version %d, want 1", e.offset, frame)
	}
	if newest, known := newestVersion(out.kind); known && out.version > newest {
		return record{}, fmt.Errorf("record at offset %d: %s version %d, newest known is %d", e.offset, typeName(out.kind), out.version, newest)
	}
	out.body = r.Src
	return out, nil
}

func (rec record) cutOff() error {
	return fmt.Errorf("record at offset %d: %s is cut off or malformed", rec.offset, typeName(rec.kind))
}

// fields reads the flexible fields (KIP-482) of one record. After the first
// fault every read gives a zero value and end reports the fault.
type fields struct {
	kbin.Reader
	fault bool
}

func (rec record) fields() *fields { return &fields{Reader: kbin.Reader{Src: rec.body}} }

// end reads the tagged fields, giving each known one to take, and says whether
// the whole record was well formed. take may be nil.
func (f *fields) end(take func(tag uint32, f *fields)) bool {
	for n := f.Uvarint(); n > 0 && f.ok(); n-- {
		tag := f.Uvarint()
		value := &fields{Reader: kbin.Reader{Src: f.Span(int(f.Uvarint()))}}
		if take != nil && f.ok() {
			take(tag, value)
		}
		f.fault = f.fault || !value.ok()
	}
	return f.ok() && len(f.Src) == 0
}

func (f *fields) ok() bool { return f.Ok() && !f.fault }

// length reads the length of an array whose elements take at least size bytes.
func (f *fields) length(size int) int {
	n := int(f.CompactArrayLen())
	if n < 0 || n*size > len(f.Src) {
		f.fault = true
		return 0
	}
	return n
}

func (f *fields) int32s() []int32 {
	n := f.length(4)
	out := make([]int32, 0, n)
	for range n {
		out = append(out, f.Int32())
	}
	return out
}

func (f *fields) uuid() string { return uuidText(f.Uuid()) }

// uuidText writes an id the way Kafka's tools do.
func uuidText(id [16]byte) string { return base64.RawURLEncoding.EncodeToString(id[:]) }

func (f *fields) endpoints() []Endpoint {
	n := f.length(7)
	out := make([]Endpoint, 0, n)
	for range n {
		out = append(out, Endpoint{Name: f.CompactString(), Host: f.CompactString(), Port: f.Uint16()})
		f.Int16() // security protocol
		f.skipTags()
	}
	return out
}

// skipFeatures passes over supported feature ranges.
func (f *fields) skipFeatures() {
	for range f.length(6) {
		f.CompactString()
		f.Int16()
		f.Int16()
		f.skipTags()
	}
}

func (f *fields) skipTags() {
	for n := f.Uvarint(); n > 0 && f.ok(); n-- {
		f.Uvarint()
		f.Span(int(f.Uvarint()))
	}
}
