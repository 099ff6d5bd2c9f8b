// Package sshtest runs OpenSSH's own server for tests: an sshd on an address of
// this machine with keys, known_hosts and a user's key of its own, which can be
// paused, and whose connections can be cut.
package sshtest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"migrator/internal/config"
)

// Server is one running sshd.
type Server struct {
	t       testing.TB
	Dir     string
	Address string // IP
	Port    int
	User    string // who may log in, this process's own
	KeyFile string // of the user
	Known   string // known_hosts that has this server

	public  ssh.PublicKey
	options []string
	log     *os.File
	cmd     *exec.Cmd
}

// program is where distributions put sshd; it insists on an absolute path.
func program(t testing.TB) string {
	t.Helper()
	for _, p := range []string{"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"} {
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	t.Fatal("sshd is missing: install openssh-server (as root: make sshd)")
	return ""
}

// Start runs an sshd on an address such as 127.0.0.2, with further lines of
// sshd_config, until the test ends.
func Start(t testing.TB, address string, options ...string) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("needs a real sshd and starts some hundred processes: make test runs it")
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	s := &Server{t: t, Dir: t.TempDir(), Address: address, User: me.Username, options: options}
	s.KeyFile, s.Known = filepath.Join(s.Dir, "user_key"), filepath.Join(s.Dir, "known_hosts")
	if os.Geteuid() == 0 { // where sshd separates its privileges
		if err := os.MkdirAll("/run/sshd", 0o755); err != nil {
			t.Fatal(err)
		}
	}
	s.public = NewKey(t, s.KeyFile)
	s.Authorize(s.public)
	s.Port = freePort(t, address)
	s.SetHostKey()
	s.Up()
	t.Cleanup(s.Down)
	return s
}

// Access is the way to this server with known_hosts and the user's key.
func (s *Server) Access() config.Access {
	return config.Access{Kind: "ssh", Host: s.Address, SSH: config.SSH{User: s.User, Port: s.Port, KeyFile: s.KeyFile, KnownHosts: s.Known,
		Config: "/dev/null", MaxConnections: 2}}
}

// SetHostKey makes the host's key anew. Only the first one is put into
// known_hosts: later the host looks like another one.
func (s *Server) SetHostKey() ssh.PublicKey {
	s.t.Helper()
	public := NewKey(s.t, filepath.Join(s.Dir, "host_key"))
	if _, err := os.Stat(s.Known); errors.Is(err, os.ErrNotExist) {
		name := net.JoinHostPort(s.Address, strconv.Itoa(s.Port))
		s.write("known_hosts", []byte(knownhosts.Line([]string{knownhosts.Normalize(name)}, public)+"\n"))
	}
	return public
}

// PublicKey is the user's.
func (s *Server) PublicKey() ssh.PublicKey { return s.public }

// Authorize lets another key in.
func (s *Server) Authorize(key ssh.PublicKey) {
	s.add("authorized_keys", ssh.MarshalAuthorizedKey(key))
}

// Trust adds lines to the known_hosts of who logs in here.
func (s *Server) Trust(lines []byte) { s.add("known_hosts", lines) }

func (s *Server) add(name string, lines []byte) {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.Dir, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		s.t.Fatal(err)
	}
	s.write(name, append(data, lines...))
}

// Up starts the server and waits until it listens.
func (s *Server) Up() {
	s.t.Helper()
	settings := fmt.Sprintf(`ListenAddress %s:%d
HostKey %s/host_key
AuthorizedKeysFile %s/authorized_keys
PidFile none
StrictModes no
UsePAM no
PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin yes
Subsystem sftp internal-sftp
SetEnv HOME=%s
`, s.Address, s.Port, s.Dir, s.Dir, s.Dir) // this user's own start-up files may greet, or take long
	s.write("sshd_config", []byte(strings.Join(s.options, "\n")+"\n"+settings))
	var err error
	if s.log, err = os.OpenFile(filepath.Join(s.Dir, "sshd.log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(program(s.t), "-D", "-e", "-f", filepath.Join(s.Dir, "sshd_config"))
	s.cmd.Stdout, s.cmd.Stderr = s.log, s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	for range 500 {
		conn, err := net.DialTimeout("tcp", net.JoinHostPort(s.Address, strconv.Itoa(s.Port)), time.Second)
		if err == nil {
			_ = conn.Close()
			return
		}
		<-time.After(10 * time.Millisecond)
	}
	s.t.Fatalf("sshd does not listen on %s:%d:\n%s", s.Address, s.Port, s.Log())
}

// Down ends the server and every connection.
func (s *Server) Down() {
	if s.cmd == nil {
		return
	}
	connections := s.processes()
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	send(syscall.SIGKILL, connections)
	_ = s.log.Close()
	s.cmd = nil
}

// Cut kills the server's side of every connection and leaves alone what was
// started through it. It says how many processes that were.
func (s *Server) Cut() int { return s.signal(syscall.SIGKILL) }

// Pause makes every connection hang, and new ones hang after they are accepted.
func (s *Server) Pause() {
	_ = s.cmd.Process.Signal(syscall.SIGSTOP)
	s.signal(syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume() {
	_ = s.cmd.Process.Signal(syscall.SIGCONT)
	s.signal(syscall.SIGCONT)
}

func (s *Server) signal(sig syscall.Signal) int { return send(sig, s.processes()) }

func send(sig syscall.Signal, pids []int) int {
	n := 0
	for _, pid := range pids {
		if syscall.Kill(pid, sig) == nil {
			n++
		}
	}
	return n
}

// processes are those of sshd below the listener: one or two a connection. What
// they run for the user is not among them.
func (s *Server) processes() []int {
	below := s.children(s.cmd.Process.Pid)
	for _, pid := range below {
		below = append(below, s.children(pid)...)
	}
	return below
}

// Connections is how many connections the server has.
func (s *Server) Connections() int { return len(s.children(s.cmd.Process.Pid)) }

// children are the processes of sshd that one of them forked.
func (s *Server) children(parent int) []int {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		s.t.Fatal(err)
	}
	var out []int
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile(filepath.Join("/proc", e.Name(), "stat"))
		if err != nil {
			continue // ended meanwhile
		}
		name, rest, _ := bytes.Cut(stat, []byte(") "))
		fields := strings.Fields(string(rest))
		if len(fields) > 1 && bytes.Contains(name, []byte("sshd")) && fields[0] != "Z" && fields[1] == strconv.Itoa(parent) {
			out = append(out, pid)
		}
	}
	return out
}

// Log is what the server wrote.
func (s *Server) Log() string {
	data, _ := os.ReadFile(filepath.Join(s.Dir, "sshd.log"))
	return string(data)
}

func (s *Server) write(name string, data []byte) {
	s.t.Helper()
	if err := os.WriteFile(filepath.Join(s.Dir, name), data, 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// NewKey writes a private key to path, locked if a passphrase is given, and its
// public half beside it.
func NewKey(t testing.TB, path string, passphrase ...string) ssh.PublicKey {
	t.Helper()
	_, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	var block *pem.Block
	if len(passphrase) > 0 {
		block, err = ssh.MarshalPrivateKeyWithPassphrase(private, "", []byte(passphrase[0]))
	} else {
		block, err = ssh.MarshalPrivateKey(private, "")
	}
	if err != nil {
		t.Fatal(err)
	}
	public, err := ssh.NewPublicKey(private.Public())
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.WriteFile(path, pem.EncodeToMemory(block), 0o600), os.WriteFile(path+".pub", ssh.MarshalAuthorizedKey(public), 0o600)); err != nil {
		t.Fatal(err)
	}
	return public
}

// freePort is a port of the address below the kernel's ephemeral range, where a
// connection from this machine cannot take it before sshd listens.
func freePort(t testing.TB, address string) int {
	t.Helper()
	start := 20000 + os.Getpid()%9000
	for port := start; port < start+2000; port++ {
		l, err := net.Listen("tcp", net.JoinHostPort(address, strconv.Itoa(port)))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatalf("no free port on %s", address)
	return 0
}
