package remote

import (
	"migrator/internal/config"
	"migrator/internal/remote/sshlink"
	"migrator/internal/secrets"
)

// links are this process's ssh connections. Everybody who opens a node (survey,
// observe, execute) shares them, so that a host sees no more of them than
// max_connections says; this is why they are a variable of the package.
var links sshlink.Pool

// ErrLost says that the connection to a node ended while a command ran there,
// which may have been done, or half, or not at all; it goes on if it was begun.
var ErrLost = sshlink.ErrLost

// SSH is another machine, reached as its user logs in. Files are reached with
// commands, which may go through sudo, unlike ssh's own file service.
type SSH struct {
	operations[argvFiles]
	way overSSH
	// Redact replaces secrets in output and in the argv of errors; nil keeps all.
	Redact func(string) string
}

// NewSSH returns the node that an access of kind ssh describes. Nothing is
// contacted until something is asked of it.
func NewSSH(access config.Access) *SSH { return newSSH(&links, access) }

func newSSH(pool *sshlink.Pool, access config.Access) *SSH {
	s := &SSH{Redact: secrets.Redact, way: overSSH{pool: pool, way: sshlink.NewWay(access), become: access.SSH.Become}}
	s.on = argvFiles{on: s.way}
	return s
}

var _ Node = (*SSH)(nil)
