package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"os/user"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"migrator/internal/client"
	"migrator/internal/config"
	"migrator/internal/findings"
	"migrator/internal/secrets"
)

// serverFlag is for commands that talk to the service.
func serverFlag(cmd *cobra.Command) {
	cmd.Flags().String("server", "http://127.0.0.1:8420", "the service to ask (MIGRATOR_SERVER); its token comes from MIGRATOR_TOKEN")
}

func jsonFlag(cmd *cobra.Command, asJSON *bool) {
	cmd.Flags().BoolVar(asJSON, "json", false, "print one JSON document and nothing else")
}

func configFlag(cmd *cobra.Command, path *string) {
	cmd.Flags().StringVar(path, "config", "", "the migrations.yaml")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("config")
}

func process(cmd *cobra.Command) (config.Process, error) {
	p, err := config.LoadProcess(cmd.Flags())
	if err != nil {
		return p, &usageError{err.Error()}
	}
	return p, nil
}

func newClient(cmd *cobra.Command) (*client.Client, error) {
	p, err := process(cmd)
	if err != nil {
		return nil, err
	}
	return client.New(p.Server, p.Token), nil
}

func newLog(cmd *cobra.Command, level slog.Level) *slog.Logger {
	return slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: level}))
}

// loadFile reads migrations.yaml; that it is absent is a fault of the command line.
func loadFile(path string) (config.File, error) {
	f, err := config.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return f, usagef("%v", err)
	}
	if err != nil {
		return f, err
	}
	if problems := findings.CheckWaivers(f); len(problems) > 0 {
		return f, &config.Problems{Path: path, List: problems}
	}
	return f, nil
}

// loadMigration finds one migration in migrations.yaml.
func loadMigration(path, name string) (config.Migration, error) {
	f, err := loadFile(path)
	if err != nil {
		return config.Migration{}, err
	}
	for _, m := range f.Migrations {
		if m.Name == name {
			return m, nil
		}
	}
	return config.Migration{}, usagef("no migration %q in %s", name, path)
}

// loadFileToRender is loadFile with the settings whose values are secrets read
// from where they are kept.
func loadFileToRender(ctx context.Context, path string) (config.File, error) {
	f, err := loadFile(path)
	if err != nil {
		return f, err
	}
	for i := range f.Migrations {
		if err := secrets.Fill(ctx, &f.Migrations[i]); err != nil {
			return f, fmt.Errorf("migration %s: %w", f.Migrations[i].Name, err)
		}
	}
	return f, nil
}

// loadToRender is loadMigration with the settings whose values are secrets read
// from where they are kept.
func loadToRender(ctx context.Context, path, name string) (config.Migration, error) {
	m, err := loadMigration(path, name)
	if err != nil {
		return m, err
	}
	return m, secrets.Fill(ctx, &m)
}

func printJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	return nil
}

// whoAmI is the actor that the journal names.
func whoAmI() string {
	name := "unknown user"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if host, err := os.Hostname(); err == nil {
		name += "@" + host
	}
	return name
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// untilInterrupted ends work in order at Ctrl-C or SIGTERM; a second one ends the process.
func untilInterrupted(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}
