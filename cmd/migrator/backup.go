package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"migrator/internal/connect"
	"migrator/internal/znodebackup"
)

// zkSession bounds how long a silent ZooKeeper member is waited for.
const zkSession = 10 * time.Second

type backupFlags struct {
	config     string
	out        string
	recipients []string
	asJSON     bool
}

func newBackupCommand() *cobra.Command {
	var f backupFlags
	cmd := &cobra.Command{
		Use:   "backup NAME --config F --out FILE",
		Short: "keep all znodes of a cluster in one checked, compressed file",
		Long: `Reads every znode below the cluster's chroot (content, ACLs, versions, owners, times) into
one file of mode 0600. It changes nothing and needs no service. The file can hold secrets
(SCRAM credentials): encrypt it with --recipient, or keep it where only you read.

The file appears only when it is whole; Ctrl-C leaves none. "zstd -dc FILE" shows it as JSON lines.`,
		Example: `  migrator backup payments --config migrations.yaml --out payments.znodes
  migrator backup payments --config migrations.yaml --out payments.znodes.age --recipient age1...
  migrator backup verify payments.znodes
  migrator backup restore payments.znodes payments --config migrations.yaml --select topics,configs`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return takeBackup(ctx, cmd, args[0], f)
		},
	}
	configFlag(cmd, &f.config)
	jsonFlag(cmd, &f.asJSON)
	cmd.Flags().StringVar(&f.out, "out", "", "the file to write; it must not exist yet")
	cmd.Flags().StringArrayVar(&f.recipients, "recipient", nil, "encrypt for this age recipient (age1...); may be repeated")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("out")
	cmd.AddCommand(newBackupVerifyCommand(), newRestoreCommand())
	return cmd
}

// backupDoc is what is said of a backup.
type backupDoc struct {
	File      string    `json:"file"`
	Encrypted bool      `json:"encrypted"`
	Proven    bool      `json:"proven"` // read back whole from the disk
	ClusterID string    `json:"cluster_id"`
	Begun     time.Time `json:"begun"`
	SHA256    string    `json:"content_sha256"` // before encryption, without the last frame
	Bytes     int64     `json:"bytes"`
	znodebackup.Tail
}

func takeBackup(ctx context.Context, cmd *cobra.Command, name string, f backupFlags) error {
	m, err := loadMigration(f.config, name)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(f.out); err == nil {
		return usagef("--out %s exists already: an earlier backup is not written over", f.out)
	}
	r, err := connect.Reader(m.ZooKeeper, zkSession)
	if err != nil {
		return err
	}
	defer r.Close()
	meter := newMeter(cmd.ErrOrStderr(), "znodes")
	taken, err := znodebackup.TakeFile(ctx, f.out, f.recipients, r, meter.tell)
	meter.end()
	if err != nil {
		return recipientUsage(err)
	}
	if len(f.recipients) == 0 {
		return verifyBackup(ctx, cmd, f.out, "", f.asJSON)
	}
	doc := describeWhole(f.out, taken)
	doc.Encrypted = true // only the holder of an identity can prove it
	return showBackup(cmd, doc, f.asJSON)
}

func describeWhole(file string, s znodebackup.Summary) backupDoc {
	return backupDoc{File: file, ClusterID: s.ClusterID, Begun: s.Begun, SHA256: s.SHA256, Bytes: s.Bytes, Tail: s.Tail}
}

func recipientUsage(err error) error {
	var wrong *znodebackup.RecipientError
	if errors.As(err, &wrong) || errors.Is(err, znodebackup.ErrNoIdentity) {
		return usagef("%v", err)
	}
	return err
}

func newBackupVerifyCommand() *cobra.Command {
	var identity string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "verify FILE",
		Short: "prove a backup whole, from its first to its last byte",
		Long: `Reads the whole file: each block's checksum, the checksum of the file, every line. A file that
was cut off or in which a bit changed is refused (exit 1), with the place named.`,
		Example: "  migrator backup verify payments.znodes\n  migrator backup verify payments.znodes.age --identity key.txt",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return verifyBackup(ctx, cmd, args[0], identity, asJSON)
		},
	}
	identityFlag(cmd, &identity)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func identityFlag(cmd *cobra.Command, identity *string) {
	cmd.Flags().StringVar(identity, "identity", "", "file of the age identity that an encrypted backup was made for")
}

// verifyBackup reads the file, so that what is said was proven from the disk.
func verifyBackup(ctx context.Context, cmd *cobra.Command, file, identity string, asJSON bool) error {
	s, err := znodebackup.ReadFile(ctx, file, identity, nil)
	if err != nil {
		return recipientUsage(fmt.Errorf("%s: %w", file, err))
	}
	doc := describeWhole(file, s)
	doc.Proven, doc.Encrypted = true, s.Encrypted
	return showBackup(cmd, doc, asJSON)
}

func showBackup(cmd *cobra.Command, doc backupDoc, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), doc)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), plain(describeBackup(doc)))
	return err
}

func describeBackup(d backupDoc) string {
	var b strings.Builder
	state := "whole"
	if !d.Proven {
		state = "written, encrypted; prove it with: migrator backup verify --identity FILE"
	}
	fmt.Fprintf(&b, "%s: %s: %d znodes of cluster %s, read %s, %d KiB\n", d.File, state, d.Znodes, d.ClusterID, d.Begun.Format(time.RFC3339), (d.Bytes+1023)/1024)
	fmt.Fprintf(&b, "  sha256 of the content %s\n", d.SHA256)
	if d.Unreadable > 0 {
		fmt.Fprintf(&b, "  %d znodes exist and could not be read with our rights: their content is not in it\n", d.Unreadable)
	}
	if d.Moved == 0 {
		fmt.Fprintf(&b, "  nothing changed while it was read: it is the tree at zxid 0x%x\n", d.FromZxid)
		return b.String()
	}
	fmt.Fprintf(&b, "  %d znodes changed while it was read (zxid 0x%x to 0x%x), among them %s\n", d.Moved, d.FromZxid, d.ToZxid, strings.Join(d.Moving[:min(3, len(d.Moving))], ", "))
	return b.String()
}
