package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Checksum is the SHA-256 of a pack's SHA256SUMS, and so of the whole pack.
func Checksum(dir string) (string, error) {
	return fileSum(filepath.Join(dir, sumsFile))
}

func fileSum(path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the pack: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// AlteredError is a pack that does not have the content it was written with.
type AlteredError struct {
	Dir  string
	What string
}

func (e *AlteredError) Error() string {
	return fmt.Sprintf("the pack %s was altered: %s", e.Dir, e.What)
}

// Read reads a pack from its folder. One that lacks a listed file or
// differs by a byte is an *AlteredError that names the file.
func Read(dir string) (Pack, error) {
	var p Pack
	listed, err := compare(dir)
	if err != nil {
		return p, err
	}
	if !listed[packFile] {
		return p, &AlteredError{dir, sumsFile + " does not list " + packFile}
	}
	data, err := os.ReadFile(filepath.Join(dir, packFile))
	if err != nil {
		return p, fmt.Errorf("read the pack: %w", err)
	}
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("read %s of the pack %s: %w", packFile, dir, err)
	}
	return p, nil
}

// compare wants of every file that the checksums list just that content.
func compare(dir string) (listed map[string]bool, err error) {
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return nil, fmt.Errorf("read the pack: %w", err)
	}
	listed = map[string]bool{}
	for line := range strings.Lines(string(sums)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !filepath.IsLocal(filepath.FromSlash(name)) {
			return nil, &AlteredError{dir, fmt.Sprintf("%q is no line of %s", line, sumsFile)}
		}
		got, err := fileSum(filepath.Join(dir, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, &AlteredError{dir, name + " is missing"}
		}
		if err != nil {
			return nil, err
		}
		if got != want {
			return nil, &AlteredError{dir, fmt.Sprintf("%s has SHA-256 %s, %s says %s", name, got, sumsFile, want)}
		}
		listed[name] = true
	}
	return listed, nil
}
