// Package secrets reads secrets from where migrations.yaml says they are kept.
// Its errors name the source and never what came out of it.
package secrets

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"migrator/internal/config"
	"migrator/internal/configgen"
)

const (
	maxBytes     = 64 << 10 // of one secret
	commandLimit = 30 * time.Second
)

// Read gives the secret that a source keeps, without a line end behind it. A
// nil source is the empty secret. An empty answer is an error: nobody means it.
func Read(ctx context.Context, from *config.SecretSource) (config.Secret, error) {
	if from == nil {
		return config.Secret{}, nil
	}
	text, err := read(ctx, from)
	if err == nil && strings.TrimSpace(text) == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		return config.Secret{}, fmt.Errorf("read a secret from %s: %w", from, err)
	}
	secret := config.NewSecret(text)
	remember(secret)
	return secret, nil
}

func read(ctx context.Context, from *config.SecretSource) (string, error) {
	switch {
	case from.Env != "":
		text, set := os.LookupEnv(from.Env)
		if !set {
			return "", errors.New("it is not set for this process")
		}
		return text, nil
	case from.File != "":
		return readFile(from.File)
	default:
		return runCommand(ctx, from.Command)
	}
}

func readFile(path string) (string, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", errors.Unwrap(err)
	case !info.Mode().IsRegular():
		return "", errors.New("not a regular file")
	}
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	defer f.Close()
	return bounded(f)
}

func bounded(from io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(from, maxBytes+1))
	if err != nil {
		return "", err
	}
	if len(data) > maxBytes {
		return "", fmt.Errorf("more than %d bytes", maxBytes)
	}
	return strings.TrimRight(string(data), "\r\n"), nil
}

// runCommand shows no output of a command that fails: it could hold the secret.
func runCommand(ctx context.Context, argv []string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, commandLimit)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdout = &capped{to: &out}
	cmd.WaitDelay = time.Second // a child that keeps the output open cannot hold us
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return "", fmt.Errorf("no end within %s", commandLimit)
	case errors.As(err, &exit):
		return "", fmt.Errorf("it ended with exit code %d; run it by hand to see why", exit.ExitCode())
	case err != nil:
		return "", err
	}
	return bounded(&out)
}

// capped keeps what fits and drops the rest, so that a flood costs no memory.
type capped struct{ to *bytes.Buffer }

func (c *capped) Write(p []byte) (int, error) {
	c.to.Write(p[:min(len(p), max(0, maxBytes+1-c.to.Len()))])
	return len(p), nil
}

// fillable reads a secret that may stand in a rendered file. Pages, diffs and
// plans hide values by their keys, so only such a key may have one.
func fillable(ctx context.Context, s config.Setting) (config.Secret, error) {
	if !configgen.Secret(s.Key) {
		return config.Secret{}, errors.New("its value is secret, and no key of this name is hidden when files are shown: write the value itself, or leave it to one of Kafka's config providers")
	}
	value, err := Read(ctx, s.Secret)
	if err == nil && strings.ContainsAny(value.Reveal(), "\r\n\x00") {
		err = fmt.Errorf("read a secret from %s: more than one line, which no property can hold", s.Secret)
	}
	return value, err
}

// Fill reads the settings of rendered files whose values are secrets, in place.
func Fill(ctx context.Context, m *config.Migration) error {
	for i, n := range m.Nodes {
		settings := append([]config.Setting(nil), n.Settings...)
		for j, s := range settings {
			if s.Secret == nil {
				continue
			}
			value, err := fillable(ctx, s)
			if err != nil {
				return fmt.Errorf("setting %s of %s %d: %w", s.Key, n.Role, n.ID, err)
			}
			settings[j].Value = value.Reveal()
		}
		m.Nodes[i].Settings = settings
	}
	return nil
}
