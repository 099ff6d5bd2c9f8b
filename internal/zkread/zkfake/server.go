// Package zkfake is a small ZooKeeper server in memory, for tests that need
// the wire and no Java: sessions, ephemeral znodes, conditional writes, multi,
// multi-read, four-letter words. It has one member, no watches and no access control but
// "hidden". Sessions end only when a test says so.
package zkfake

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"path"
	"sync"
	"time"
)

const maxFrame = 4 << 20

// Server is one running fake. A four-letter word without an answer is answered
// as one that is not whitelisted.
type Server struct {
	listener net.Listener
	wait     sync.WaitGroup

	mu       sync.Mutex
	tree     tree
	words    map[string]string
	sessions map[int64]bool
	last     int64
	conns    map[net.Conn]int64
	frozen   bool
	closed   bool
	writes   int
	requests int
	limit    int  // of a request, in bytes
	old      bool // before 3.6
	digest   string
	between  map[string]func()
}

// Start listens on a free port of this machine.
func Start() (*Server, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	s := &Server{listener: l, words: map[string]string{}, sessions: map[int64]bool{}, conns: map[net.Conn]int64{}, last: 1000, limit: maxFrame, between: map[string]func(){},
		tree: tree{nodes: map[string]*znode{"/": {kids: map[string]bool{"zookeeper": true}}, "/zookeeper": {}}, now: func() int64 { return time.Now().UnixMilli() }}}
	s.wait.Go(s.accept)
	return s, nil
}

// Addr is host:port.
func (s *Server) Addr() string { return s.listener.Addr().String() }

// Close ends the server and waits for its goroutines.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.listener.Close()
	s.Drop()
	s.wait.Wait()
}

// Put makes a persistent znode with its parents, or replaces its data; nil is null data.
func (s *Server) Put(p string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parents(p)
	if s.tree.create(p, data, 0) == nodeExists {
		s.tree.set(p, data, -1)
	}
}

// PutEphemeral makes a znode of a session that no client has.
func (s *Server) PutEphemeral(p string, data []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parents(p)
	s.tree.create(p, data, 7)
}

func (s *Server) parents(p string) {
	if p == "/" || s.tree.nodes[path.Dir(p)] != nil {
		return
	}
	s.parents(path.Dir(p))
	s.tree.create(path.Dir(p), []byte{}, 0)
}

// Hide makes reads of a znode answer "not allowed".
func (s *Server) Hide(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree.nodes[p].hidden = true
}

// Delete removes a znode without children.
func (s *Server) Delete(p string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tree.delete(p, -1)
}

// Data is a znode's data; ok is false when there is no znode.
func (s *Server) Data(p string) (data []byte, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, ok := s.tree.nodes[p]
	if !ok {
		return nil, false
	}
	return n.data, true
}

// Children are the names below a znode, in order.
func (s *Server) Children(p string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tree.children(p)
}

// Writes counts the write requests of clients, refused ones included.
func (s *Server) Writes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// Requests counts the requests of all clients, connecting apart.
func (s *Server) Requests() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.requests
}

// Connections counts the sessions that are connected.
func (s *Server) Connections() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, session := range s.conns {
		if s.sessions[session] {
			n++
		}
	}
	return n
}

// Limit makes the server drop a connection whose request has more bytes, as
// jute.maxbuffer does.
func (s *Server) Limit(bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limit = bytes
}

// Old makes it a server without multi-read, as those before 3.6.
func (s *Server) Old() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.old = true
}

// Demand makes it refuse every login but this user:password.
func (s *Server) Demand(digest string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.digest = digest
}

// Meanwhile runs do once, right after the first request for the path's data by itself was answered.
func (s *Server) Meanwhile(p string, do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.between[p] = do
}

// meanwhile is what to run after a request.
func (s *Server) meanwhile(op int32, p string) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	do := s.between[p]
	if op != opGetData || do == nil {
		return func() {}
	}
	delete(s.between, p)
	return do
}

// Answer sets the answer to a four-letter word.
func (s *Server) Answer(word, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.words[word] = text
}

// Drop cuts all connections; sessions live on.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.Close()
	}
}

// Expire ends all sessions with their ephemeral znodes and cuts the connections.
func (s *Server) Expire() {
	s.mu.Lock()
	for id := range s.sessions {
		delete(s.sessions, id)
		s.tree.expire(id)
	}
	s.mu.Unlock()
	s.Drop()
}

// Freeze makes the server read requests and answer none, as without a majority.
func (s *Server) Freeze(on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.frozen = on
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		if s.closed {
			c.Close()
		}
		s.conns[c] = 0
		s.mu.Unlock()
		s.wait.Go(func() {
			defer func() {
				c.Close()
				s.mu.Lock()
				delete(s.conns, c)
				s.mu.Unlock()
			}()
			s.serve(c)
		})
	}
}

func (s *Server) serve(c net.Conn) {
	head := make([]byte, 4)
	if _, err := io.ReadFull(c, head); err != nil {
		return
	}
	if head[0] >= 'a' && head[0] <= 'z' {
		s.word(c, string(head))
		return
	}
	session, ok := s.handshake(c, binary.BigEndian.Uint32(head))
	if !ok {
		return
	}
	for {
		if _, err := io.ReadFull(c, head); err != nil {
			return
		}
		s.mu.Lock()
		limit := s.limit
		s.mu.Unlock()
		size := binary.BigEndian.Uint32(head)
		if int64(size) > int64(limit) {
			return
		}
		frame, err := readFrame(c, size)
		if err != nil {
			return
		}
		out, last := s.handle(session, &reader{frame})
		if out == nil {
			continue
		}
		if err := writeFrame(c, out); err != nil || last {
			return
		}
	}
}

func (s *Server) word(c net.Conn, word string) {
	s.mu.Lock()
	text, ok := s.words[word]
	s.mu.Unlock()
	if !ok {
		text = word + " is not executed because it is not in the whitelist.\n"
	}
	// A client that went away needs no answer.
	_, _ = io.WriteString(c, text)
}

func (s *Server) handshake(c net.Conn, size uint32) (int64, bool) {
	frame, err := readFrame(c, size)
	if err != nil {
		return 0, false
	}
	r := &reader{frame}
	r.int()
	r.long()
	timeout, session := r.int(), r.long()
	s.mu.Lock()
	if session == 0 {
		s.last++
		session = s.last
		s.sessions[session] = true
	}
	if !s.sessions[session] {
		session = 0
	}
	s.conns[c] = session
	s.mu.Unlock()
	var w writer
	w.int(0)
	w.int(timeout)
	w.long(session)
	w.buffer(make([]byte, 16))
	return session, writeFrame(c, w.b) == nil && session != 0
}

func readFrame(c net.Conn, size uint32) ([]byte, error) {
	if size > maxFrame {
		return nil, fmt.Errorf("frame of %d bytes", size)
	}
	frame := make([]byte, size)
	_, err := io.ReadFull(c, frame)
	return frame, err
}

func writeFrame(c net.Conn, b []byte) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}
