package znodebackup

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// Frames that zstd tools skip (RFC 8878, 3.1.2): magic, length of what
// follows, and our own fields, all little-endian.
const (
	blockMagic = 0x184D2A51
	endMagic   = 0x184D2A5E
	blockBody  = 16
	endBody    = 56
	maxBlock   = 128 << 20 // compressed; a block holds at least one znode, and those are smaller
)

func table() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) }

// DamageError is a file that is not whole. It says where.
type DamageError struct {
	At   int64 // bytes into the file; -1: only the encryption around it noticed
	What string
}

// Error names the place.
func (e *DamageError) Error() string {
	if e.At < 0 {
		return "damaged: " + e.What
	}
	return fmt.Sprintf("damaged at byte %d: %s", e.At, e.What)
}

// blockFrame announces a block: its number, compressed length and CRC.
type blockFrame struct {
	number uint32
	length uint32
	crc    uint32
}

func (f blockFrame) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, blockMagic)
	b = binary.LittleEndian.AppendUint32(b, blockBody)
	b = binary.LittleEndian.AppendUint32(b, f.number)
	b = binary.LittleEndian.AppendUint32(b, f.length)
	b = binary.LittleEndian.AppendUint32(b, f.crc)
	return seal(b)
}

// endFrame closes the file: how many blocks and lines, and the hash of all before it.
type endFrame struct {
	blocks uint32
	lines  uint64
	size   uint64 // bytes before it
	sum    [32]byte
}

func (f endFrame) encode() []byte {
	b := binary.LittleEndian.AppendUint32(nil, endMagic)
	b = binary.LittleEndian.AppendUint32(b, endBody)
	b = binary.LittleEndian.AppendUint32(b, f.blocks)
	b = binary.LittleEndian.AppendUint64(b, f.lines)
	b = binary.LittleEndian.AppendUint64(b, f.size)
	b = append(b, f.sum[:]...)
	return seal(b)
}

// seal ends a frame with the CRC of all its bytes.
func seal(b []byte) []byte {
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, table()))
}

// sealed checks a frame's own CRC.
func sealed(b []byte) bool {
	n := len(b) - 4
	return crc32.Checksum(b[:n], table()) == binary.LittleEndian.Uint32(b[n:])
}
