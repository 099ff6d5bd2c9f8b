package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/lab"
	"migrator/internal/zkread"
)

// checkRestore deletes a topic and spoils a configuration; the backup brings
// both back, and running brokers notice without a restart.
func checkRestore(ctx context.Context, t *testing.T, r *zkread.Reader, c *lab.Cluster) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.Bootstrap()...))
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	admin := kadm.NewClient(client)
	if _, err := admin.CreateTopic(ctx, 3, 2, nil, "lost"); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, "the topic has leaders", func() bool { return leaders(ctx, admin, "lost") == 3 })
	before, err := r.Topics(ctx, []string{"lost"})
	if err != nil {
		t.Fatal(err)
	}
	config, file := filepath.Join(t.TempDir(), "migrations.yaml"), filepath.Join(t.TempDir(), "znodes")
	if err := os.WriteFile(config, []byte(c.MigrationsYAML(lab.YAMLOptions{Name: "payments"})), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"backup", "payments", "--config", config, "--out", file}, {"backup", "verify", file}} {
		if exit, out, errs := runMigrator(ctx, t, args...); exit != 0 || !strings.Contains(out, ": whole: ") {
			t.Fatalf("%v: exit %d, %s%s", args, exit, out, errs)
		}
	}
	loseTopic(ctx, t, admin, r)
	args := []string{"backup", "restore", file, "payments", "--config", config, "--select", "topics,configs"}
	exit, out, errs := runMigrator(ctx, t, args...)
	digest := regexp.MustCompile(`digest ([0-9a-f]{64})`).FindStringSubmatch(out)
	if exit != 4 || digest == nil {
		t.Fatalf("the plan: exit %d, %s%s", exit, out, errs)
	}
	if exit, out, errs := runMigrator(ctx, t, append(args, "--digest", digest[1])...); exit != 0 {
		t.Fatalf("the restore: exit %d, %s%s", exit, out, errs)
	}
	poll(ctx, t, "the topic has leaders again", func() bool { return leaders(ctx, admin, "lost") == 3 })
	poll(ctx, t, "a broker runs with the restored configuration", func() bool { return retention(ctx, admin) == "86400000" })
	after, err := r.Topics(ctx, []string{"lost"})
	if err != nil || after["lost"].ID == nil || *after["lost"].ID != *before["lost"].ID {
		t.Errorf("the topic came back as %+v, %v", after, err)
	}
}

func loseTopic(ctx context.Context, t *testing.T, admin *kadm.Client, r *zkread.Reader) {
	t.Helper()
	spoilt := "7777777"
	if _, err := admin.AlterTopicConfigs(ctx, []kadm.AlterConfig{{Op: kadm.SetConfig, Name: "retention.ms", Value: &spoilt}}, "orders"); err != nil {
		t.Fatal(err)
	}
	if _, err := admin.DeleteTopics(ctx, "lost"); err != nil {
		t.Fatal(err)
	}
	poll(ctx, t, "the topic is gone", func() bool {
		left, err := r.Topics(ctx, []string{"lost"})
		pending, err2 := r.PendingDeletions(ctx)
		return err == nil && err2 == nil && len(left) == 0 && len(pending) == 0 && retention(ctx, admin) == spoilt
	})
}

func leaders(ctx context.Context, admin *kadm.Client, topic string) int {
	topics, err := admin.ListTopics(ctx, topic)
	if err != nil {
		return 0
	}
	n := 0
	for _, p := range topics[topic].Partitions {
		if p.Err == nil && p.Leader >= 0 {
			n++
		}
	}
	return n
}

func retention(ctx context.Context, admin *kadm.Client) string {
	configs, err := admin.DescribeTopicConfigs(ctx, "orders")
	if err != nil || len(configs) != 1 {
		return ""
	}
	for _, c := range configs[0].Configs {
		if c.Key == "retention.ms" {
			return c.MaybeValue()
		}
	}
	return ""
}
