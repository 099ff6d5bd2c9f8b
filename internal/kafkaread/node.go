// Package kafkaread asks Kafka's own protocol: brokers for metadata, single
// nodes for their versions, controllers for the quorum and the metadata log.
// It only reads. Every call ends with its context and returns values or an
// error; what an answer means is judged elsewhere.
package kafkaread

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// ErrNotAuthorized is in the chain of an error where Kafka refused the
// question: the signal is missing, the node is not.
var ErrNotAuthorized = errors.New("not authorized")

// Option changes how nodes are reached.
type Option func(*settings)

type settings struct {
	dialTimeout time.Duration
	overhead    time.Duration
	login       []kgo.Opt
}

// WithLogin says how every connection gets in: its dialer and its SASL user.
func WithLogin(opts ...kgo.Opt) Option {
	return func(s *settings) { s.login = opts }
}

// WithDialTimeout limits how long one connection may take to open; 2 s without it.
func WithDialTimeout(d time.Duration) Option {
	return func(s *settings) { s.dialTimeout = d }
}

func newSettings(opts []Option) settings {
	s := settings{dialTimeout: 2 * time.Second, overhead: 5 * time.Second}
	for _, opt := range opts {
		opt(&s)
	}
	return s
}

// Request keys this package looks for in a node's ApiVersions answer.
const (
	keyMetadata       = 3
	keyUpdateMetadata = 6
	keyApiVersions    = 18
	keyDescribeQuorum = 55
)

// node is one address, always asked directly: a client that knows several
// nodes retries and picks among them, and so hides which one is dead.
type node struct {
	addr   string
	client *kgo.Client
}

// dial makes the client; it opens no connection yet.
func dial(addr string, s settings, controller bool) (*node, error) {
	versions := kversion.Stable()
	versions.SetMaxKeyVersion(keyApiVersions, 4) // 3.9 knows no later one
	if controller {
		// Controllers serve no Metadata and close the connection on it; without
		// the key the client cannot send it by itself.
		versions.SetMaxKeyVersion(keyMetadata, -1)
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(addr),
		kgo.MaxVersions(versions),
		kgo.SoftwareNameAndVersion("migrator", "1"),
		kgo.ClientID("migrator"),
		kgo.DialTimeout(s.dialTimeout),
		kgo.RequestTimeoutOverhead(s.overhead),
		kgo.RequestRetries(0),
		kgo.MetadataMaxAge(time.Hour),
	}
	client, err := kgo.NewClient(append(opts, s.login...)...)
	if err != nil {
		return nil, fmt.Errorf("client for %s: %w", addr, err)
	}
	return &node{addr: addr, client: client}, nil
}

func (n *node) close() { n.client.Close() }

// ask sends one request. A connection that the node closed while it lay idle
// shows only when used, so a question is put a second time unless the node
// could not be reached at all.
func ask[R kmsg.Response](ctx context.Context, n *node, req kmsg.Request) (R, error) {
	var zero R
	resp, err := n.client.SeedBrokers()[0].Request(ctx, req)
	if err != nil && ctx.Err() == nil && !isDial(err) {
		resp, err = n.client.SeedBrokers()[0].Request(ctx, req)
	}
	if err != nil {
		return zero, fmt.Errorf("%s at %s: %w", kmsg.NameForKey(req.Key()), n.addr, err)
	}
	typed, ok := resp.(R)
	if !ok {
		return zero, fmt.Errorf("%s at %s: answer of type %T", kmsg.NameForKey(req.Key()), n.addr, resp)
	}
	return typed, nil
}

func isDial(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// codeErr turns a Kafka error code into an error, nil for 0.
func codeErr(code int16) error {
	err := kerr.ErrorForCode(code)
	if errors.Is(err, kerr.ClusterAuthorizationFailed) || errors.Is(err, kerr.TopicAuthorizationFailed) {
		return fmt.Errorf("%w: %w", ErrNotAuthorized, err)
	}
	return err
}
