// Package connect opens the readers and clients of one cluster with what
// migrations.yaml says of TLS and users. Nothing is contacted and no secret is
// read before the first connection.
package connect

import (
	"context"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"migrator/internal/canary"
	"migrator/internal/config"
	"migrator/internal/kafkaread"
	"migrator/internal/secrets"
	"migrator/internal/zkread"
	"migrator/internal/zkread/zkwire"
)

// Brokers is the reader of the cluster's brokers.
func Brokers(k config.Kafka) (*kafkaread.Brokers, error) {
	return kafkaread.OpenBrokers(k.Bootstrap, kafkaread.WithLogin(login(k.TLS, k.SASL)...))
}

// Controllers is the reader of its controllers.
func Controllers(m config.Migration) (*kafkaread.Controllers, error) {
	addresses := map[int32]string{}
	for _, c := range m.Inventory().Controllers {
		addresses[c.ID] = net.JoinHostPort(c.Host, fmt.Sprint(c.Port))
	}
	return kafkaread.OpenControllers(addresses, kafkaread.WithLogin(login(m.Quorum.TLS, m.Quorum.SASL)...))
}

// Canary is the cluster as our own client reaches it.
func Canary(k config.Kafka) canary.Cluster {
	return canary.Cluster{Bootstrap: k.Bootstrap, Login: login(k.TLS, k.SASL)}
}

// ZooKeeper is the way to the cluster's ZooKeeper.
func ZooKeeper(z config.ZooKeeper) zkread.Login {
	var out zkread.Login
	if z.TLS != nil {
		d := &dialer{t: z.TLS}
		out.Dial = func(ctx context.Context, server string) (net.Conn, error) { return d.Dial(ctx, "tcp", server) }
	}
	if z.Digest != nil {
		password := remembered(z.Digest.Password)
		out.Digest = func(ctx context.Context) (string, error) {
			text, err := password(ctx)
			return z.Digest.User + ":" + text, err
		}
	}
	if z.SASL != nil {
		out.SASL = zkwire.DigestMD5(z.SASL.User, remembered(z.SASL.Password))
	}
	return out
}

// Reader begins a session with the cluster's ZooKeeper.
func Reader(z config.ZooKeeper, sessionTimeout time.Duration) (*zkread.Reader, error) {
	return zkread.Open(z.Connect, sessionTimeout, ZooKeeper(z))
}

func login(t *config.TLS, s *config.SASL) []kgo.Opt {
	var out []kgo.Opt
	if t != nil {
		out = append(out, kgo.Dialer((&dialer{t: t}).Dial))
	}
	if s != nil {
		out = append(out, kgo.SASL(mechanism(s)))
	}
	return out
}

// mechanism asks for the password at each login.
func mechanism(s *config.SASL) sasl.Mechanism {
	password := remembered(s.Password)
	if s.Mechanism == "PLAIN" {
		return plain.Plain(func(ctx context.Context) (plain.Auth, error) {
			text, err := password(ctx)
			return plain.Auth{User: s.User, Pass: text}, err
		})
	}
	auth := func(ctx context.Context) (scram.Auth, error) {
		text, err := password(ctx)
		return scram.Auth{User: s.User, Pass: text}, err
	}
	if s.Mechanism == "SCRAM-SHA-256" {
		return scram.Sha256(auth)
	}
	return scram.Sha512(auth)
}

// rememberFor keeps a password that a command gave: each broker is a login of
// its own, and a changed password is taken up after this time without a restart.
const rememberFor = time.Minute

func remembered(from *config.SecretSource) func(context.Context) (string, error) {
	var mu sync.Mutex
	var read time.Time
	var kept config.Secret
	return func(ctx context.Context) (string, error) {
		mu.Lock()
		defer mu.Unlock()
		if kept.Empty() || time.Since(read) > rememberFor {
			secret, err := secrets.Read(ctx, from)
			if err != nil {
				return "", err
			}
			kept, read = secret, time.Now()
		}
		return kept.Reveal(), nil
	}
}
