// Package zkread reads what Kafka keeps in ZooKeeper, as typed values. It is
// read-only by its type: no exported method can write. A znode that is absent
// is said to be absent and never shows as zero values.
package zkread

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"migrator/internal/zkread/zkconnect"
	"migrator/internal/zkread/zkwire"
)

// maxAnswer bounds one answer; the children of a very full znode come in one.
const maxAnswer = 64 << 20

// ParseConnect splits a connect string into host:port servers and a chroot,
// which is "" or begins with a slash and does not end in one.
func ParseConnect(s string) (servers []string, chroot string, err error) {
	a, err := zkconnect.Parse(s)
	if err != nil {
		return nil, "", err
	}
	return a.Servers, a.Chroot, nil
}

// Reader reads one cluster's tree. Its methods may be called at the same time.
type Reader struct {
	addr    zkconnect.Address
	timeout time.Duration
	login   zkwire.Login
	words   *zkconnect.LastWords
	conn    *zk.Conn       // for single reads
	wire    *zkwire.Client // for scans
}

// Login says how members are reached and who we are there; zero is plaintext
// and nobody.
type Login = zkwire.Login

// Open begins a session and does not wait for it: the first read does, within
// its context. sessionTimeout bounds how long a silent member is waited for.
func Open(connect string, sessionTimeout time.Duration, login Login) (*Reader, error) {
	addr, err := zkconnect.Parse(connect)
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	return openAt(addr, sessionTimeout, login)
}

func openAt(addr zkconnect.Address, sessionTimeout time.Duration, login Login) (*Reader, error) {
	r := &Reader{addr: addr, timeout: sessionTimeout, login: login, words: &zkconnect.LastWords{},
		wire: zkwire.New(addr, zkwire.Options{SessionTimeout: sessionTimeout, MaxAnswer: maxAnswer, Login: login})}
	var err error
	r.conn, _, err = zk.Connect(r.addr.Servers, r.timeout, zk.WithHostProvider(&zkconnect.Hosts{}),
		zk.WithLogger(r.words), zk.WithLogInfo(false), zk.WithMaxBufferSize(maxAnswer),
		zk.WithDialer(login.Dialer(r.words.Heard)))
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	return r, nil
}

// Close ends the sessions. Reads in flight answer with an error.
func (r *Reader) Close() {
	var wait sync.WaitGroup
	wait.Go(r.conn.Close) // a silent member costs a second
	wait.Go(r.wire.Close)
	wait.Wait()
}

// node is one answer to a read.
type node struct {
	present bool
	data    []byte
	stat    zk.Stat
}

// fresh reads a znode after a sync, since any member may answer with an old
// value (KAFKA-16667 bit Kafka itself).
func (r *Reader) fresh(ctx context.Context, path string) (node, error) {
	_, err := r.ask(ctx, "/", func() (node, error) {
		_, err := r.conn.Sync(r.full("/"))
		return node{}, err
	})
	if err != nil {
		return node{}, err
	}
	return r.ask(ctx, path, func() (node, error) {
		data, stat, err := r.conn.Get(r.full(path))
		if err != nil {
			return node{}, err
		}
		return node{present: true, data: data, stat: *stat}, nil
	})
}

// ask repeats a read whose connection went away, and sorts its outcome into
// present, absent, not allowed and unreachable. The library knows no context,
// so each call runs beside us and is left alone when time is up.
func (r *Reader) ask(ctx context.Context, path string, call func() (node, error)) (node, error) {
	for attempt := 1; ; attempt++ {
		n, err := await(ctx, call)
		switch {
		case err == nil:
			return n, nil
		case errors.Is(err, zk.ErrNoNode):
			return node{}, nil
		case errors.Is(err, zk.ErrNoAuth):
			return node{}, notAllowed(path)
		case attempt < 3 && (errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) || errors.Is(err, zk.ErrNoServer)):
			// The last one also comes while the only server takes a moment to let us in again.
			continue
		}
		return node{}, r.unreachable(path, err)
	}
}

func notAllowed(path string) *NodeError {
	return &NodeError{Path: path, NotAllowed: true,
		Reason: "exists, but its acl does not let us read it: give the migrator the brokers' zookeeper credentials or read access"}
}

func (r *Reader) unreachable(path string, cause error) error {
	err := fmt.Errorf("read %s of zookeeper %v: %w: %w", r.full(path), r.addr.Servers, ErrUnreachable, cause)
	if words := r.words.String(); words != "" {
		err = fmt.Errorf("%w (the client's last complaint: %s)", err, words)
	}
	return err
}

func (r *Reader) full(path string) string {
	switch {
	case r.addr.Chroot == "":
		return path
	case path == "/":
		return r.addr.Chroot
	}
	return r.addr.Chroot + path
}

type answer[T any] struct {
	value T
	err   error
}

// await runs a call that knows no context. A call that outlives its context
// ends by itself when the library gives its connection up.
func await[T any](ctx context.Context, call func() (T, error)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	done := make(chan answer[T], 1)
	go func() {
		v, err := call()
		done <- answer[T]{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}
