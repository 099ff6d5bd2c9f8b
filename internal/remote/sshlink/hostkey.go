package sshlink

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"

	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	xknownhosts "golang.org/x/crypto/ssh/knownhosts"
)

// HostKeyError is a host that could not prove to be the one known. Nothing was
// sent to it. Its text tells a person what to compare.
type HostKeyError struct {
	Host    string
	Offered string // kind and fingerprint; empty when the host has no key of a known kind
	Known   []string
	text    string
}

func (e *HostKeyError) Error() string { return e.text }

// hostKeys judges the keys that hosts offer by known_hosts files.
type hostKeys struct {
	login login
	db    *knownhosts.HostKeyDB
	names []string // the files, for messages
}

// readHostKeys reads the files anew for each connection: who adds a key need
// not restart the service. A missing file knows no host.
func readHostKeys(l login) (hostKeys, error) {
	h := hostKeys{login: l, names: l.knownHosts}
	var there []string
	for _, f := range l.knownHosts {
		switch _, err := os.Stat(f); {
		case err == nil:
			there = append(there, f)
		case !errors.Is(err, fs.ErrNotExist):
			return h, fmt.Errorf("known_hosts: %w", err)
		}
	}
	var err error
	h.db, err = knownhosts.NewDB(there...)
	if err != nil {
		return h, fmt.Errorf("known_hosts: %w", err)
	}
	return h, nil
}

// algorithms asks the host for a key of a kind that is known; without this a
// host with several keys offers another one and looks changed.
func (h hostKeys) algorithms() []string { return h.db.HostKeyAlgorithms(h.login.known) }

// check is the ssh.HostKeyCallback.
func (h hostKeys) check(_ string, remote net.Addr, key ssh.PublicKey) error {
	if _, _, err := net.SplitHostPort(remote.String()); err != nil {
		remote = &net.TCPAddr{IP: net.IPv4zero} // behind a jump host there is no address of its own
	}
	err := h.db.HostKeyCallback()(h.login.known, remote, key)
	var unknown *xknownhosts.KeyError
	var revoked *xknownhosts.RevokedError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &revoked):
		return &HostKeyError{Host: h.login.known, Offered: shown(key), text: fmt.Sprintf(
			"the host offers the key %s, which %s:%d revokes: somebody else may hold it. Nothing was sent. Give the host a new key",
			shown(key), revoked.Revoked.Filename, revoked.Revoked.Line)}
	case errors.As(err, &unknown):
		return h.refusal(key, unknown.Want)
	default:
		return &HostKeyError{Host: h.login.known, Offered: shown(key), text: fmt.Sprintf("the host offers the key %s, which is refused: %v", shown(key), err)}
	}
}

// refusal says what was offered, what is known, and how to find out which is right.
func (h hostKeys) refusal(key ssh.PublicKey, want []xknownhosts.KnownKey) error {
	e := &HostKeyError{Host: h.login.known, Offered: shown(key)}
	for _, w := range want {
		e.Known = append(e.Known, fmt.Sprintf("%s:%d has %s", w.Filename, w.Line, shown(w.Key)))
	}
	compare := fmt.Sprintf("Only if the host's own console (ssh-keygen -lf /etc/ssh/ssh_host_%s_key.pub) shows the offered one: ", short(key.Type()))
	if len(want) == 0 {
		e.text = fmt.Sprintf("the host's key is not known: it offers %s, and %s has none for %s. %s%s", e.Offered, strings.Join(h.names, ", "), h.name(), compare, h.scan(key))
		return e
	}
	e.text = fmt.Sprintf("the host's key has changed: it offers %s, but %s. Nothing was sent; it was set up anew, or another machine answers. %sssh-keygen -R '%s' -f %s; %s",
		e.Offered, strings.Join(e.Known, ", "), compare, h.name(), want[0].Filename, h.scan(key))
	return e
}

// noCommonKind is the error of a host that has no key of a kind that is known.
func (h hostKeys) noCommonKind(offered []string) error {
	e := &HostKeyError{Host: h.login.known}
	for _, k := range h.db.HostKeys(h.login.known) {
		e.Known = append(e.Known, shown(k.PublicKey))
	}
	e.text = fmt.Sprintf("the host's key has changed: it offers keys of the kinds %s, but %s has only %s for %s. Nothing was sent; it was set up anew, or another machine answers. Add its key only after you compared it on the host's own console: %s",
		strings.Join(offered, ", "), strings.Join(h.names, ", "), strings.Join(e.Known, ", "), h.name(), h.scan(nil))
	return e
}

// scan is the command that fetches a host's keys into known_hosts.
func (h hostKeys) scan(key ssh.PublicKey) string {
	kind := ""
	if key != nil {
		kind = "-t " + short(key.Type()) + " "
	}
	line := fmt.Sprintf("ssh-keyscan %s-p %s %s >> %s", kind, h.login.port, h.login.host, h.names[0])
	if n := len(h.login.jumps); n > 0 {
		line = fmt.Sprintf("ssh %s %s", h.login.jumps[n-1].Host, line)
	}
	return line
}

// name is how known_hosts writes the host.
func (h hostKeys) name() string { return knownhosts.Normalize(h.login.known) }

func shown(key ssh.PublicKey) string { return key.Type() + " " + ssh.FingerprintSHA256(key) }

// short is the kind as ssh-keyscan -t and the file names of host keys say it.
func short(keyType string) string {
	switch {
	case strings.HasPrefix(keyType, "ecdsa"):
		return "ecdsa"
	case keyType == ssh.KeyAlgoRSA:
		return "rsa"
	default:
		return strings.TrimPrefix(keyType, "ssh-")
	}
}
