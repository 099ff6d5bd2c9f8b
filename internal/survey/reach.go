package survey

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/remote"
	"migrator/internal/zkread"
)

// connectLimit is how long a connection may take. A firewall that drops packets
// shows as this time.
const connectLimit = 3 * time.Second

// reach tries connections from the node: this process does it where the node
// is this machine, else a tool that the node has.
func reach(ctx context.Context, n config.Node, list []findings.Connection) []findings.Reach {
	machine, failed := remote.Open(n.Access)
	var out []findings.Reach
	for _, c := range list {
		result := fact(ctx, "a connection from "+n.Name(), func(ctx context.Context) (findings.Reached, error) {
			if n.Access.Kind == "local" {
				return dial(ctx, c.To)
			}
			if failed != nil {
				return "", failed
			}
			return fromAfar(ctx, looker{machine: machine, node: n}, c.To)
		})
		out = append(out, findings.Reach{Connection: c, Result: result})
	}
	return out
}

func dial(ctx context.Context, to string) (findings.Reached, error) {
	ctx, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", to)
	switch {
	case err == nil:
		return findings.Open, conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return findings.Refused, nil
	}
	return findings.Failed(err.Error()), nil
}

// dialer is run by python3 where nc is absent; host and port are arguments.
const dialer = `import socket,sys
try:
    socket.create_connection((sys.argv[1],int(sys.argv[2])),3).close()
except OSError as e:
    print(e); sys.exit(1)`

func fromAfar(ctx context.Context, l looker, to string) (findings.Reached, error) {
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return "", err
	}
	var missing []string
	tries := [][]string{{"nc", "-z", "-v", "-w", "3", host, port}, {"python3", "-c", dialer, host, port}}
	for len(tries) > 0 {
		argv := tries[0]
		tries = tries[1:]
		r, err := l.machine.Run(ctx, argv)
		text := r.Stdout + r.Stderr
		var absent *remote.NotStartedError
		switch {
		case err != nil && !(errors.As(err, &absent) && absent.NoProgram()):
			return "", err // it is the way to the node that fails, not its tools
		case err == nil && r.Exit == 1 && strings.Contains(text, "BusyBox"):
			// Usage, since not every build of it knows -z. With -e it becomes that
			// program once it is connected.
			tries = append(tries, []string{"nc", "-w", "3", host, port, "-e", "true"})
			missing = append(missing, argv[0]+" -z")
		case err != nil || r.Exit == 127:
			missing = append(missing, argv[0])
		case r.Exit == 0:
			return findings.Open, nil
		case r.Exit == 1 && strings.Contains(strings.ToLower(text), "refused"):
			return findings.Refused, nil
		case r.Exit == 1:
			return findings.Failed(strings.TrimSpace(text)), nil
		default:
			missing = append(missing, fmt.Sprintf("%s (exit %d)", argv[0], r.Exit))
		}
	}
	return "", fmt.Errorf("no tool on the node can try it: %s", strings.Join(missing, ", "))
}

// clientsOf names, for each client of ZooKeeper, the nodes of the inventory
// whose host has its address.
func clientsOf(ctx context.Context, m config.Migration, list []findings.ZKClient) []findings.ZKClient {
	hosts := map[netip.Addr][]string{}
	for _, n := range m.Nodes {
		addrs, err := net.DefaultResolver.LookupHost(ctx, n.Host)
		if err != nil {
			continue
		}
		for _, text := range addrs {
			if a, err := netip.ParseAddr(text); err == nil {
				hosts[a.Unmap()] = append(hosts[a.Unmap()], n.Name())
			}
		}
	}
	for i, c := range list {
		// ZooKeeper writes IPv6 addresses without brackets.
		at := max(strings.LastIndexByte(c.Address, ':'), 0)
		if a, err := netip.ParseAddr(strings.Trim(c.Address[:at], "[]")); err == nil {
			list[i].Nodes = hosts[a.Unmap()]
		}
	}
	return list
}

// secondLook is when connections are asked for again: what this program has
// just closed is gone by then.
const secondLook = 500 * time.Millisecond

// clients are the connections that ZooKeeper's members show twice.
func clients(ctx context.Context, m config.Migration) facts.Fact[[]findings.ZKClient] {
	return fact(ctx, "the four-letter word cons", func(ctx context.Context) ([]findings.ZKClient, error) {
		login := connect.ZooKeeper(m.ZooKeeper)
		before, err := zkread.Clients(ctx, m.ZooKeeper.Connect, login)
		if err != nil {
			return nil, err
		}
		select {
		case <-time.After(secondLook):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		now, err := zkread.Clients(ctx, m.ZooKeeper.Connect, login)
		if err != nil {
			return nil, err
		}
		var out []findings.ZKClient
		for _, c := range now {
			if slices.Contains(before, c) {
				out = append(out, findings.ZKClient{Member: c.Member, Address: findings.Bounded(c.Address), Session: c.Session})
			}
		}
		return clientsOf(ctx, m, out), nil
	})
}
