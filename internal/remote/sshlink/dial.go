package sshlink

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"golang.org/x/crypto/ssh"
)

// dialLimit bounds everything until a host has let us in: each jump host, the
// TCP connection, the key exchange and the login. A host that hangs after it
// accepted the connection costs this long.
const dialLimit = 15 * time.Second

// connect logs in on a host. via opens connections through the last jump host;
// nil without one. The error is a *HostKeyError or an *AuthError where a person
// has to do something.
func connect(ctx context.Context, l login, via func(ctx context.Context, address string) (net.Conn, error)) (*ssh.Client, error) {
	keys, err := readHostKeys(l)
	if err != nil {
		return nil, err
	}
	ids, done, err := loadIdentities(ctx, l)
	if err != nil {
		return nil, err
	}
	defer done()
	if via == nil {
		via = func(ctx context.Context, address string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", address)
		}
	}
	conn, err := via(ctx, l.address())
	if err != nil {
		return nil, err
	}
	// A channel through a jump host knows no deadlines; closing ends any wait.
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	client, err := handshake(conn, l, keys, ids)
	if !stop() && err == nil {
		err = errors.Join(context.Cause(ctx), client.Close())
	}
	switch {
	case err == nil:
		return client, nil
	case ctx.Err() != nil:
		return nil, fmt.Errorf("it accepted the connection and then did not answer: %w", ctx.Err())
	}
	return nil, errors.Join(err, ignoreClosed(conn.Close()))
}

func handshake(conn net.Conn, l login, keys hostKeys, ids identities) (*ssh.Client, error) {
	proven := false // that the host is the one we know
	settings := &ssh.ClientConfig{
		User:              l.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(ids.signers...)},
		HostKeyAlgorithms: keys.algorithms(),
		HostKeyCallback: func(name string, remote net.Addr, key ssh.PublicKey) error {
			err := keys.check(name, remote, key)
			proven = err == nil
			return err
		},
	}
	c, channels, requests, err := ssh.NewClientConn(conn, l.known, settings)
	if err == nil {
		return ssh.NewClient(c, channels, requests), nil
	}
	var hostKey *HostKeyError
	var kinds *ssh.AlgorithmNegotiationError
	var network net.Error
	switch {
	case errors.As(err, &hostKey):
		return nil, hostKey
	case errors.As(err, &kinds) && kinds.What == "host key":
		return nil, keys.noCommonKind(kinds.RequestedAlgorithms)
	case proven && !errors.As(err, &network) && !cut(err):
		return nil, &AuthError{text: fmt.Sprintf("the host does not let %s in; offered: %s. Put the public key into ~%s/.ssh/authorized_keys there, or set access.user and access.key_file; the host's own log says why (journalctl -u ssh)", l.user, ids.said(), l.user)}
	}
	return nil, err
}

func ignoreClosed(err error) error {
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}
