package execute

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"migrator/internal/zkread"
	"migrator/internal/zkread/zkfake"
)

const patience = 20 * time.Second

func server(t *testing.T) *zkfake.Server {
	t.Helper()
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, connect, store string) *ZNodes {
	t.Helper()
	z, err := OpenZNodes(connect, 6*time.Second, zkread.Login{}, store)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(z.Close)
	return z
}

func acquire(t *testing.T, z *ZNodes, owner string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := z.Acquire(ctx, owner); err != nil {
		t.Fatalf("acquire: %v", err)
	}
}

// until polls a condition: what the library does in the background has no signal.
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	end := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("never: %s", what)
		}
	}
}

func TestASecondServiceIsRefusedAndToldWhoDrives(t *testing.T) {
	s := server(t)
	first := open(t, s.Addr(), "store-a")
	acquire(t, first, "host one, pid 11")
	acquire(t, first, "host one, pid 11") // asking twice is harmless
	second := open(t, s.Addr(), "store-b")
	err := second.Acquire(t.Context(), "host two, pid 22")
	var held *HeldError
	if !errors.As(err, &held) || held.Owner != "host one, pid 11" || time.Since(held.Since) > time.Minute {
		t.Fatalf("want the first service named, got %v", err)
	}
	if !first.Held() || second.Held() {
		t.Errorf("held: first %v, second %v", first.Held(), second.Held())
	}
	if err := second.Writable(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a service without the lock must not write: %v", err)
	}
	first.Close()
	acquire(t, second, "host two, pid 22")
}

func TestTheLockOfAKilledServiceIsTakenOverByItsOwnStore(t *testing.T) {
	s := server(t)
	s.PutEphemeral("/kafka/migrator/driver", []byte(`{"owner":"host one, pid 11","store":"store-a"}`))
	z := open(t, s.Addr()+"/kafka", "store-a")
	acquire(t, z, "host one, pid 12")
	if data, _ := s.Data("/kafka/migrator/driver"); !strings.Contains(string(data), "pid 12") {
		t.Errorf("the lock still reads %s", data)
	}
	if err := z.Writable(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestALockNobodyUnderstandsIsHeld(t *testing.T) {
	s := server(t)
	s.PutEphemeral("/migrator/driver", []byte("\x00\xff<script>"+strings.Repeat("x", 5000)))
	err := open(t, s.Addr(), "store-a").Acquire(t.Context(), "me")
	var held *HeldError
	if !errors.As(err, &held) || len(held.Owner) > 1000 || strings.ContainsAny(held.Owner, "\x00\xff") {
		t.Fatalf("want a bounded, printable holder, got %v", err)
	}
}

func TestTheLockSurvivesALostConnection(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	acquire(t, z, "me")
	before := z.conn.SessionID()
	s.Drop()
	until(t, "a write after the reconnect", func() bool { return z.Writable(t.Context()) == nil })
	if z.conn.SessionID() != before || !z.Held() {
		t.Error("the session or the lock did not survive")
	}
}

func TestTheLockIsTakenAgainAfterItsSessionEnded(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	acquire(t, z, "me")
	before := z.conn.SessionID()
	s.Expire()
	until(t, "held again and writable in a new session", func() bool {
		return z.conn.SessionID() != before && z.Held() && z.Writable(t.Context()) == nil
	})
	select {
	case <-z.Lost():
		t.Error("nobody else had the lock, so it was not lost")
	default:
	}
}

func TestALockThatAnotherServiceTookIsLost(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	acquire(t, z, "me")
	s.Freeze(true)
	s.Expire()
	s.PutEphemeral("/migrator/driver", []byte(`{"owner":"other","store":"store-b"}`))
	s.Freeze(false)
	select {
	case <-z.Lost():
	case <-time.After(patience):
		t.Fatal("the loss was not noticed")
	}
	if z.Held() {
		t.Error("held after the loss")
	}
	if err := z.Acquire(t.Context(), "me"); !errors.Is(err, ErrNotHeld) {
		t.Errorf("a lost lock must be opened anew, got %v", err)
	}
}

func TestALockTakenOverIsLostWithoutAWrite(t *testing.T) {
	s := server(t)
	old := open(t, s.Addr(), "store-a")
	acquire(t, old, "first run")
	acquire(t, open(t, s.Addr(), "store-a"), "second run")
	select {
	case <-old.Lost():
	case <-time.After(patience):
		t.Fatal("the first run still believes in its lock")
	}
}

func TestALockThatAPersonDeletedIsLostAtTheNextWrite(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	acquire(t, z, "me")
	s.Delete("/migrator/driver")
	if err := z.Writable(t.Context()); !errors.Is(err, ErrNotHeld) {
		t.Fatalf("want not held, got %v", err)
	}
	select {
	case <-z.Lost():
	case <-time.After(patience):
		t.Fatal("the loss was not noticed")
	}
}

func TestASilentZooKeeperIsNotWritableWithinTheDeadline(t *testing.T) {
	s := server(t)
	z := open(t, s.Addr(), "store-a")
	acquire(t, z, "me")
	s.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if err := z.Writable(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("want the deadline, got %v", err)
	}
}

func TestAWrongChrootIsNamed(t *testing.T) {
	s := server(t)
	err := open(t, s.Addr()+"/kafak", "store-a").Acquire(t.Context(), "me")
	if err == nil || !strings.Contains(err.Error(), "/kafak") {
		t.Fatalf("want the chroot named, got %v", err)
	}
}
