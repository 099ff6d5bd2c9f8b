package kraftlog

import (
	"encoding/binary"
	"hash/crc32"

	"github.com/twmb/franz-go/pkg/kbin"
)

// The encoder of these tests writes bytes field by field after Kafka's
// schemas; it shares nothing with the decoder under test.

// rec is one record of a test log: its value, or a control type.
type rec struct {
	value   []byte
	control int16
}

// frame starts a record value of a type and version.
func frame(kind, version uint32) []byte {
	return kbin.AppendUvarint(kbin.AppendUvarint(kbin.AppendUvarint(nil, 1), kind), version)
}

func noTags(b []byte) []byte { return kbin.AppendUvarint(b, 0) }

func id(n byte) [16]byte { return [16]byte{15: n} }

func int32s(b []byte, list ...int32) []byte {
	b = kbin.AppendCompactArrayLen(b, len(list))
	for _, n := range list {
		b = kbin.AppendInt32(b, n)
	}
	return b
}

func endpoint(b []byte, name, host string, port uint16) []byte {
	b = kbin.AppendCompactArrayLen(b, 1)
	b = kbin.AppendCompactString(kbin.AppendCompactString(b, name), host)
	b = kbin.AppendInt16(kbin.AppendUint16(b, port), 0)
	return noTags(b)
}

func oneFeature(b []byte) []byte {
	b = kbin.AppendCompactString(kbin.AppendCompactArrayLen(b, 1), "metadata.version")
	return noTags(kbin.AppendInt16(kbin.AppendInt16(b, 1), 21))
}

func registerBroker(broker int32, epoch int64, migrating, fenced bool) rec {
	rack := "r1"
	b := kbin.AppendInt32(frame(0, 3), broker)
	b = kbin.AppendBool(b, migrating)
	b = kbin.AppendUuid(b, id(byte(broker)))
	b = kbin.AppendInt64(b, epoch)
	b = oneFeature(endpoint(b, "PLAINTEXT", "kafka-1", 9092))
	b = kbin.AppendCompactNullableString(b, &rack)
	b = kbin.AppendBool(kbin.AppendBool(b, fenced), false)
	// tag 0: one log directory
	b = kbin.AppendUvarint(kbin.AppendUvarint(kbin.AppendUvarint(b, 1), 0), 17)
	return rec{value: kbin.AppendUuid(kbin.AppendCompactArrayLen(b, 1), id(99))}
}

func registerBrokerV0(broker int32, epoch int64) rec {
	b := kbin.AppendUuid(kbin.AppendInt32(frame(0, 0), broker), id(byte(broker)))
	b = kbin.AppendInt64(b, epoch)
	b = oneFeature(endpoint(b, "PLAINTEXT", "kafka-1", 9092))
	return rec{value: noTags(kbin.AppendBool(kbin.AppendCompactNullableString(b, nil), true))}
}

func registerController(node int32, ready bool) rec {
	b := kbin.AppendUuid(kbin.AppendInt32(frame(27, 0), node), id(byte(node)))
	b = oneFeature(endpoint(kbin.AppendBool(b, ready), "CONTROLLER", "kafka-c", 9093))
	return rec{value: noTags(b)}
}

func nodeRecord(kind uint32, node int32, epoch int64) rec {
	return rec{value: noTags(kbin.AppendInt64(kbin.AppendInt32(frame(kind, 0), node), epoch))}
}

func changeBroker(broker int32, epoch int64, fenced, shutdown int8) rec {
	b := kbin.AppendInt64(kbin.AppendInt32(frame(17, 1), broker), epoch)
	b = kbin.AppendUvarint(b, 2)
	b = kbin.AppendInt8(kbin.AppendUvarint(kbin.AppendUvarint(b, 0), 1), fenced)
	b = kbin.AppendInt8(kbin.AppendUvarint(kbin.AppendUvarint(b, 1), 1), shutdown)
	return rec{value: b}
}

func topic(name string, n byte) rec {
	return rec{value: noTags(kbin.AppendUuid(kbin.AppendCompactString(frame(2, 0), name), id(n)))}
}

func removeTopic(n byte) rec {
	return rec{value: noTags(kbin.AppendUuid(frame(9, 0), id(n)))}
}

func partition(n byte, number, leader, epoch int32, replicas, isr []int32) rec {
	b := kbin.AppendUuid(kbin.AppendInt32(frame(3, 1), number), id(n))
	b = int32s(int32s(int32s(int32s(b, replicas...), isr...)), 7)
	b = kbin.AppendInt32(kbin.AppendInt32(kbin.AppendInt32(b, leader), epoch), 0)
	b = kbin.AppendCompactArrayLen(b, len(replicas))
	for range replicas {
		b = kbin.AppendUuid(b, id(50))
	}
	return rec{value: noTags(b)}
}

// tagged is one tagged field.
type tagged struct {
	tag   uint32
	value []byte
}

func changePartition(n byte, number int32, fields ...tagged) rec {
	b := kbin.AppendUuid(kbin.AppendInt32(frame(5, 2), number), id(n))
	b = kbin.AppendUvarint(b, uint32(len(fields)))
	for _, f := range fields {
		b = kbin.AppendUvarint(kbin.AppendUvarint(b, f.tag), uint32(len(f.value)))
		b = append(b, f.value...)
	}
	return rec{value: b}
}

func config(resource int8, name, key string, value *string) rec {
	b := kbin.AppendInt8(frame(4, 0), resource)
	b = kbin.AppendCompactString(kbin.AppendCompactString(b, name), key)
	return rec{value: noTags(kbin.AppendCompactNullableString(b, value))}
}

func feature(name string, level int16) rec {
	return rec{value: noTags(kbin.AppendInt16(kbin.AppendCompactString(frame(12, 0), name), level))}
}

func migrationState(n int8) rec { return rec{value: noTags(kbin.AppendInt8(frame(21, 0), n))} }

func beginTransaction(name string) rec {
	b := kbin.AppendUvarint(kbin.AppendUvarint(frame(23, 0), 1), 0)
	return rec{value: kbin.AppendCompactString(kbin.AppendUvarint(b, uint32(len(name)+1)), name)}
}

func empty(kind uint32) rec { return rec{value: noTags(frame(kind, 0))} }

// batchOf encodes records as one batch.
func batchOf(base int64, epoch int32, records ...rec) []byte {
	var body []byte
	attributes := int16(0)
	for i, r := range records {
		one := kbin.AppendVarint(kbin.AppendVarlong([]byte{0}, int64(i)), int32(i))
		if r.control != 0 {
			attributes = controlMask
			key := kbin.AppendInt16(kbin.AppendInt16(nil, 0), r.control)
			one = kbin.AppendVarintBytes(one, key)
		} else {
			one = kbin.AppendVarintBytes(one, nil)
		}
		one = kbin.AppendVarint(kbin.AppendVarintBytes(one, r.value), 0)
		body = append(kbin.AppendVarint(body, int32(len(one))), one...)
	}
	b := kbin.AppendInt32(kbin.AppendInt64(nil, base), int32(headerEnd-lengthEnd+len(body)))
	b = append(kbin.AppendInt32(b, epoch), 2, 0, 0, 0, 0) // magic, room for the checksum
	b = kbin.AppendInt32(kbin.AppendInt16(b, attributes), int32(len(records)-1))
	b = kbin.AppendInt64(kbin.AppendInt64(b, 0), 0)
	b = kbin.AppendInt32(kbin.AppendInt16(kbin.AppendInt64(b, -1), -1), -1)
	b = append(kbin.AppendInt32(b, int32(len(records))), body...)
	return seal(b)
}

// seal writes the checksum of a batch.
func seal(b []byte) []byte {
	binary.BigEndian.PutUint32(b[17:], crc32.Checksum(b[crcStart:], crc32.MakeTable(crc32.Castagnoli)))
	return b
}

// snapshotOf encodes records as a complete snapshot.
func snapshotOf(records ...rec) []byte {
	b := batchOf(0, 0, rec{control: controlSnapshotHeader, value: []byte{0, 0}})
	b = append(b, batchOf(1, 0, records...)...)
	return append(b, batchOf(int64(len(records))+1, 0, rec{control: controlSnapshotFooter, value: []byte{0, 0}})...)
}
