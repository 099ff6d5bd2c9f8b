package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
)

// ErrBlobDamaged is a content that no longer has its hash.
var ErrBlobDamaged = errors.New("the stored content does not have its hash any more")

// Blobs keeps contents by their SHA-256 in DATA/blobs, readable by the owner
// only: they hold what the journal must not, such as passwords in properties.
type Blobs struct {
	dir string
}

func openBlobs(data string) (Blobs, error) {
	dir := filepath.Join(data, "blobs")
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return Blobs{}, err
	}
	return Blobs{dir: dir}, os.Chmod(dir, dirMode)
}

// Put stores a content, once, and returns its hash in hex. When it returns
// the content is on the disk.
func (b Blobs) Put(data []byte) (string, error) {
	h := sha256.Sum256(data)
	sum := hex.EncodeToString(h[:])
	if _, err := b.Get(sum); err == nil {
		return sum, nil
	}
	if err := b.write(sum, data); err != nil {
		return "", fmt.Errorf("store content %s: %w", sum[:12], err)
	}
	return sum, nil
}

// Get returns the content with that hash. Errors: fs.ErrNotExist, ErrBlobDamaged.
func (b Blobs) Get(sum string) ([]byte, error) {
	if !isSum(sum) {
		return nil, fmt.Errorf("fetch content: %q is no SHA-256", sum)
	}
	data, err := os.ReadFile(filepath.Join(b.dir, sum))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("fetch content %s: %w", sum[:12], fs.ErrNotExist)
	}
	if err != nil {
		return nil, fmt.Errorf("fetch content %s: %w", sum[:12], err)
	}
	if h := sha256.Sum256(data); hex.EncodeToString(h[:]) != sum {
		return nil, fmt.Errorf("fetch content %s: %w", sum[:12], ErrBlobDamaged)
	}
	return data, nil
}

// write is whole or not at all: aside in the same folder, fsync, rename.
func (b Blobs) write(sum string, data []byte) error {
	f, err := os.CreateTemp(b.dir, "new-*") // 0600
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(b.dir, sum))
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(b.dir)
}

func isSum(s string) bool { return regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(s) }
