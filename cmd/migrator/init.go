package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/config"
	"migrator/internal/draft"
	"migrator/internal/survey"
)

func newInitCommand() *cobra.Command {
	var connect, name, out, login string
	var bootstrap []string
	cmd := &cobra.Command{
		Use:   "init --zookeeper CONNECT [--out migrations.yaml]",
		Short: "look at a cluster and write the migrations.yaml for it, with places to fill in",
		Long: `init reads a cluster's ZooKeeper, changes nothing, and writes a commented
migrations.yaml: brokers, ids, hosts, racks, listeners, and proposals for the
controllers. What cannot be known from there is marked "# FILL IN:". A file that
exists is never overwritten.

Where ZooKeeper or the brokers ask who comes, --login names a file with the keys
tls, sasl and digest below zookeeper and kafka, written as in migrations.yaml:

  zookeeper: {digest: {user: super, password: {env: ZK_PASSWORD}}}
  kafka: {tls: {ca: /etc/kafka/ca.pem}, sasl: {mechanism: SCRAM-SHA-512, user: migrator, password: {env: KAFKA_PASSWORD}}}`,
		Example: "  migrator init --zookeeper zk1:2181,zk2:2181,zk3:2181/kafka --name payments\n  migrator init --zookeeper zk1:2181 --out -\n  migrator init --zookeeper zk1:2182 --login login.yaml",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				name = nameOf(connect)
			}
			if !config.ValidName(name) {
				return usagef("--name %q: use up to 63 letters, digits, dots, dashes and underscores, beginning with a letter or digit", name)
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), survey.DiscoverLimit)
			defer cancel()
			var zk config.ZooKeeper
			var kafka config.Kafka
			if login != "" {
				var err error
				if zk, kafka, err = config.LoadLogin(login); errors.Is(err, fs.ErrNotExist) {
					return usagef("%v", err)
				} else if err != nil {
					return err
				}
			}
			zk.Connect, kafka.Bootstrap = connect, bootstrap
			c, err := survey.Discover(ctx, zk, kafka)
			if err != nil {
				return err
			}
			c.Name = name
			return writeDraft(cmd.OutOrStdout(), out, c)
		},
	}
	cmd.Flags().StringVar(&connect, "zookeeper", "", "the brokers' zookeeper.connect, chroot included")
	cmd.Flags().StringSliceVar(&bootstrap, "bootstrap", nil, "brokers as host:port, if the registered listeners cannot be reached from here")
	cmd.Flags().StringVar(&login, "login", "", "a file that says how to get in: TLS, SASL, digest")
	cmd.Flags().StringVar(&name, "name", "", "a name for the cluster (default: the end of its chroot)")
	cmd.Flags().StringVar(&out, "out", "migrations.yaml", "the file to write; - is standard output")
	// Only an unknown flag's name makes this fail.
	_ = cmd.MarkFlagRequired("zookeeper")
	return cmd
}

// writeDraft writes to a file that was not there, or to standard output for -.
func writeDraft(stdout io.Writer, out string, c draft.Cluster) error {
	text := draft.YAML(c)
	if out == "-" {
		_, err := io.WriteString(stdout, text)
		return err
	}
	switch err := writeNew(out, []byte(text)); {
	case errors.Is(err, fs.ErrExist):
		return usagef("%s exists and is not overwritten: name another with --out, or - for standard output", out)
	case err != nil:
		return fmt.Errorf("write the configuration: %w", err)
	}
	_, err := fmt.Fprintf(stdout, "%s: %d brokers of cluster %s; %d places to fill in (grep 'FILL IN' %s)\n",
		out, len(c.Brokers), plain(c.ID), strings.Count(text, ": "+draft.Mark), out)
	return err
}

// nameOf is the last name of the chroot, when it can be a cluster's.
func nameOf(connect string) string {
	if at := strings.LastIndexByte(connect, '/'); at >= 0 && config.ValidName(connect[at+1:]) {
		return connect[at+1:]
	}
	return "kafka"
}
