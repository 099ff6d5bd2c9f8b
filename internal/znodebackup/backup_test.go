package znodebackup_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"filippo.io/age"
	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread"
	"migrator/internal/zkread/zkfake"
	"migrator/internal/znodebackup"
)

func tree(t *testing.T) (*zkfake.Server, *zkread.Reader) {
	t.Helper()
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r, err := zkread.Open(s.Addr()+"/kafka", 6*time.Second, zkread.Login{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return s, r
}

func take(t *testing.T, r *zkread.Reader) []byte {
	t.Helper()
	var out bytes.Buffer
	if _, err := znodebackup.Take(t.Context(), &out, r, znodebackup.Head{ClusterID: "Some-id_of22characters", Tool: "test"}, nil); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestATreeComesBackAsItWas(t *testing.T) {
	s, r := tree(t)
	s.Put("/kafka/a", []byte{0, 0xff, '\n'})
	s.Put("/kafka/empty", []byte{})
	s.Put("/kafka/null", nil)
	s.Put("/kafka/secret/below", []byte("1"))
	s.Hide("/kafka/secret")
	s.PutEphemeral("/kafka/session", []byte("2"))
	got := map[string]znodebackup.Znode{}
	summary, err := znodebackup.Read(bytes.NewReader(take(t, r)), func(z znodebackup.Znode) error {
		got[z.Path] = z
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if summary.ClusterID != "Some-id_of22characters" || summary.Znodes != 6 || summary.Unreadable != 1 || summary.Moved != 0 || len(summary.SHA256) != 64 {
		t.Errorf("got %+v", summary)
	}
	if !bytes.Equal(got["/a"].Data, []byte{0, 0xff, '\n'}) || got["/empty"].Data == nil || got["/null"].Data != nil {
		t.Errorf("data: %+v", got)
	}
	if z := got["/secret"]; z.Unreadable == "" || z.ACL != nil {
		t.Errorf("a hidden znode: %+v", z)
	}
	if got["/session"].EphemeralOwner == 0 || len(got["/a"].ACL) != 1 || got["/a"].Czxid == 0 || got["/a"].CreatedMs == 0 {
		t.Errorf("owner, acl and times: %+v %+v", got["/session"], got["/a"])
	}
}

// large is a backup of several blocks.
func large(t *testing.T) []byte {
	t.Helper()
	return filled(t, "x")
}

func filled(t *testing.T, with string) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := znodebackup.NewWriter(&out, znodebackup.Head{ClusterID: "c"})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 1500 {
		// Content that hardly compresses would make the test slow; this keeps blocks small.
		if err := w.Add(znodebackup.Znode{Path: fmt.Sprintf("/znode-%d", i), Data: bytes.Repeat([]byte(with), 700)}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := w.Finish(znodebackup.Tail{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestAChangedBitIsNoticedWhereverItIs(t *testing.T) {
	whole := large(t)
	if _, err := znodebackup.Read(bytes.NewReader(whole), nil); err != nil {
		t.Fatal(err)
	}
	var damaged *znodebackup.DamageError
	step := max(1, len(whole)/80)
	for at := 0; at < len(whole); at++ {
		if at > 40 && at < len(whole)-70 && at%step != 0 {
			continue
		}
		bad := bytes.Clone(whole)
		bad[at] ^= 1 << (at % 8)
		if _, err := znodebackup.Read(bytes.NewReader(bad), nil); !errors.As(err, &damaged) || damaged.At > int64(at) || damaged.At < 0 {
			t.Errorf("a bit at byte %d of %d: %v", at, len(whole), err)
		}
	}
}

func TestACutFileIsNoticedWhereverItEnds(t *testing.T) {
	whole := large(t)
	step := max(1, len(whole)/60)
	for at := 0; at < len(whole); at++ {
		if at > 26 && at < len(whole)-66 && at%step != 0 {
			continue
		}
		var damaged *znodebackup.DamageError
		if _, err := znodebackup.Read(bytes.NewReader(whole[:at]), nil); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "cut off") {
			t.Errorf("cut at byte %d of %d: %v", at, len(whole), err)
		}
	}
	if _, err := znodebackup.Read(bytes.NewReader(append(bytes.Clone(whole), 0)), nil); err == nil {
		t.Error("a byte behind the end was not noticed")
	}
	for _, name := range []string{"", "some other file, long enough to hold a frame"} {
		if _, err := znodebackup.Read(strings.NewReader(name), nil); err == nil {
			t.Errorf("%q was taken for a backup", name)
		}
	}
}

func TestABlockOfAnotherBackupIsNoticed(t *testing.T) {
	mine, other := large(t), filled(t, "y")
	end := func(file []byte) int { return 24 + int(binary.LittleEndian.Uint32(file[12:])) } // of the first block
	mixed := append(bytes.Clone(other[:end(other)]), mine[end(mine):]...)
	var damaged *znodebackup.DamageError
	if _, err := znodebackup.Read(bytes.NewReader(mixed), nil); !errors.As(err, &damaged) || !strings.Contains(err.Error(), "of another file") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheHolderOfTheIdentityReadsAnEncryptedFile(t *testing.T) {
	mine, other := identity(t), identity(t)
	dir := t.TempDir()
	file := filepath.Join(dir, "znodes.age")
	whole := large(t)
	write := func(out io.Writer) error {
		_, err := out.Write(whole)
		return err
	}
	if err := znodebackup.Save(file, []string{mine.Recipient().String()}, write); err != nil {
		t.Fatal(err)
	}
	key, wrong := filepath.Join(dir, "key"), filepath.Join(dir, "wrong")
	for path, id := range map[string]*age.X25519Identity{key: mine, wrong: other} {
		if err := os.WriteFile(path, []byte(id.String()+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if s, err := znodebackup.ReadFile(t.Context(), file, key, nil); err != nil || s.Znodes != 1500 {
		t.Errorf("got %+v, %v", s, err)
	}
	for _, path := range []string{"", wrong} {
		if _, err := znodebackup.ReadFile(t.Context(), file, path, nil); !errors.Is(err, znodebackup.ErrNoIdentity) {
			t.Errorf("with identity %q: %v", path, err)
		}
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw[len(raw)/2] ^= 1
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var damaged *znodebackup.DamageError
	if _, err := znodebackup.ReadFile(t.Context(), file, key, nil); !errors.As(err, &damaged) {
		t.Errorf("a changed bit: %v", err)
	}
}

func identity(t *testing.T) *age.X25519Identity {
	t.Helper()
	id, err := age.GenerateX25519Identity()
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAFileIsWholeOrAbsent(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "znodes")
	gone := errors.New("zookeeper went away")
	err := znodebackup.Save(file, nil, func(out io.Writer) error {
		_, _ = out.Write([]byte("half"))
		return gone
	})
	left, readErr := os.ReadDir(dir)
	if !errors.Is(err, gone) || readErr != nil || len(left) != 0 {
		t.Errorf("got %v, left %v", err, left)
	}
	if err := znodebackup.Save(file, nil, func(out io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func FuzzReadNeverPanics(f *testing.F) {
	var out bytes.Buffer
	w, err := znodebackup.NewWriter(&out, znodebackup.Head{ClusterID: "c"})
	if err != nil {
		f.Fatal(err)
	}
	if err := w.Add(znodebackup.Znode{Path: "/a", Data: []byte("1")}); err != nil {
		f.Fatal(err)
	}
	if _, err := w.Finish(znodebackup.Tail{}); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Fuzz(func(t *testing.T, file []byte) {
		if s, err := znodebackup.Read(bytes.NewReader(file), nil); err == nil && cmp.Diff(int64(len(file)), s.Bytes) != "" {
			t.Errorf("%d of %d bytes were read", s.Bytes, len(file))
		}
	})
}
