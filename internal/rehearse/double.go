package rehearse

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"migrator/internal/double"
	"migrator/internal/execute"
	"migrator/internal/lab"
	"migrator/internal/zkread"
	"migrator/internal/znodebackup"
)

const (
	// doublePatience is how long preflight may hold a double: what it finds in
	// the metadata does not heal by itself.
	doublePatience = 3 * time.Minute
	loadSession    = 30 * time.Second
	// manyPartitions is where brokers need more memory and steps more time.
	manyPartitions = 2000
)

// readDouble reads the backup and folds it onto the brokers to be; nil without one.
func readDouble(ctx context.Context, o Options) (*double.Double, error) {
	if o.FromBackup == "" {
		return nil, nil
	}
	var saved []znodebackup.Znode
	sum, err := znodebackup.ReadFile(ctx, o.FromBackup, o.Identity, func(z znodebackup.Znode) error { saved = append(saved, z); return nil })
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, znodebackup.ErrNoIdentity):
		return nil, usage("--from-backup: %v", err)
	case err != nil:
		return nil, err
	}
	local := make([]int32, 0, o.Brokers)
	for i := range o.Brokers {
		local = append(local, int32(i+1))
	}
	d, err := double.Fold(saved, local, random)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(o.Stderr, "the backup is of cluster %s, %s\n%s", sum.ClusterID, sum.Begun.UTC().Format("2006-01-02 15:04 UTC"), doubled(d))
	return &d, nil
}

func random(n int) []byte {
	out := make([]byte, n)
	_, _ = io.ReadFull(rand.Reader, out) // it never fails
	return out
}

// doubled says what was folded, and what was changed or left out for it.
func doubled(d double.Double) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Double: %d topics with %d partitions of %d brokers, in %d znodes, without records\n", d.Topics, d.Partitions, d.Brokers, len(d.Znodes))
	for _, n := range d.Notes {
		fmt.Fprintf(&b, "  %s\n", n)
	}
	return b.String()
}

// labOptions are the cluster to be started; a double is loaded before its brokers.
func (s *stage) labOptions(o Options, dir string) lab.Options {
	out := lab.Options{Dir: dir, Version: o.Kafka, Brokers: o.Brokers, BrokersPerRack: o.perRack()}
	if s.double == nil {
		return out
	}
	if s.double.Partitions > manyPartitions {
		out.Heap = "1g"
	}
	// Each partition maps two index files, which need not be large: nothing is in them.
	out.ExtraBroker = []string{"log.index.size.max.bytes=65536"}
	out.BeforeBrokers = func(ctx context.Context, c *lab.Cluster) error { return s.load(ctx, c, o) }
	return out
}

func (s *stage) load(ctx context.Context, c *lab.Cluster, o Options) error {
	begun := time.Now()
	z, err := execute.OpenZNodes(c.ZooKeeperConnect(), loadSession, zkread.Login{}, "")
	if err != nil {
		return err
	}
	defer z.Close()
	told := begun
	err = z.Load(ctx, s.double.Znodes, func(n int) {
		if time.Since(told) > 2*time.Second {
			told = time.Now()
			fmt.Fprintf(o.Stderr, "%d of %d znodes loaded\n", n, len(s.double.Znodes))
		}
	})
	if err == nil {
		fmt.Fprintf(o.Stderr, "%d znodes loaded in %s; starting the brokers\n", len(s.double.Znodes), time.Since(begun).Round(100*time.Millisecond))
	}
	return err
}

func (s *stage) stepTimeout() string {
	if s.double != nil && s.double.Partitions > manyPartitions {
		return "10m"
	}
	return "2m"
}

// limit is when the rehearsal is given up; a large double restarts slowly.
func (s *stage) limit() time.Duration {
	if s.double != nil && s.double.Partitions > manyPartitions {
		return 4 * runLimit
	}
	return runLimit
}
