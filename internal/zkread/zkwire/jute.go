package zkwire

import (
	"encoding/binary"
	"errors"
	"math"
)

// errShort is an answer that ends before its own lengths say so.
var errShort = errors.New("the answer is cut off or no answer to the question")

// encoder builds a request in ZooKeeper's record format (jute).
type encoder struct{ b []byte }

func (e *encoder) int32(v int32)   { e.b = binary.BigEndian.AppendUint32(e.b, uint32(v)) }
func (e *encoder) int64(v int64)   { e.b = binary.BigEndian.AppendUint64(e.b, uint64(v)) }
func (e *encoder) string(v string) { e.int32(int32(len(v))); e.b = append(e.b, v...) }
func (e *encoder) bytes(v []byte)  { e.int32(int32(len(v))); e.b = append(e.b, v...) }

func (e *encoder) bool(v bool) {
	if v {
		e.b = append(e.b, 1)
		return
	}
	e.b = append(e.b, 0)
}

// decoder takes values off an answer. Past its end it gives zero values and
// remembers that; a length in the answer never makes it allocate more than the
// answer has bytes.
type decoder struct {
	b   []byte
	err error
}

func (d *decoder) take(n int) []byte {
	if n < 0 || n > len(d.b) {
		d.err, d.b = errShort, nil
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

func (d *decoder) int32() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) int64() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// buffer tells null, which has length -1, from empty. It shares the answer's memory.
func (d *decoder) buffer() []byte {
	n := d.int32()
	if n == -1 {
		return nil
	}
	b := d.take(int(n))
	if b == nil && d.err == nil {
		b = []byte{}
	}
	return b
}

func (d *decoder) string() string { return string(d.buffer()) }

// count is the length of a list whose entries take at least so many bytes each.
func (d *decoder) count(least int) int {
	n := d.int32()
	if n == -1 {
		return 0 // a null list
	}
	if n < 0 || int64(n)*int64(least) > int64(min(len(d.b), math.MaxInt32)) {
		d.err, d.b = errShort, nil
		return 0
	}
	return int(n)
}

func (d *decoder) strings() []string {
	out := make([]string, d.count(4))
	for i := range out {
		out[i] = d.string()
	}
	return out
}

func (d *decoder) stat() Stat {
	return Stat{Czxid: d.int64(), Mzxid: d.int64(), Ctime: d.int64(), Mtime: d.int64(), Version: d.int32(), Cversion: d.int32(), Aversion: d.int32(),
		EphemeralOwner: d.int64(), DataLength: d.int32(), NumChildren: d.int32(), Pzxid: d.int64()}
}

func (d *decoder) acl() []ACL {
	out := make([]ACL, d.count(12))
	for i := range out {
		out[i] = ACL{Perms: d.int32(), Scheme: d.string(), ID: d.string()}
	}
	return out
}
