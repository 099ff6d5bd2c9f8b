package sshlink

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"migrator/internal/config"
	"migrator/internal/remote/sshtest"
)

// fakeHost is a server that does what a command line asks of it, for faults
// that OpenSSH's does not show on cue.
func fakeHost(t *testing.T) Way {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"host", "user"} {
		sshtest.NewKey(t, filepath.Join(dir, name))
	}
	key, err := ssh.ParsePrivateKey(read(t, filepath.Join(dir, "host")))
	if err != nil {
		t.Fatal(err)
	}
	settings := &ssh.ServerConfig{NoClientAuth: true}
	settings.AddHostKey(key)
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			go serve(conn, settings)
		}
	}()
	known := filepath.Join(dir, "known_hosts")
	line := knownhosts.Line([]string{knownhosts.Normalize(l.Addr().String())}, key.PublicKey())
	if err := os.WriteFile(known, []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	return Way{Host: "127.0.0.1", SSH: config.SSH{User: "kafka", Port: l.Addr().(*net.TCPAddr).Port, Config: "/dev/null", KnownHosts: known, KeyFile: filepath.Join(dir, "user"), MaxConnections: 1}}
}

func serve(conn net.Conn, settings *ssh.ServerConfig) {
	_, channels, requests, err := ssh.NewServerConn(conn, settings)
	if err != nil {
		return
	}
	go ssh.DiscardRequests(requests)
	for c := range channels {
		channel, asked, err := c.Accept()
		if err != nil {
			return
		}
		go func() {
			for r := range asked {
				answer(conn, channel, r)
			}
		}()
	}
}

func answer(conn net.Conn, channel ssh.Channel, r *ssh.Request) {
	line := string(r.Payload[4:])
	switch line {
	case "refuse":
		_ = r.Reply(false, nil)
	case "silence":
	case "close":
		_ = r.Reply(true, nil)
		_ = channel.Close()
	case "cut":
		_ = r.Reply(true, nil)
		_, _ = io.WriteString(channel, "half")
		_ = conn.Close()
	case "status before output":
		_ = r.Reply(true, nil)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{3}))
		time.AfterFunc(quiet/4, func() {
			_, _ = io.WriteString(channel, "late")
			_ = channel.Close()
		})
	case "signal":
		_ = r.Reply(true, nil)
		_, _ = channel.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Name       string
			Core       bool
			Text, Lang string
		}{"TERM", false, "", ""}))
		_ = channel.Close()
	default:
		_ = r.Reply(true, nil)
		n, _ := strconv.Atoi(line)
		_, _ = channel.SendRequest("exit-status", false, ssh.Marshal(struct{ Status uint32 }{uint32(n)}))
		_ = channel.Close()
	}
}

func TestWhatAHostMayDoInsteadOfRunningACommand(t *testing.T) {
	w := fakeHost(t)
	p := newPool(t)
	for _, tt := range []struct {
		line   string
		out    string
		ended  Ended
		notRun bool
		is     error
	}{
		{line: "0", ended: Ended{Told: true}},
		{line: "4", ended: Ended{Exit: 4, Told: true}},
		{line: "signal", ended: Ended{Signal: "TERM", Told: true}},
		{line: "status before output", out: "late", ended: Ended{Exit: 3, Told: true}},
		{line: "refuse", notRun: true},
		{line: "close", is: ErrLost},
		{line: "cut", out: "half", is: ErrLost},
		{line: "silence", is: context.DeadlineExceeded},
		{line: "0", ended: Ended{Told: true}}, // whatever was before, the next one works
	} {
		t.Run(tt.line, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
			if tt.line == "silence" {
				ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
			}
			defer cancel()
			var out strings.Builder
			ended, err := p.Exec(ctx, w, Command{Line: tt.line, Stdout: &out, Stderr: io.Discard})
			var notRun *NotRunError
			if errors.As(err, &notRun) != tt.notRun || tt.is != nil && !errors.Is(err, tt.is) || (err == nil) != (tt.is == nil && !tt.notRun) {
				t.Errorf("error %v", err)
			}
			if ended != tt.ended || out.String() != tt.out {
				t.Errorf("%+v with %q, want %+v with %q", ended, out.String(), tt.ended, tt.out)
			}
		})
	}
}

func TestAPortThatAcceptsAndSaysNothing(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	w := fakeHost(t)
	w.Port = l.Addr().(*net.TCPAddr).Port
	p := newPool(t)
	p.dial = 300 * time.Millisecond
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	_, err = p.Exec(ctx, w, Command{Line: "0", Stdout: io.Discard, Stderr: io.Discard})
	says(t, err, "accepted the connection and then did not answer")
}
