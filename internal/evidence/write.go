package evidence

import (
	"archive/tar"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

const (
	maxFile = 256 << 20 // of one file read from a stream
	maxAll  = 10_000    // files of one stream
)

// Write puts the files into a folder, which it makes.
func Write(dir string, files []File) error {
	for _, f := range files {
		if err := writeOne(dir, f.Name, func(w io.Writer) error { _, err := w.Write(f.Data); return err }); err != nil {
			return err
		}
	}
	return nil
}

// WriteTar streams the files.
func WriteTar(w io.Writer, files []File) error {
	out := tar.NewWriter(w)
	for _, f := range files {
		if err := out.WriteHeader(&tar.Header{Name: f.Name, Mode: 0o644, Size: int64(len(f.Data)), Typeflag: tar.TypeReg}); err != nil {
			return fmt.Errorf("stream %s: %w", f.Name, err)
		}
		if _, err := out.Write(f.Data); err != nil {
			return fmt.Errorf("stream %s: %w", f.Name, err)
		}
	}
	return out.Close()
}

// ReadTar puts a stream's files into a folder. A name that leads out of the
// folder, a link, or a stream that ends early is an error.
func ReadTar(r io.Reader, dir string) error {
	in := tar.NewReader(r)
	last := ""
	for range maxAll {
		h, err := in.Next()
		if errors.Is(err, io.EOF) && last == sumsFile {
			return nil
		}
		if errors.Is(err, io.EOF) {
			return fmt.Errorf("read the evidence stream: it ended early, after %q", last)
		}
		if err != nil {
			return fmt.Errorf("read the evidence stream: %w", err)
		}
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(filepath.FromSlash(h.Name)) || h.Size > maxFile {
			return fmt.Errorf("read the evidence stream: %q is not a file of a pack", h.Name)
		}
		if err := writeOne(dir, h.Name, func(w io.Writer) error { _, err := io.Copy(w, in); return err }); err != nil {
			return err
		}
		last = h.Name
	}
	return fmt.Errorf("read the evidence stream: more than %d files", maxAll)
}

func writeOne(dir, name string, fill func(io.Writer) error) error {
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	f, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("write evidence: %w", err)
	}
	if err := errors.Join(fill(f), f.Close()); err != nil {
		return fmt.Errorf("write evidence %s: %w", path, err)
	}
	return nil
}
