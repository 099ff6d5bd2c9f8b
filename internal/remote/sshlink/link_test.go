package sshlink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"migrator/internal/config"
	"migrator/internal/remote/sshtest"
)

// try runs a command line and gives its output.
func try(t *testing.T, p *Pool, w Way, line string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	var out, complaint bytes.Buffer
	_, err := p.Exec(ctx, w, Command{Line: line, Stdout: &out, Stderr: &complaint})
	return out.String(), err
}

func newPool(t *testing.T) *Pool {
	t.Helper()
	var p Pool
	t.Cleanup(p.Close)
	return &p
}

func TestManyCommandsShareFewConnections(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2", "MaxSessions 2")
	p, w := newPool(t), NewWay(server.Access())
	var all sync.WaitGroup
	for range 12 {
		all.Go(func() {
			if out, err := try(t, p, w, "sleep 0.1; echo hello"); err != nil || out != "hello\n" {
				t.Errorf("%q, %v", out, err)
			}
		})
	}
	all.Wait()
	if n := server.Connections(); n > 2 {
		t.Errorf("%d connections, want at most 2", n)
	}
}

func TestAHostThatHangsAfterItLetUsIn(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	p, w := newPool(t), NewWay(server.Access())
	p.every, p.limit, p.dial = 100*time.Millisecond, 400*time.Millisecond, patience+200*time.Millisecond
	if _, err := try(t, p, w, "true"); err != nil {
		t.Fatal(err)
	}
	server.Pause()
	begun := time.Now()
	_, err := try(t, p, w, "true")
	says(t, err, "accepted the connection and then did not answer")
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("it took %s to notice", took)
	}
	begun = time.Now()
	_, err = try(t, p, w, "true")
	says(t, err, "did not answer")
	if took := time.Since(begun); took > p.dial/2 {
		t.Errorf("the next question took %s to find out the same", took)
	}
	server.Resume()
	deadline := time.Now().Add(longPause + 5*time.Second)
	for err != nil && time.Now().Before(deadline) {
		_, err = try(t, p, w, "true")
	}
	if err != nil {
		t.Errorf("after it answers again: %v", err)
	}
}

func TestAConnectionThatNobodyUsesIsClosed(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	p, w := newPool(t), NewWay(server.Access())
	p.idle = 200 * time.Millisecond
	if _, err := try(t, p, w, "sleep 0.5"); err != nil { // in use for longer than that
		t.Fatal(err)
	}
	for deadline := time.Now().Add(20 * time.Second); server.Connections() > 0; {
		if time.Now().After(deadline) {
			t.Fatal("it is still open")
		}
		<-time.After(20 * time.Millisecond)
	}
	if _, err := try(t, p, w, "true"); err != nil {
		t.Errorf("the next command: %v", err)
	}
}

// An ssh_config that cannot be understood must not be passed over: it may say
// which host, user or jump host is meant.
func TestAnSSHConfigThatIsNotUnderstood(t *testing.T) {
	for text, want := range map[string]string{
		"Match exec true\n  User root\n":               "access.config",
		"Host *\n  ProxyCommand nc -X connect %h %p\n": "ProxyCommand is not supported",
		"Host *\n  ProxyJump bastion:http\n":           "jump host",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := resolve(Way{Host: "b1", SSH: config.SSH{Config: path}})
		says(t, err, want)
	}
}

func TestAHostThatIsDownComesBack(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	p, w := newPool(t), NewWay(server.Access())
	server.Down()
	_, err := try(t, p, w, "true")
	var notRun *NotRunError
	if !errors.As(err, &notRun) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("error %v, want connection refused", err)
	}
	time.AfterFunc(200*time.Millisecond, server.Up)
	deadline := time.Now().Add(20 * time.Second)
	for err != nil && time.Now().Before(deadline) {
		_, err = try(t, p, w, "true")
	}
	if err != nil {
		t.Error(err)
	}
}

func TestAKeyThatKnownHostsDoesNotHave(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	known, err := os.ReadFile(server.Known)
	if err != nil {
		t.Fatal(err)
	}
	was, _, _, _, err := ssh.ParseAuthorizedKey(known[bytes.IndexByte(known, ' ')+1:])
	if err != nil {
		t.Fatal(err)
	}
	w := NewWay(server.Access())
	w.KnownHosts = filepath.Join(t.TempDir(), "none")
	_, err = try(t, newPool(t), w, "true")
	says(t, err, "not known", ssh.FingerprintSHA256(was), "ssh-keyscan -t ed25519 -p", w.KnownHosts)

	server.Down()
	now := server.SetHostKey()
	server.Up()
	_, err = try(t, newPool(t), NewWay(server.Access()), "true")
	says(t, err, "has changed", ssh.FingerprintSHA256(was), ssh.FingerprintSHA256(now), server.Known+":1", "ssh-keygen -R")
	var notRun *NotRunError
	var hostKey *HostKeyError
	if !errors.As(err, &notRun) || !errors.As(err, &hostKey) {
		t.Errorf("error %v, want one that says that nothing ran", err)
	}
	if strings.Contains(server.Log(), "Accepted publickey") {
		t.Error("a host that is not the known one was logged in on")
	}
}

func says(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("error %q does not say %q", err, w)
		}
	}
}

func TestKeys(t *testing.T) {
	server := sshtest.Start(t, "127.0.0.2")
	dir := t.TempDir()
	locked := filepath.Join(dir, "locked")
	public := sshtest.NewKey(t, locked, "open sesame")
	server.Authorize(public)
	other := filepath.Join(dir, "other")
	sshtest.NewKey(t, other)
	passphrase := func(text string) *config.SecretSource {
		t.Setenv("SSHLINK_PASSPHRASE_"+text[:4], text)
		return &config.SecretSource{Env: "SSHLINK_PASSPHRASE_" + text[:4]}
	}
	for _, tt := range []struct {
		name   string
		change func(*Way)
		says   []string // none: it works
	}{
		{"a key file", func(*Way) {}, nil},
		{"a locked key with its passphrase", func(w *Way) { w.KeyFile, w.Passphrase = locked, passphrase("open sesame") }, nil},
		{"a locked key without one", func(w *Way) { w.KeyFile = locked }, []string{"locked by a passphrase", locked, "access.passphrase"}},
		{"a locked key with another passphrase", func(w *Way) { w.KeyFile, w.Passphrase = locked, passphrase("hunter2!") }, []string{"does not unlock", "SSHLINK_PASSPHRASE_hunt"}},
		{"a key that the host does not know", func(w *Way) { w.KeyFile = other }, []string{"does not let " + server.User + " in", other, "SHA256:", "authorized_keys"}},
		{"a user that the host does not have", func(w *Way) { w.User = "nosuchuser" }, []string{"does not let nosuchuser in", "access.user"}},
		{"a key file that is not there", func(w *Way) { w.KeyFile = other + "x" }, []string{other + "x", "no such file"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := NewWay(server.Access())
			tt.change(&w)
			_, err := try(t, newPool(t), w, "true")
			if len(tt.says) == 0 && err != nil {
				t.Fatal(err)
			}
			if len(tt.says) > 0 {
				says(t, err, tt.says...)
				if strings.Contains(err.Error(), "hunter2!") {
					t.Errorf("the passphrase is shown: %v", err)
				}
			}
		})
	}
}

// An expired certificate is refused with nothing but "permission denied"; who
// looks at the service must read why.
func TestAnAgentAndCertificates(t *testing.T) {
	dir := t.TempDir()
	ca := filepath.Join(dir, "ca")
	sshtest.NewKey(t, ca)
	server := sshtest.Start(t, "127.0.0.2", "TrustedUserCAKeys "+ca+".pub")
	for _, name := range []string{"good", "expired", "inagent"} {
		sshtest.NewKey(t, filepath.Join(dir, name))
	}
	sign(t, ca, filepath.Join(dir, "good"), server.User, time.Hour)
	sign(t, ca, filepath.Join(dir, "expired"), server.User, -time.Hour)
	w := NewWay(server.Access())
	w.KeyFile = filepath.Join(dir, "good")
	if _, err := try(t, newPool(t), w, "true"); err != nil {
		t.Errorf("a certificate: %v", err)
	}
	w.KeyFile = filepath.Join(dir, "expired")
	_, err := try(t, newPool(t), w, "true")
	says(t, err, "does not let", "certificate", "expired at")

	w.KeyFile, w.Config = "", filepath.Join(dir, "none") // no key file of the usual names is looked for
	if err := os.WriteFile(w.Config, []byte("Host *\n  IdentityFile "+filepath.Join(dir, "absent")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSH_AUTH_SOCK", "")
	_, err = try(t, newPool(t), w, "true")
	says(t, err, "no key to log in", "SSH_AUTH_SOCK")
	t.Setenv("SSH_AUTH_SOCK", serveAgent(t, server.KeyFile))
	if _, err := try(t, newPool(t), w, "true"); err != nil {
		t.Errorf("with an agent: %v", err)
	}
	t.Setenv("OTHER_AGENT", os.Getenv("SSH_AUTH_SOCK"))
	t.Setenv("SSH_AUTH_SOCK", "")
	for said, works := range map[string]bool{"$OTHER_AGENT": true, os.Getenv("OTHER_AGENT"): true, "none": false} {
		text := "Host *\n  IdentityFile " + filepath.Join(dir, "absent") + "\n  IdentityAgent " + said + "\n"
		if err := os.WriteFile(w.Config, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := try(t, newPool(t), w, "true"); (err == nil) != works {
			t.Errorf("IdentityAgent %s: %v", said, err)
		}
	}
}

// sign writes a certificate beside a key.
func sign(t *testing.T, ca, key, user string, life time.Duration) {
	t.Helper()
	signer, err := ssh.ParsePrivateKey(read(t, ca))
	if err != nil {
		t.Fatal(err)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(read(t, key+".pub"))
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	cert := &ssh.Certificate{Key: public, KeyId: "migrator", CertType: ssh.UserCert, ValidPrincipals: []string{user},
		ValidAfter: uint64(now.Add(-2 * time.Hour).Unix()), ValidBefore: uint64(now.Add(life).Unix())}
	if err := cert.SignCert(rand.Reader, signer); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(key+"-cert.pub", ssh.MarshalAuthorizedKey(cert), 0o600); err != nil {
		t.Fatal(err)
	}
}

func serveAgent(t *testing.T, key string) (socket string) {
	t.Helper()
	private, err := ssh.ParseRawPrivateKey(read(t, key))
	if err != nil {
		t.Fatal(err)
	}
	keys := agent.NewKeyring()
	if err := keys.Add(agent.AddedKey{PrivateKey: private}); err != nil {
		t.Fatal(err)
	}
	socket = filepath.Join(t.TempDir(), "agent")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go agent.ServeAgent(keys, conn)
		}
	}()
	return socket
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestSSHConfigAndAJumpHost(t *testing.T) {
	bastion, server := sshtest.Start(t, "127.0.0.2"), sshtest.Start(t, "127.0.0.3")
	bastion.Authorize(server.PublicKey())
	known, err := os.ReadFile(bastion.Known)
	if err != nil {
		t.Fatal(err)
	}
	server.Trust(known)
	path := filepath.Join(t.TempDir(), "config")
	text := "Host broker-1\n  HostName 127.0.0.3\n  Port " + strconv.Itoa(server.Port) + "\n  User " + server.User + "\n  IdentityFile " + server.KeyFile +
		"\n  UserKnownHostsFile " + server.Known + "\n  ProxyJump bastion\nHost bastion\n  HostName 127.0.0.2\n  Port " + strconv.Itoa(bastion.Port) +
		"\n  User " + server.User + "\n  IdentityFile " + server.KeyFile + "\n  UserKnownHostsFile " + server.Known + "\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, w := newPool(t), Way{Host: "broker-1", SSH: config.SSH{Config: path}}
	if out, err := try(t, p, w, "echo $SSH_CONNECTION"); err != nil || !strings.Contains(out, " 127.0.0.3 ") {
		t.Fatalf("%q, %v", out, err)
	}
	if n := bastion.Connections(); n != 1 {
		t.Errorf("%d connections to the jump host, want 1", n)
	}
	bastion.Cut()
	if _, err := try(t, p, w, "true"); err != nil {
		t.Errorf("after the jump host cut the connection: %v", err)
	}
	bastion.Down()
	bastion.SetHostKey()
	bastion.Up()
	_, err = try(t, p, w, "true")
	says(t, err, "jump host", "has changed")
}
