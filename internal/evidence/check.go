package evidence

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
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

// Read reads a pack from its folder. One that lacks a file or differs from its
// checksums by a byte is an error that names the file.
func Read(dir string) (Pack, error) {
	var p Pack
	sums, err := os.ReadFile(filepath.Join(dir, sumsFile))
	if err != nil {
		return p, fmt.Errorf("read the pack: %w", err)
	}
	listed := false
	for line := range strings.Lines(string(sums)) {
		want, name, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "  ")
		if !ok || !filepath.IsLocal(filepath.FromSlash(name)) {
			return p, fmt.Errorf("read the pack %s: %q is no line of its %s", dir, line, sumsFile)
		}
		got, err := fileSum(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return p, err
		}
		if got != want {
			return p, fmt.Errorf("the pack %s was altered: %s has SHA-256 %s, %s says %s", dir, name, got, sumsFile, want)
		}
		listed = listed || name == packFile
	}
	if !listed {
		return p, fmt.Errorf("the pack %s was altered: its %s does not list %s", dir, sumsFile, packFile)
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
