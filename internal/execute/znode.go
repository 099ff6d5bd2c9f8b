package execute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-zookeeper/zk"

	"migrator/internal/zkread"
	"migrator/internal/zkread/zkconnect"
)

const (
	lockParent = "/migrator"
	lockPath   = "/migrator/driver"
)

// HeldError says that another service drives the cluster.
type HeldError struct {
	Owner string    // what the other service says of itself
	Since time.Time // by ZooKeeper's clock
}

// Error names the holder and what to do.
func (e *HeldError) Error() string {
	return fmt.Sprintf("another migrator drives this cluster: %s holds %s since %s; stop that service, or wait until its session has ended",
		e.Owner, lockPath, e.Since.UTC().Format(time.RFC3339))
}

// ErrNotHeld says that this service does not hold the driver lock.
var ErrNotHeld = errors.New("the driver lock is not held")

// ZNodes is every ZooKeeper write of the program. It holds the lock that keeps
// two services from driving one cluster: an ephemeral znode.
type ZNodes struct {
	conn    *zk.Conn
	chroot  string
	store   string
	timeout time.Duration
	words   *zkconnect.LastWords

	changed chan struct{} // the session's state changed; holds one
	stop    context.CancelFunc
	stopped context.Context
	keeper  sync.WaitGroup
	lost    chan struct{}

	mu    sync.Mutex
	lock  lockState
	owner string
	away  time.Time // when the connection went away; zero while it is there
}

// lockState is what we know of our lock.
type lockState struct {
	wanted  bool  // Acquire succeeded, and nobody took the lock since
	session int64 // that owns the znode
	version int32 // of the znode
}

// OpenZNodes begins a session and does not wait for it. store is the id of the
// journal: a lock that a killed service left behind is taken over by the
// service that has the same journal, which only one process can have open.
func OpenZNodes(connect string, sessionTimeout time.Duration, login zkread.Login, store string) (*ZNodes, error) {
	addr, err := zkconnect.Parse(connect)
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	z := &ZNodes{chroot: addr.Chroot, store: store, timeout: sessionTimeout, words: &zkconnect.LastWords{},
		changed: make(chan struct{}, 1), lost: make(chan struct{})}
	z.conn, _, err = zk.Connect(addr.Servers, sessionTimeout, zk.WithHostProvider(&zkconnect.Hosts{}),
		zk.WithLogger(z.words), zk.WithLogInfo(false), zk.WithEventCallback(z.event),
		zk.WithDialer(login.Dialer(z.words.Heard)))
	if err != nil {
		return nil, fmt.Errorf("connect to zookeeper: %w", err)
	}
	z.stopped, z.stop = context.WithCancel(context.Background())
	z.keeper.Go(z.keep)
	return z, nil
}

// Close gives the lock up by ending the session.
func (z *ZNodes) Close() {
	z.stop()
	z.keeper.Wait()
	z.conn.Close()
}

// Acquire takes the driver lock, or answers *HeldError. owner is what another
// service shows to its operator: host and process id. It may be called again.
func (z *ZNodes) Acquire(ctx context.Context, owner string) error {
	select {
	case <-z.lost:
		return fmt.Errorf("take the driver lock: %w: it was lost to another service; open it anew", ErrNotHeld)
	default:
	}
	if err := z.acquire(ctx, owner); err != nil {
		return err
	}
	z.mu.Lock()
	defer z.mu.Unlock()
	z.owner = owner
	return nil
}

// Held says whether the lock is surely ours at this moment. It is not once the
// connection has been away so long that our session may have ended unseen: a
// silence shows after two thirds of the session's timeout, so one third is left.
func (z *ZNodes) Held() bool {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.lock.wanted && z.lock.session == z.conn.SessionID() &&
		(z.away.IsZero() || time.Since(z.away) < z.timeout/3)
}

// Lost is closed once another service holds the lock or somebody removed it.
func (z *ZNodes) Lost() <-chan struct{} { return z.lost }

// Writable proves that ZooKeeper accepts writes, and so has a majority, by
// setting our own lock znode to what it is. It needs the lock.
func (z *ZNodes) Writable(ctx context.Context) error {
	z.mu.Lock()
	lock, owner := z.lock, z.owner
	z.mu.Unlock()
	if !lock.wanted || lock.session != z.conn.SessionID() {
		return fmt.Errorf("write %s: %w at this moment", lockPath, ErrNotHeld)
	}
	for range 2 {
		version := lock.version
		stat, err := call(ctx, func() (*zk.Stat, error) { return z.conn.Set(z.full(lockPath), z.content(owner), version) })
		if err == nil && stat.EphemeralOwner == lock.session {
			z.mu.Lock()
			z.lock.version = stat.Version
			z.mu.Unlock()
			return nil
		}
		if err != nil && !errors.Is(err, zk.ErrBadVersion) && !errors.Is(err, zk.ErrNoNode) {
			return z.failed("write "+lockPath, err)
		}
		// An answer that got lost may have moved the version on, or the session
		// has ended and the keeper is about to take the lock again.
		if lock, err = z.look(ctx); err != nil {
			return err
		}
	}
	return fmt.Errorf("write %s: its version does not stand still", lockPath)
}

func (z *ZNodes) acquire(ctx context.Context, owner string) error {
	if err := z.makeParent(ctx); err != nil {
		return err
	}
	for range 10 {
		_, err := call(ctx, func() (string, error) {
			return z.conn.Create(z.full(lockPath), z.content(owner), zk.FlagEphemeral, zk.WorldACL(zk.PermAll))
		})
		if err != nil && !errors.Is(err, zk.ErrNodeExists) && !again(err) {
			return z.failed("create "+lockPath, err)
		}
		seen, err := z.read(ctx)
		if err != nil {
			return err
		}
		switch {
		case !seen.present:
		case seen.stat.EphemeralOwner == z.conn.SessionID():
			z.mu.Lock()
			z.lock.wanted, z.lock.session, z.lock.version = true, seen.stat.EphemeralOwner, seen.stat.Version
			z.mu.Unlock()
			return nil
		case seen.store != z.store || z.store == "":
			return &HeldError{Owner: seen.owner, Since: time.UnixMilli(seen.stat.Ctime)}
		default:
			if err := z.takeOver(ctx, owner, seen.stat.Version); err != nil {
				return err
			}
		}
	}
	return fmt.Errorf("take %s: it comes and goes; is another service starting and stopping?", lockPath)
}

// takeOver replaces the lock of a service with our own journal, which is dead:
// its session lives on until it times out. By version and in one multi, so that
// a third service that was faster is not robbed.
func (z *ZNodes) takeOver(ctx context.Context, owner string, version int32) error {
	_, err := call(ctx, func() ([]zk.MultiResponse, error) {
		return z.conn.Multi(
			&zk.DeleteRequest{Path: z.full(lockPath), Version: version},
			&zk.CreateRequest{Path: z.full(lockPath), Data: z.content(owner), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagEphemeral})
	})
	if err == nil || again(err) || errors.Is(err, zk.ErrBadVersion) || errors.Is(err, zk.ErrNoNode) || errors.Is(err, zk.ErrNodeExists) {
		return nil // the next look tells who has it
	}
	return z.failed("take over "+lockPath, err)
}

func (z *ZNodes) makeParent(ctx context.Context) error {
	for range 3 {
		_, err := call(ctx, func() (string, error) {
			return z.conn.Create(z.full(lockParent), []byte{}, 0, zk.WorldACL(zk.PermAll))
		})
		switch {
		case err == nil || errors.Is(err, zk.ErrNodeExists):
			return nil
		case errors.Is(err, zk.ErrNoNode):
			return fmt.Errorf("create %s: the chroot %s does not exist: compare zookeeper.connect with the brokers'", z.full(lockParent), z.chroot)
		case !again(err):
			return z.failed("create "+lockParent, err)
		}
	}
	return z.failed("create "+lockParent, zk.ErrConnectionClosed)
}

// seenLock is the lock znode as somebody wrote it.
type seenLock struct {
	present bool
	stat    zk.Stat
	owner   string
	store   string
}

type lockContent struct {
	Owner string `json:"owner"`
	Store string `json:"store"`
}

func (z *ZNodes) content(owner string) []byte {
	b, err := json.Marshal(lockContent{Owner: owner, Store: z.store})
	if err != nil {
		return nil // two strings always marshal
	}
	return b
}

func (z *ZNodes) read(ctx context.Context) (seenLock, error) {
	var err error
	for range 3 {
		var seen seenLock
		seen, err = call(ctx, func() (seenLock, error) {
			data, stat, err := z.conn.Get(z.full(lockPath))
			if err != nil {
				return seenLock{}, err
			}
			return seenLock{present: true, stat: *stat, owner: printable(data)}.withContent(data), nil
		})
		switch {
		case err == nil:
			return seen, nil
		case errors.Is(err, zk.ErrNoNode):
			return seenLock{}, nil
		case !again(err):
			return seenLock{}, z.failed("read "+lockPath, err)
		}
	}
	return seenLock{}, z.failed("read "+lockPath, err)
}

func (s seenLock) withContent(data []byte) seenLock {
	var c lockContent
	if len(data) <= 4096 && json.Unmarshal(data, &c) == nil && c.Owner != "" {
		s.owner, s.store = printable([]byte(c.Owner)), c.Store
	}
	return s
}

// printable bounds what another service, or anybody, wrote.
func printable(b []byte) string {
	q := strconv.QuoteToASCII(string(b[:min(len(b), 200)]))
	return q[1 : len(q)-1]
}

func (z *ZNodes) full(path string) string { return z.chroot + path }

func (z *ZNodes) failed(what string, cause error) error {
	err := fmt.Errorf("%s in zookeeper: %w", what, cause)
	if words := z.words.String(); words != "" {
		err = fmt.Errorf("%w (the client's last complaint: %s)", err, words)
	}
	return err
}

// again says that an answer got lost with its connection: look, then repeat.
func again(err error) bool {
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired)
}

// call runs a call of the library, which knows no context. One that outlives
// its context ends by itself when the library gives its connection up.
func call[T any](ctx context.Context, f func() (T, error)) (T, error) {
	type answer struct {
		value T
		err   error
	}
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	done := make(chan answer, 1)
	go func() {
		v, err := f()
		done <- answer{v, err}
	}()
	select {
	case a := <-done:
		return a.value, a.err
	case <-ctx.Done():
		return none, ctx.Err()
	}
}

// ZnodesBack is what a revert changes, each by the version that was read.
type ZnodesBack struct {
	EpochVersion int32  // of /controller_epoch: checked, or set from
	RaiseTo      *int32 // new /controller_epoch; nil: only checked
	Controller   *int32 // version of /controller to delete; nil: a broker holds it, or nobody
	Migration    *int32 // version of /migration to delete; nil: it does not exist
}

// Back changes all of it in one multi, or nothing: a controller epoch that
// moved or a znode that somebody wrote meanwhile makes it fail.
func (z *ZNodes) Back(ctx context.Context, b ZnodesBack) error {
	var ops []any
	if b.RaiseTo != nil {
		ops = append(ops, &zk.SetDataRequest{Path: z.full("/controller_epoch"), Data: strconv.AppendInt(nil, int64(*b.RaiseTo), 10), Version: b.EpochVersion})
	} else {
		ops = append(ops, &zk.CheckVersionRequest{Path: z.full("/controller_epoch"), Version: b.EpochVersion})
	}
	if b.Controller != nil {
		ops = append(ops, &zk.DeleteRequest{Path: z.full("/controller"), Version: *b.Controller})
	}
	if b.Migration != nil {
		ops = append(ops, &zk.DeleteRequest{Path: z.full("/migration"), Version: *b.Migration})
	}
	_, err := call(ctx, func() ([]zk.MultiResponse, error) { return z.conn.Multi(ops...) })
	if err != nil {
		return z.failed("give /controller back (nothing was changed)", err)
	}
	return nil
}
