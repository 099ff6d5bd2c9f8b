package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// ErrByHand is an effect on a node that only a person may have: nothing is run
// or written there.
var ErrByHand = errors.New("a person does this by hand")

// Manual is a node that a person drives. What can be read of it are the copies
// that this person puts into a folder on this machine, each below its path on
// the node (DIR/etc/kafka/server.properties) or flat by its name
// (DIR/server.properties). The first counts where both are there.
type Manual struct {
	local *Local
	dir   string
}

// NewManual returns the node whose copies lie in dir.
func NewManual(dir string) *Manual { return &Manual{local: NewLocal(), dir: dir} }

var _ Node = (*Manual)(nil)

// Run refuses: commands of such a node are for a person to give.
func (m *Manual) Run(_ context.Context, argv []string) (Result, error) {
	return Result{}, &NotStartedError{Argv: argv, Err: ErrByHand}
}

// WriteFile refuses.
func (m *Manual) WriteFile(_ context.Context, path string, _ []byte, _ WriteOptions) error {
	return fmt.Errorf("write %s: %w", path, ErrByHand)
}

// ReadFile returns the copy of a file.
func (m *Manual) ReadFile(ctx context.Context, path string) ([]byte, error) {
	at, err := m.at(ctx, path)
	if err != nil {
		return nil, err
	}
	return m.local.ReadFile(ctx, at)
}

// Tail follows the copy of a log.
func (m *Manual) Tail(ctx context.Context, path string, from Cursor) (Tailed, error) {
	at, err := m.at(ctx, path)
	if err != nil {
		return Tailed{}, err
	}
	return m.local.Tail(ctx, at, from)
}

// Stat describes the copy of a path.
func (m *Manual) Stat(ctx context.Context, path string) (Info, error) {
	at, err := m.at(ctx, path)
	if err != nil {
		return Info{}, err
	}
	return m.local.Stat(ctx, at)
}

// at is where the copy of a path lies. Without the folder nothing is known: a
// mistyped one must not look like a node without files.
func (m *Manual) at(ctx context.Context, path string) (string, error) {
	if !filepath.IsAbs(path) || strings.Contains(path, "..") {
		return "", fmt.Errorf("%s: not a plain absolute path", path)
	}
	folder, err := m.local.Stat(ctx, m.dir)
	if err == nil && !folder.Dir {
		err = fmt.Errorf("the folder for the copies of the node's files: %w", fs.ErrInvalid)
		if !folder.Exists {
			err = errNoFolder
		}
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", m.dir, err)
	}
	below, flat := filepath.Join(m.dir, path), filepath.Join(m.dir, filepath.Base(path))
	for _, at := range []string{below, flat} {
		info, err := m.local.Stat(ctx, at)
		if err != nil || info.Exists {
			return at, err
		}
	}
	return below, nil
}

var errNoFolder = errors.New("does not exist: create it and put the copies of the node's files into it")
