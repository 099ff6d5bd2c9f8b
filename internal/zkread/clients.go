package zkread

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"migrator/internal/zkread/zkconnect"
)

// Client is one open connection to a member of the ensemble.
type Client struct {
	Member  string
	Address string // host:port of the client
	Session int64
}

// Clients asks every member by the four-letter word cons, which must be in its
// 4lw.commands.whitelist; no session is opened for it. Without an answer of
// each the list would prove no absence, so one silent member is an error.
func Clients(ctx context.Context, connect string, login Login) ([]Client, error) {
	addr, err := zkconnect.Parse(connect)
	if err != nil {
		return nil, err
	}
	var out []Client
	for _, member := range addr.Servers {
		list, err := clientsAt(ctx, login, member)
		if err != nil {
			return nil, fmt.Errorf("ask zookeeper member %s for cons: %w", member, err)
		}
		out = append(out, list...)
	}
	return out, nil
}

func clientsAt(ctx context.Context, login Login, addr string) ([]Client, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := fourLetters(ctx, login, addr, "cons")
	if err != nil {
		return nil, err
	}
	if strings.Contains(text, "not executed because it is not in the whitelist") {
		return nil, errors.New("cons is not in its 4lw.commands.whitelist")
	}
	return parseCons(addr, text), nil
}

// parseCons reads lines such as " /10.0.0.1:43312[1](queued=0,...,sid=0x100a,...)".
// A connection without a session is a four-letter word's, ours among them.
func parseCons(member, text string) []Client {
	var out []Client
	for line := range strings.Lines(text) {
		address, rest, ok := strings.Cut(strings.TrimSpace(line), "[")
		_, sid, hasSession := strings.Cut(rest, "sid=0x")
		if !ok || !hasSession || !strings.HasPrefix(address, "/") {
			continue
		}
		sid = sid[:len(sid)-len(strings.TrimLeft(sid, "0123456789abcdefABCDEF"))]
		id, err := strconv.ParseUint(sid, 16, 64)
		if err != nil {
			continue
		}
		out = append(out, Client{Member: member, Address: bounded(address[1:]), Session: int64(id)})
	}
	return out
}
