package journal

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"go.etcd.io/bbolt"
	berrors "go.etcd.io/bbolt/errors"
)

const (
	fileName   = "journal.db"
	lockWait   = time.Second
	formatOne  = 1 // of the file's buckets
	dirMode    = fs.FileMode(0o700)
	secretMode = fs.FileMode(0o600)
)

var (
	bucketMeta       = []byte("meta")
	bucketMigrations = []byte("migrations")
	keyStoreID       = []byte("store_id")
	keyFormat        = []byte("format")
)

// Store is an open journal. Its methods may be called from any goroutine.
type Store struct {
	db    *bbolt.DB
	known func(kind string) bool
	id    string
	blobs Blobs
}

// Open opens or creates the journal in a data folder and reads it whole once.
// known tells the kinds of entries this program understands; one that it does
// not understand, or a newer one, refuses to open, because going on without
// knowing what was done could repeat it. Errors: ErrLocked, ErrDamaged,
// ErrNewer, ErrUnknownKind.
func Open(dir string, known func(kind string) bool) (*Store, error) {
	s, err := open(dir, known)
	if err != nil {
		return nil, fmt.Errorf("open journal in %s: %w", dir, err)
	}
	return s, nil
}

func open(dir string, known func(kind string) bool) (*Store, error) {
	if err := ownDir(dir); err != nil {
		return nil, err
	}
	blobs, err := openBlobs(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, fileName)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		if err := create(path); err != nil {
			return nil, err
		}
	}
	if err := checkWhole(path); err != nil {
		return nil, err
	}
	s := &Store{known: known, blobs: blobs}
	if err := guarded(func() error { return s.load(path) }); err != nil {
		if s.db != nil {
			err = errors.Join(err, s.db.Close())
		}
		return nil, err
	}
	return s, nil
}

// Close ends all use of the store.
func (s *Store) Close() error {
	if err := s.db.Close(); err != nil {
		return fmt.Errorf("close journal: %w", err)
	}
	return nil
}

// ID is a random name made once with the store. Two services with different
// stores tell each other apart by it.
func (s *Store) ID() string { return s.id }

// Blobs keeps file and znode contents beside the journal.
func (s *Store) Blobs() Blobs { return s.blobs }

// create makes the file aside, so that an empty or half-made one at the path
// is always damage and never mistaken for a new store.
func create(path string) error {
	aside := path + "." + rand.Text() + ".new"
	err := initialise(aside)
	if err == nil {
		err = os.Link(aside, path) // unlike a rename it never replaces what another service just made
	}
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return errors.Join(err, os.Remove(aside), syncDir(filepath.Dir(path)))
}

func initialise(path string) error {
	db, err := openDB(path, false)
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		if _, err := tx.CreateBucket(bucketMigrations); err != nil {
			return err
		}
		meta, err := tx.CreateBucket(bucketMeta)
		if err != nil {
			return err
		}
		format := binary.BigEndian.AppendUint32(nil, formatOne)
		return errors.Join(meta.Put(keyStoreID, []byte(rand.Text())), meta.Put(keyFormat, format))
	})
	return errors.Join(err, db.Close())
}

// checkWhole compares the file's size with what its own first pages say. bbolt
// maps the file into memory, and a missing page would end the process.
func checkWhole(path string) error {
	return guarded(func() error {
		db, err := openDB(path, true)
		if err != nil {
			return err
		}
		err = db.View(func(tx *bbolt.Tx) error {
			info, err := os.Stat(path)
			if err == nil && info.Size() < tx.Size() {
				err = fmt.Errorf("%w: %d bytes of %d are left", ErrDamaged, info.Size(), tx.Size())
			}
			return err
		})
		return errors.Join(err, db.Close())
	})
}

func openDB(path string, readOnly bool) (*bbolt.DB, error) {
	if info, err := os.Stat(path); err == nil && info.Size() == 0 {
		return nil, fmt.Errorf("%w: %s is empty", ErrDamaged, path)
	}
	db, err := bbolt.Open(path, secretMode, &bbolt.Options{Timeout: lockWait, FreelistType: bbolt.FreelistMapType, ReadOnly: readOnly})
	var pathErr *fs.PathError
	switch {
	case err == nil:
		return db, nil
	case errors.Is(err, berrors.ErrTimeout):
		return nil, ErrLocked
	case errors.As(err, &pathErr):
		return nil, err
	default:
		return nil, errors.Join(ErrDamaged, err)
	}
}

// load opens for writing and reads everything once.
func (s *Store) load(path string) error {
	var err error
	if s.db, err = openDB(path, false); err != nil {
		return err
	}
	return s.db.View(func(tx *bbolt.Tx) error {
		meta, migrations := tx.Bucket(bucketMeta), tx.Bucket(bucketMigrations)
		if meta == nil || migrations == nil {
			return fmt.Errorf("%w: it is no journal", ErrDamaged)
		}
		format := meta.Get(keyFormat)
		if len(format) != 4 || len(meta.Get(keyStoreID)) == 0 {
			return fmt.Errorf("%w: it is no journal", ErrDamaged)
		}
		if v := binary.BigEndian.Uint32(format); v > formatOne {
			return fmt.Errorf("%w: its format is %d, this program knows %d", ErrNewer, v, formatOne)
		}
		s.id = string(meta.Get(keyStoreID))
		return migrations.ForEachBucket(func(name []byte) error { return s.loadMigration(migrations, name) })
	})
}

func (s *Store) loadMigration(migrations *bbolt.Bucket, name []byte) error {
	bucket := migrations.Bucket(name)
	next := uint64(1)
	err := bucket.ForEach(func(k, v []byte) error {
		entry, err := s.decode(k, v)
		if err != nil {
			return err
		}
		if entry.Seq != next {
			return fmt.Errorf("%w: entry %d is missing", ErrDamaged, next)
		}
		next++
		return nil
	})
	if err == nil && bucket.Sequence() != next-1 {
		err = fmt.Errorf("%w: its last entries are missing", ErrDamaged)
	}
	if err != nil {
		return fmt.Errorf("migration %s: %w", name, err)
	}
	return nil
}

// guarded turns what bbolt does on garbage, a panic or a memory fault, into
// ErrDamaged.
func guarded(work func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", ErrDamaged, cause)
		}
	}()
	return work()
}

// ownDir makes the data folder. One that exists is closed to others only when
// it is ours alone: empty, or already holding a journal.
func ownDir(dir string) error {
	if err := os.MkdirAll(dir, dirMode); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	_, err = os.Stat(filepath.Join(dir, fileName))
	if len(entries) > 0 && err != nil {
		return nil
	}
	return os.Chmod(dir, dirMode)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
