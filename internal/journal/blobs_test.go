package journal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func TestContentsAreFoundByTheirHash(t *testing.T) {
	dir := t.TempDir()
	blobs := mustOpen(t, dir).Blobs()
	for range 2 { // storing twice is storing once
		sum, err := blobs.Put([]byte("a=1\n"))
		if err != nil {
			t.Fatal(err)
		}
		if got, err := blobs.Get(sum); err != nil || string(got) != "a=1\n" {
			t.Errorf("%q, %v", got, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(dir, "blobs")); err != nil || len(entries) != 1 {
		t.Errorf("%v, %v", entries, err)
	}
}

func TestADamagedContentIsToldAndHealed(t *testing.T) {
	dir := t.TempDir()
	blobs := mustOpen(t, dir).Blobs()
	sum, err := blobs.Put([]byte("a=1\n"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "blobs", sum), []byte("a="), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.Get(sum); !errors.Is(err, ErrBlobDamaged) {
		t.Errorf("error %v, want damaged", err)
	}
	if _, err := blobs.Put([]byte("a=1\n")); err != nil {
		t.Fatal(err)
	}
	if got, err := blobs.Get(sum); err != nil || string(got) != "a=1\n" {
		t.Errorf("%q, %v", got, err)
	}
}

func TestAHashCannotBeAPath(t *testing.T) {
	blobs := mustOpen(t, t.TempDir()).Blobs()
	for _, sum := range []string{"", "../journal.db", "ABCDEF"} {
		if _, err := blobs.Get(sum); err == nil || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%q: error %v, want refused", sum, err)
		}
	}
	missing := "0000000000000000000000000000000000000000000000000000000000000000"
	if _, err := blobs.Get(missing); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
}
