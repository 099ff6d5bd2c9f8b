package observe

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
)

// listens says whether a node's port is open. A refused connection is no; one
// that runs out of time is no answer.
func (o *Observer) listens(ctx context.Context, n config.Node) (bool, error) {
	address, err := o.portOf(ctx, n)
	if err != nil {
		return false, err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", address)
	switch {
	case err == nil:
		return true, conn.Close()
	case errors.Is(err, syscall.ECONNREFUSED):
		return false, nil
	}
	return false, fmt.Errorf("its port %s: %w", address, err)
}

// portOf is where a node listens: a controller by migrations.yaml, a broker as
// it registered, else by the copy of its file.
func (o *Observer) portOf(ctx context.Context, n config.Node) (string, error) {
	if n.Role == cluster.Controller {
		return hostPort(n.Host, n.Port), nil
	}
	if address, ok := o.book.address(n.ID); ok {
		return address, nil
	}
	machine, err := o.sources.nodes.open(n.Access)
	if err != nil {
		return "", err
	}
	content, err := machine.ReadFile(ctx, n.Properties)
	if err != nil {
		return "", fmt.Errorf("where it listens is not known: %w", err)
	}
	doc, err := configgen.Parse(content)
	if err != nil {
		return "", fmt.Errorf("where it listens is not known: %w", err)
	}
	listeners, _ := doc.Value("listeners")
	first, _, _ := strings.Cut(listeners, ",")
	_, at, _ := strings.Cut(first, "://")
	host, port, err := net.SplitHostPort(strings.TrimSpace(at))
	switch {
	case err != nil:
		return "", fmt.Errorf("where it listens is not known: listeners=%s in %s", bounded(listeners, maxCause/4), n.Properties)
	case host == "" || host == "0.0.0.0" || host == "::":
		host = n.Host
	}
	return net.JoinHostPort(host, port), nil
}
