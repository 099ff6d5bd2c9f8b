package zkfake

import "encoding/binary"

// reader takes values off a request; past its end it gives zero values.
type reader struct{ b []byte }

func (r *reader) take(n int) []byte {
	if n < 0 || n > len(r.b) {
		r.b = nil
		return nil
	}
	out := r.b[:n]
	r.b = r.b[n:]
	return out
}

func (r *reader) int() int32 {
	b := r.take(4)
	if b == nil {
		return 0
	}
	return int32(binary.BigEndian.Uint32(b))
}

func (r *reader) long() int64 {
	b := r.take(8)
	if b == nil {
		return 0
	}
	return int64(binary.BigEndian.Uint64(b))
}

func (r *reader) bool() bool {
	b := r.take(1)
	return b != nil && b[0] != 0
}

// buffer tells null, which has length -1, from empty.
func (r *reader) buffer() []byte {
	n := r.int()
	if n < 0 {
		return nil
	}
	return append([]byte{}, r.take(int(n))...)
}

func (r *reader) string() string { return string(r.buffer()) }

// peek is a string that stays where it is.
func (r *reader) peek() string {
	ahead := *r
	return ahead.string()
}

type writer struct{ b []byte }

func (w *writer) int(v int32)  { w.b = binary.BigEndian.AppendUint32(w.b, uint32(v)) }
func (w *writer) long(v int64) { w.b = binary.BigEndian.AppendUint64(w.b, uint64(v)) }

func (w *writer) bool(v bool) {
	if v {
		w.b = append(w.b, 1)
	} else {
		w.b = append(w.b, 0)
	}
}

func (w *writer) buffer(v []byte) {
	if v == nil {
		w.int(-1)
		return
	}
	w.int(int32(len(v)))
	w.b = append(w.b, v...)
}

func (w *writer) string(v string) { w.buffer([]byte(v)) }

func (w *writer) stat(n *znode) {
	w.long(n.czxid)
	w.long(n.mzxid)
	w.long(n.mtime)
	w.long(n.mtime)
	w.int(n.version)
	w.int(n.cversion)
	w.int(0)
	w.long(n.owner)
	w.int(int32(len(n.data)))
	w.int(int32(len(n.kids)))
	w.long(n.pzxid)
}
