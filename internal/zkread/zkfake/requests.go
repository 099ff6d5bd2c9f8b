package zkfake

import (
	"fmt"
	"path"
)

// Operations of the protocol.
const (
	opCreate       = 1
	opDelete       = 2
	opExists       = 3
	opGetData      = 4
	opSetData      = 5
	opGetACL       = 6
	opGetChildren  = 8
	opSync         = 9
	opPing         = 11
	opGetChildren2 = 12
	opCheck        = 13
	opMulti        = 14
	opMultiRead    = 22
	opAuth         = 100
	opSASL         = 102
	opClose        = -11
)

// handle answers one request; nil means no answer.
func (s *Server) handle(session int64, r *reader) (out []byte, last bool) {
	xid, op := r.int(), r.int()
	defer s.meanwhile(op, r.peek())()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests++
	if s.frozen {
		return nil, false
	}
	var body writer
	var code int32
	switch op {
	case opPing:
	case opClose:
		delete(s.sessions, session)
		s.tree.expire(session)
		last = true
	case opMulti:
		s.writes++
		code = s.multi(session, r, &body)
	case opMultiRead:
		if s.old {
			code, last = -6, true // a server before 3.6 ends the session
			break
		}
		s.multiRead(r, &body)
	case opAuth:
		r.int()
		r.string()
		if s.digest != "" && r.string() != s.digest {
			code, last = authFailed, true
		}
	case opSASL: // one turn: the client's token comes back, unless it is empty
		token := r.buffer()
		if len(token) == 0 {
			code, last = authFailed, true
		}
		body.buffer(append([]byte("challenge to "), token...))
	default:
		code = s.one(session, op, r, &body)
	}
	var w writer
	w.int(xid)
	w.long(s.tree.zxid)
	w.int(code)
	if code == 0 {
		w.b = append(w.b, body.b...)
	}
	return w.b, last
}

func (s *Server) one(session int64, op int32, r *reader, w *writer) int32 {
	p := r.string()
	switch op {
	case opSync:
		w.string(p)
		return 0
	case opCreate, opDelete, opSetData, opCheck:
		s.writes++
		return s.write(session, op, p, r, w)
	}
	n := s.tree.nodes[p]
	if n == nil {
		return noNode
	}
	if n.hidden && op != opExists {
		return noAuth
	}
	switch op {
	case opExists:
		w.stat(n)
	case opGetData:
		w.buffer(n.data)
		w.stat(n)
	case opGetACL:
		w.int(1)
		w.int(31)
		w.string("world")
		w.string("anyone")
		w.stat(n)
	case opGetChildren, opGetChildren2:
		w.int(int32(len(n.kids)))
		for _, c := range s.tree.children(p) {
			w.string(c)
		}
		if op == opGetChildren2 {
			w.stat(n)
		}
	default:
		return -6
	}
	return 0
}

// multiRead answers each question by itself, as ZooKeeper does since 3.6.
func (s *Server) multiRead(r *reader, w *writer) {
	for {
		op, done := r.int(), r.bool()
		r.int()
		if done || len(r.b) == 0 {
			break
		}
		var body writer
		code := int32(-5)
		if op == opGetData || op == opGetChildren {
			code = s.one(0, op, r, &body)
			r.bool()
		}
		if code != 0 {
			w.int(-1)
			w.bool(false)
			w.int(code)
			w.int(code)
			continue
		}
		w.int(op)
		w.bool(false)
		w.int(0)
		w.b = append(w.b, body.b...)
	}
	w.int(-1)
	w.bool(true)
	w.int(-1)
}

func (s *Server) write(session int64, op int32, p string, r *reader, w *writer) int32 {
	switch op {
	case opCreate:
		data := r.buffer()
		for range r.int() {
			r.int()
			r.string()
			r.string()
		}
		var owner int64
		flags := r.int()
		if flags&1 != 0 {
			owner = session
		}
		if parent := s.tree.nodes[path.Dir(p)]; flags&2 != 0 && parent != nil {
			p += fmt.Sprintf("%010d", parent.cversion)
		}
		w.string(p)
		return s.tree.create(p, data, owner)
	case opDelete:
		return s.tree.delete(p, r.int())
	case opCheck:
		return s.tree.check(p, r.int())
	}
	data := r.buffer()
	code := s.tree.set(p, data, r.int())
	if code == 0 {
		w.stat(s.tree.nodes[p])
	}
	return code
}

// multi does all operations or none.
func (s *Server) multi(session int64, r *reader, w *writer) int32 {
	before := s.tree.clone()
	type result struct {
		op   int32
		code int32
		body []byte
	}
	var results []result
	var failed int32
	for {
		op, done := r.int(), r.bool()
		r.int()
		if done || len(r.b) == 0 {
			break
		}
		p := r.string()
		var body writer
		code := s.write(session, op, p, r, &body)
		if code != 0 && failed == 0 {
			failed = code
		}
		results = append(results, result{op, code, body.b})
	}
	if failed != 0 {
		s.tree.nodes = before
	}
	for _, res := range results {
		if failed != 0 {
			w.int(-1)
			w.bool(false)
			w.int(res.code)
			w.int(res.code)
			continue
		}
		w.int(res.op)
		w.bool(false)
		w.int(0)
		w.b = append(w.b, res.body...)
	}
	w.int(-1)
	w.bool(true)
	w.int(-1)
	return 0
}
