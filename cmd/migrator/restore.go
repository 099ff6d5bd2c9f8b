package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/execute"
	"migrator/internal/zkread"
	"migrator/internal/znodebackup"
)

type restoreFlags struct {
	config   string
	identity string
	parts    []string
	digest   string
	asJSON   bool
}

func newRestoreCommand() *cobra.Command {
	var f restoreFlags
	cmd := &cobra.Command{
		Use:   "restore FILE NAME --config F --select topics,configs,acls",
		Short: "bring chosen znodes back from a backup, by digest",
		Long: `Prints what would be created, changed and left, with a digest, and does nothing (exit 4) until
it is run again with that digest. For clusters that ZooKeeper alone rules: it is refused (exit 3)
once a KRaft controller has /controller, and for a backup of another cluster.

  topics   topics that are gone, with their id and replicas; they begin without records
  configs  of topics, brokers, users (SCRAM and quotas), clients and ips
  acls     literal and prefixed

It never deletes, and never writes /controller, /brokers/ids, /migration, /cluster or the state
of a partition. Each write names the version that was read, and brokers are told as Kafka tells them.`,
		Example: `  migrator backup restore payments.znodes payments --config migrations.yaml --select configs
  migrator backup restore payments.znodes payments --config migrations.yaml --select configs --digest 9c1b...`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx, stop := untilInterrupted(cmd)
			defer stop()
			return restore(ctx, cmd, args[0], args[1], f)
		},
	}
	configFlag(cmd, &f.config)
	identityFlag(cmd, &f.identity)
	jsonFlag(cmd, &f.asJSON)
	cmd.Flags().StringSliceVar(&f.parts, "select", nil, "what to bring back: topics, configs, acls")
	cmd.Flags().StringVar(&f.digest, "digest", "", "the digest of the printed plan, to do it")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("select")
	return cmd
}

// restoreDoc is the plan of a restore, and whether it was done.
type restoreDoc struct {
	Name      string                    `json:"name"`
	File      string                    `json:"file"`
	ClusterID string                    `json:"cluster_id"`
	Digest    string                    `json:"digest"`
	Steps     []znodebackup.RestoreStep `json:"steps"`
	Done      bool                      `json:"done"`
}

func restore(ctx context.Context, cmd *cobra.Command, file, name string, f restoreFlags) error {
	var parts []znodebackup.Part
	for _, p := range f.parts {
		if !slices.Contains(znodebackup.Parts(), znodebackup.Part(p)) {
			return usagef("--select %q: say topics, configs or acls", p)
		}
		parts = append(parts, znodebackup.Part(p))
	}
	m, err := loadMigration(f.config, name)
	if err != nil {
		return err
	}
	r, err := connect.Reader(m.ZooKeeper, zkSession)
	if err != nil {
		return err
	}
	defer r.Close()
	doc, epoch, err := planRestore(ctx, r, file, name, parts, f.identity)
	if err != nil {
		return err
	}
	work := slices.ContainsFunc(doc.Steps, func(s znodebackup.RestoreStep) bool { return s.Deed != znodebackup.Leave })
	if work && f.digest == doc.Digest {
		if err := doRestore(ctx, cmd, m, doc, epoch); err != nil {
			return err
		}
		doc.Done = true
	}
	if err := printRestore(cmd, doc, f.asJSON); err != nil {
		return err
	}
	switch {
	case doc.Done || !work:
		return nil
	case f.digest == "":
		return &answered{exitWaiting, "nothing was done; to do it: --digest " + doc.Digest}
	}
	return &answered{exitWaiting, "nothing was done: the digest is stale, ZooKeeper or the choice has changed; read the plan again"}
}

// planRestore reads backup and cluster, and refuses what must not be restored.
func planRestore(ctx context.Context, r *zkread.Reader, file, name string, parts []znodebackup.Part, identity string) (restoreDoc, zkread.Epoch, error) {
	var saved []znodebackup.Znode
	summary, err := znodebackup.ReadFile(ctx, file, identity, func(z znodebackup.Znode) error {
		if part, ok := znodebackup.PartOf(z.Path); ok && (slices.Contains(parts, part) || part == znodebackup.Topics) {
			saved = append(saved, z)
		}
		return nil
	})
	if err != nil {
		return restoreDoc{}, zkread.Epoch{}, recipientUsage(fmt.Errorf("%s: %w", file, err))
	}
	epoch, err := mayRestore(ctx, r, summary.ClusterID)
	if err != nil {
		return restoreDoc{}, epoch, err
	}
	paths := make([]string, 0, len(saved))
	for _, z := range saved {
		paths = append(paths, z.Path)
	}
	found, err := r.Znodes(ctx, paths)
	if err != nil {
		return restoreDoc{}, epoch, err
	}
	now := make(map[string]znodebackup.Seen, len(found))
	for path, z := range found {
		now[path] = znodebackup.Seen{Data: z.Data, Version: z.Version}
	}
	pending, err := r.PendingDeletions(ctx)
	if err != nil {
		return restoreDoc{}, epoch, err
	}
	doc := restoreDoc{Name: name, File: file, ClusterID: summary.ClusterID, Steps: znodebackup.PlanRestore(saved, now, pending, parts)}
	doc.Digest, err = znodebackup.Digest(doc.ClusterID, summary.SHA256, doc.Steps)
	return doc, epoch, err
}

// mayRestore refuses another cluster, and one that KRaft rules or has ruled:
// there the metadata log is the truth, and writes it over ZooKeeper.
func mayRestore(ctx context.Context, r *zkread.Reader, of string) (zkread.Epoch, error) {
	id, err := r.ClusterID(ctx)
	if err != nil {
		return zkread.Epoch{}, err
	}
	if id != of {
		return zkread.Epoch{}, &answered{exitRefused, fmt.Sprintf("refused: the backup is of cluster %s, this one is %s", of, id)}
	}
	controller, err := r.Controller(ctx)
	if err != nil {
		return zkread.Epoch{}, err
	}
	migration, err := r.Migration(ctx)
	switch {
	case err != nil:
		return zkread.Epoch{}, err
	case controller.HeldByKRaft():
		return zkread.Epoch{}, &answered{exitRefused, fmt.Sprintf("refused: KRaft controller %d holds /controller, so the metadata log is the truth: change topics, configs and ACLs with Kafka's own tools", controller.BrokerID)}
	case migration.Null || migration.Present && migration.Offset >= 0:
		return zkread.Epoch{}, &answered{exitRefused, "refused: /migration says that the copy to KRaft was done: go back with migrator revert NAME --to initial first"}
	}
	epoch, err := r.ControllerEpoch(ctx)
	if err == nil && !epoch.Present {
		err = errors.New("/controller_epoch does not exist: no broker ever ruled this cluster")
	}
	return epoch, err
}

func doRestore(ctx context.Context, cmd *cobra.Command, m config.Migration, doc restoreDoc, epoch zkread.Epoch) (err error) {
	z, err := execute.OpenZNodes(m.ZooKeeper.Connect, zkSession, connect.ZooKeeper(m.ZooKeeper), "restore "+doc.Digest)
	if err != nil {
		return err
	}
	defer z.Close()
	if err := z.Acquire(ctx, whoAmI()+", migrator backup restore"); err != nil {
		var held *execute.HeldError
		if errors.As(err, &held) {
			return &answered{exitRefused, "refused: " + err.Error()}
		}
		return err
	}
	meter := newMeter(cmd.ErrOrStderr(), "steps")
	defer meter.end()
	return z.Restore(ctx, epoch.ZnodeVersion, doc.Steps, func(n int) { meter.tell(n, len(doc.Steps)) })
}

func printRestore(cmd *cobra.Command, doc restoreDoc, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), doc)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), plain(describeRestore(doc)))
	return err
}

// describeRestore shows every write and counts what is left as it is, by reason.
func describeRestore(doc restoreDoc) string {
	var b strings.Builder
	counts, asSaved := map[znodebackup.Deed]int{}, 0
	fmt.Fprintf(&b, "restore of %s into %s (cluster %s)\n", doc.File, doc.Name, doc.ClusterID)
	for _, s := range doc.Steps {
		counts[s.Deed]++
		if s.Why == znodebackup.AsSaved {
			asSaved++
			continue
		}
		fmt.Fprintf(&b, "  %-6s %s: %s\n", s.Deed, s.Path, s.Why)
	}
	if asSaved > 0 {
		fmt.Fprintf(&b, "  leave  %d znodes: %s\n", asSaved, znodebackup.AsSaved)
	}
	verb := "would be "
	if doc.Done {
		verb = ""
	}
	fmt.Fprintf(&b, "%d %screated, %d %schanged, %d left; digest %s\n", counts[znodebackup.Create], verb, counts[znodebackup.Change], verb, counts[znodebackup.Leave], doc.Digest)
	return b.String()
}
