package zkconnect

import (
	"fmt"
	"strings"
	"sync"
)

// Hosts hands a client its servers by name, in turn. The client library's own
// provider resolves names once and keeps addresses, so a member that moves
// stays lost and a TLS certificate is compared with an address.
type Hosts struct {
	mu      sync.Mutex
	servers []string
	current int
	last    int
}

// Init takes the servers; the library calls it first.
func (h *Hosts) Init(servers []string) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.servers, h.current, h.last = servers, -1, -1
	return nil
}

// Len is how many servers there are.
func (h *Hosts) Len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.servers)
}

// Next is the server to try next, and whether all have been tried since the
// last success, so that the library waits a second.
func (h *Hosts) Next() (string, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.current = (h.current + 1) % len(h.servers)
	again := h.current == h.last
	if h.last == -1 {
		h.last = 0
	}
	return h.servers[h.current], again
}

// Connected marks the present server as one that works.
func (h *Hosts) Connected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = h.current
}

// LastWords is a logger that keeps only the client's last complaint: the cause
// that belongs into the error of a call which waited in vain.
type LastWords struct {
	mu   sync.Mutex
	text string
}

// Printf keeps the line; the library calls it for failures only.
func (l *LastWords) Printf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(text) > 300 {
		text = text[:300]
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = strings.ToValidUTF8(text, "?")
}

// Heard keeps a failure that the library itself would drop.
func (l *LastWords) Heard(err error) { l.Printf("%v", err) }

// String is the last complaint, or "".
func (l *LastWords) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text
}
