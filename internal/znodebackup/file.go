package znodebackup

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"filippo.io/age"
)

// Save writes a file that is whole or absent: aside, mode 0600, synced, then
// renamed. With recipients (age1...) it is encrypted for them by age, so that
// only the holders of their identities read it.
func Save(path string, recipients []string, write func(io.Writer) error) (err error) {
	to, err := parseRecipients(recipients)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, f.Close(), os.Remove(f.Name()))
		}
	}()
	if err := encrypted(f, to, write); err != nil {
		return err
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return errors.Join(f.Close(), syncFolder(filepath.Dir(path)))
}

func encrypted(f io.Writer, to []age.Recipient, write func(io.Writer) error) error {
	buffered := bufio.NewWriterSize(f, 1<<20)
	if len(to) == 0 {
		if err := write(buffered); err != nil {
			return err
		}
		return buffered.Flush()
	}
	sealed, err := age.Encrypt(buffered, to...)
	if err != nil {
		return fmt.Errorf("encrypt: %w", err)
	}
	if err := write(sealed); err != nil {
		return err
	}
	return errors.Join(sealed.Close(), buffered.Flush())
}

// syncFolder makes a rename last over a power cut.
func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// RecipientError is a recipient or identity that age does not understand.
type RecipientError struct{ Err error }

// Error says what was wrong with it.
func (e *RecipientError) Error() string { return e.Err.Error() }

func parseRecipients(texts []string) ([]age.Recipient, error) {
	var out []age.Recipient
	for _, text := range texts {
		r, err := age.ParseRecipients(strings.NewReader(text))
		if err != nil {
			return nil, &RecipientError{fmt.Errorf("recipient %q: %w", text, err)}
		}
		out = append(out, r...)
	}
	return out, nil
}

// ErrNoIdentity is the kind of error of an encrypted backup without its key.
var ErrNoIdentity = errors.New("the backup is encrypted: name the file of an identity it was made for (--identity)")

const ageHead = "age-encryption.org/"

// ReadFile reads a backup from a file as Read does, with the file of an age
// identity where it is encrypted. ctx ends it between two reads.
func ReadFile(ctx context.Context, path, identity string, visit func(Znode) error) (out Summary, err error) {
	f, err := os.Open(path)
	if err != nil {
		return Summary{}, fmt.Errorf("read a backup: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	in := bufio.NewReaderSize(&interrupted{ctx, f}, 1<<20)
	// A file shorter than this is no backup, which Read says.
	if head, _ := in.Peek(len(ageHead)); !bytes.Equal(head, []byte(ageHead)) {
		return Read(in, visit)
	}
	if identity == "" {
		return Summary{}, ErrNoIdentity
	}
	keys, err := readIdentities(identity)
	if err != nil {
		return Summary{}, err
	}
	plain, err := age.Decrypt(in, keys...)
	var mismatch *age.NoIdentityMatchError
	switch {
	case errors.As(err, &mismatch):
		return Summary{}, fmt.Errorf("%w; %s has none", ErrNoIdentity, identity)
	case err != nil:
		return Summary{}, &DamageError{At: -1, What: "the head of the encrypted file: " + err.Error()}
	}
	out, err = Read(&ageStream{plain}, visit)
	out.Encrypted = true
	return out, err
}

func readIdentities(path string) ([]age.Identity, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the identity: %w", err)
	}
	defer f.Close()
	keys, err := age.ParseIdentities(f)
	if err != nil {
		return nil, &RecipientError{fmt.Errorf("identity %s: %w", path, err)}
	}
	return keys, nil
}

// ageStream names what age finds damaged: it proves each 64 KiB of its stream.
type ageStream struct{ in io.Reader }

func (s *ageStream) Read(p []byte) (int, error) {
	n, err := s.in.Read(p)
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return n, err
	case err == io.EOF:
		return n, io.EOF
	}
	return n, &DamageError{At: -1, What: "the encrypted stream is changed or cut off: " + err.Error()}
}

type interrupted struct {
	ctx context.Context
	in  io.Reader
}

func (r *interrupted) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.in.Read(p)
}
