// Package sshlink keeps authenticated ssh connections to hosts, shares them
// among all who ask, and runs command lines on them. It trusts no host key that
// known_hosts does not have, and it never asks a person anything.
package sshlink

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/kevinburke/ssh_config"

	"migrator/internal/config"
)

// Way is a login as migrations.yaml has it; ssh_config fills in the rest each
// time a connection is made.
type Way struct {
	Host string
	config.SSH
}

// login is a Way with everything filled in.
type login struct {
	way        Way
	user       string
	host       string // to connect to
	port       string
	known      string // the name that known_hosts has it under, host:port
	keys       []string
	keysGiven  bool   // by migrations.yaml or ssh_config, not the usual names
	agent      string // socket of the agent to ask; empty: none
	knownHosts []string
	jumps      []Way // in the order they are gone through
}

func (l login) address() string { return net.JoinHostPort(l.host, l.port) }

// String is user@host:port, for messages.
func (l login) String() string { return l.user + "@" + l.address() }

// resolve fills a way in from its ssh_config, then from ssh's own defaults.
func resolve(w Way) (login, error) {
	settings, err := readConfig(w)
	if err != nil {
		return login{}, err
	}
	if c := settings.get("ProxyCommand"); c != "" && c != "none" && w.Jump == "" {
		return login{}, fmt.Errorf("%s: ProxyCommand is not supported: use ProxyJump there, or jump in migrations.yaml", settings.path)
	}
	l := login{way: w}
	l.host = strings.ReplaceAll(cmp.Or(settings.get("HostName"), w.Host), "%h", w.Host)
	l.port = cmp.Or(settings.get("Port"), "22")
	if w.Port != 0 {
		l.port = strconv.Itoa(w.Port)
	}
	if l.user = cmp.Or(w.User, settings.get("User")); l.user == "" {
		me, err := user.Current()
		if err != nil {
			return login{}, fmt.Errorf("the service's own user, whose name ssh takes by default: %w", err)
		}
		l.user = me.Username
	}
	l.known = net.JoinHostPort(cmp.Or(settings.get("HostKeyAlias"), l.host), l.port)
	l.fillFiles(settings)
	l.agent = l.agentSocket(settings.get("IdentityAgent"))
	l.jumps, err = jumps(w, cmp.Or(w.Jump, settings.get("ProxyJump")))
	return l, err
}

func (l *login) fillFiles(s settings) {
	l.keys, l.keysGiven = []string{l.way.KeyFile}, true
	if l.way.KeyFile == "" {
		l.keys = s.all("IdentityFile")
	}
	if len(l.keys) == 0 {
		l.keys, l.keysGiven = []string{"~/.ssh/id_ed25519", "~/.ssh/id_ecdsa", "~/.ssh/id_rsa"}, false
	}
	for i, k := range l.keys {
		l.keys[i] = l.expand(k)
	}
	l.knownHosts = []string{l.way.KnownHosts}
	if l.way.KnownHosts == "" {
		l.knownHosts = strings.Fields(cmp.Or(s.get("UserKnownHostsFile"), "~/.ssh/known_hosts"))
	}
	for i, k := range l.knownHosts {
		l.knownHosts[i] = l.expand(k)
	}
}

// agentSocket reads ssh_config's IdentityAgent: a path, the name of a variable
// behind a dollar sign, SSH_AUTH_SOCK as by default, or none.
func (l *login) agentSocket(said string) string {
	switch {
	case said == "" || said == "SSH_AUTH_SOCK":
		return os.Getenv("SSH_AUTH_SOCK")
	case strings.EqualFold(said, "none"):
		return ""
	case strings.HasPrefix(said, "$"):
		return os.Getenv(strings.Trim(said[1:], "{}"))
	}
	return l.expand(said)
}

// expand replaces what ssh_config(5) allows in paths.
func (l *login) expand(path string) string {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/"
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(home, rest)
	}
	return strings.NewReplacer("%%", "%", "%d", home, "%h", l.host, "%n", l.way.Host, "%p", l.port, "%r", l.user).Replace(path)
}

// jumps reads [user@]host[:port], several with commas. A jump host logs in with
// the same key and known_hosts, unless its own section of ssh_config says else.
func jumps(w Way, list string) ([]Way, error) {
	if list == "" || strings.EqualFold(list, "none") {
		return nil, nil
	}
	var out []Way
	for _, text := range strings.Split(list, ",") {
		text = strings.TrimPrefix(strings.TrimSpace(text), "ssh://")
		j := Way{SSH: config.SSH{KeyFile: w.KeyFile, Passphrase: w.Passphrase, KnownHosts: w.KnownHosts, Config: w.Config, MaxConnections: w.MaxConnections, Jump: "none"}}
		if at := strings.LastIndexByte(text, '@'); at >= 0 {
			j.User, text = text[:at], text[at+1:]
		}
		j.Host = strings.Trim(text, "[]")
		if host, port, err := net.SplitHostPort(text); err == nil {
			n, err := strconv.Atoi(port)
			if err != nil || n < 1 || n > 65535 {
				return nil, fmt.Errorf("jump host %q: its port is no number from 1 to 65535", text)
			}
			j.Host, j.Port = host, n
		}
		if j.Host == "" {
			return nil, fmt.Errorf("jump host %q: want [user@]host[:port]", list)
		}
		out = append(out, j)
	}
	return out, nil
}

// settings is what an ssh_config says of one host.
type settings struct {
	path string
	host string
	file *ssh_config.Config
}

func readConfig(w Way) (settings, error) {
	s := settings{path: w.Config, host: w.Host, file: &ssh_config.Config{}}
	if s.path == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return s, nil // a service without a home has no ssh_config
		}
		s.path = filepath.Join(home, ".ssh", "config")
	}
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) && w.Config == "" {
		return s, nil
	}
	if err != nil {
		return s, fmt.Errorf("read ssh_config: %w", err)
	}
	if s.file, err = ssh_config.DecodeBytes(data); err != nil {
		return s, fmt.Errorf("read ssh_config %s: %w (access.config may name a file of its own for migrator)", s.path, err)
	}
	return s, nil
}

func (s settings) get(key string) string {
	v, err := s.file.Get(s.host, key)
	if err != nil {
		return ""
	}
	return strings.Trim(v, `"`)
}

func (s settings) all(key string) []string {
	list, err := s.file.GetAll(s.host, key)
	if err != nil {
		return nil
	}
	for i, v := range list {
		list[i] = strings.Trim(v, `"`)
	}
	return list
}
