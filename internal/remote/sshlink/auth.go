package sshlink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"

	"migrator/internal/secrets"
)

// AuthError is a host that does not let the user in, or a key that cannot be
// used. Trying again changes nothing until a person did something.
type AuthError struct{ text string }

func (e *AuthError) Error() string { return e.text }

// identities are the keys to offer, in order, and what to say of them.
type identities struct {
	signers []ssh.Signer
	notes   []string // one a key: what it is, and what is the matter with it
}

// loadIdentities reads key files and asks the agent. A key file that
// migrations.yaml names is offered alone, like ssh's IdentitiesOnly: a server
// counts each key it does not know as a failure.
func loadIdentities(ctx context.Context, l login) (identities, func(), error) {
	var ids identities
	inAgent, done, agentErr := agentSigners(ctx, l.agent)
	for _, path := range l.keys {
		err := ids.addFile(ctx, l, path, inAgent)
		switch {
		case err == nil:
		case l.way.KeyFile != "":
			done()
			return ids, nil, &AuthError{text: err.Error()}
		case l.keysGiven || !errors.Is(err, fs.ErrNotExist):
			ids.notes = append(ids.notes, err.Error())
		}
	}
	if l.way.KeyFile == "" {
		for _, s := range inAgent {
			ids.add(s, "agent's key")
		}
		if agentErr != nil {
			ids.notes = append(ids.notes, agentErr.Error())
		}
	}
	if len(ids.signers) == 0 {
		done()
		return ids, nil, &AuthError{text: fmt.Sprintf("no key to log in as %s with: %s. Name one as key_file, or start the service with SSH_AUTH_SOCK of an agent that holds one", l, ids.said())}
	}
	return ids, done, nil
}

func (ids *identities) said() string {
	if len(ids.notes) == 0 {
		return "no key file of the usual names, and SSH_AUTH_SOCK is not set"
	}
	return strings.Join(ids.notes, "; ")
}

func (ids *identities) add(s ssh.Signer, what string) {
	ids.signers = append(ids.signers, s)
	note := what + " " + ssh.FingerprintSHA256(s.PublicKey())
	if cert, ok := s.PublicKey().(*ssh.Certificate); ok {
		note = what + " certificate " + cert.KeyId
		switch now := uint64(time.Now().Unix()); {
		case cert.ValidBefore != ssh.CertTimeInfinity && now >= cert.ValidBefore:
			note += ", which expired at " + time.Unix(int64(cert.ValidBefore), 0).UTC().Format(time.RFC3339)
		case now < cert.ValidAfter:
			note += ", which is valid only from " + time.Unix(int64(cert.ValidAfter), 0).UTC().Format(time.RFC3339)
		}
	}
	ids.notes = append(ids.notes, note)
}

// addFile takes a private key, and before it the certificate beside it.
func (ids *identities) addFile(ctx context.Context, l login, path string, inAgent []ssh.Signer) error {
	signer, err := readKey(ctx, l, path, inAgent)
	if err != nil {
		return err
	}
	certified, err := readCertificate(path, signer)
	if err != nil {
		return err
	}
	if certified != nil {
		ids.add(certified, path)
	}
	ids.add(signer, path)
	return nil
}

func readKey(ctx context.Context, l login, path string, inAgent []ssh.Signer) (ssh.Signer, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("key %w", err)
	}
	signer, err := ssh.ParsePrivateKey(data)
	var locked *ssh.PassphraseMissingError
	if !errors.As(err, &locked) {
		if err != nil {
			return nil, fmt.Errorf("key %s: %w", path, err)
		}
		return signer, nil
	}
	if l.way.Passphrase == nil {
		if held := among(inAgent, locked.PublicKey); held != nil {
			return held, nil // ssh-add was given the passphrase
		}
		return nil, fmt.Errorf("key %s is locked by a passphrase: say where it is kept, as access.passphrase: {file: PATH}, {env: NAME} or {command: [argv]}, or load the key into an agent", path)
	}
	passphrase, err := secrets.Read(ctx, l.way.Passphrase)
	if err != nil {
		return nil, fmt.Errorf("passphrase of key %s: %w", path, err)
	}
	if signer, err = ssh.ParsePrivateKeyWithPassphrase(data, []byte(passphrase.Reveal())); err != nil {
		return nil, fmt.Errorf("key %s: the passphrase from %s does not unlock it: %w", path, l.way.Passphrase, err)
	}
	return signer, nil
}

// readCertificate reads KEY-cert.pub; nil when there is none.
func readCertificate(path string, signer ssh.Signer) (ssh.Signer, error) {
	path += "-cert.pub"
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("certificate %w", err)
	}
	public, _, _, _, err := ssh.ParseAuthorizedKey(data)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: %w", path, err)
	}
	cert, ok := public.(*ssh.Certificate)
	if !ok {
		return nil, fmt.Errorf("certificate %s: it holds a plain key", path)
	}
	certified, err := ssh.NewCertSigner(cert, signer)
	if err != nil {
		return nil, fmt.Errorf("certificate %s: it is not for the key beside it: %w", path, err)
	}
	return certified, nil
}

// agentSigners are the keys that the agent holds. They sign through the agent's
// connection, which done closes.
func agentSigners(ctx context.Context, socket string) (list []ssh.Signer, done func(), err error) {
	none := func() {}
	if socket == "" {
		return nil, none, nil
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, none, fmt.Errorf("the agent at %s does not answer: %w", socket, err)
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // an agent that hangs
	done = func() {
		stop()
		_ = conn.Close()
	}
	if list, err = agent.NewClient(conn).Signers(); err != nil {
		done()
		return nil, none, fmt.Errorf("the agent at %s does not say its keys: %w", socket, err)
	}
	return list, done, nil
}

func among(list []ssh.Signer, key ssh.PublicKey) ssh.Signer {
	for _, s := range list {
		if key != nil && bytes.Equal(s.PublicKey().Marshal(), key.Marshal()) {
			return s
		}
	}
	return nil
}
