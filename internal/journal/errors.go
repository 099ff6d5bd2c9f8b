package journal

import (
	"errors"
	"fmt"
)

var (
	// ErrLocked is a store that another process has open.
	ErrLocked = errors.New("another migrator service has this store open: stop it, or use another data folder")
	// ErrDamaged is a store that cannot be trusted any more.
	ErrDamaged = errors.New("the journal is damaged: restore journal.db from a backup, or move it away and adopt the cluster anew")
	// ErrNewer is a store that a newer program wrote.
	ErrNewer = errors.New("the journal was written by a newer version of this program")
	// ErrUnknownKind is an entry whose meaning this program does not know.
	ErrUnknownKind = errors.New("unknown kind of journal entry")
)

// AppendError is an entry that may not be on the disk.
type AppendError struct {
	Migration string
	Kind      string
	Err       error
}

func (e *AppendError) Error() string {
	return fmt.Sprintf("append %s to journal of %s: %v", e.Kind, e.Migration, e.Err)
}

// Unwrap gives the cause, such as syscall.ENOSPC.
func (e *AppendError) Unwrap() error { return e.Err }
