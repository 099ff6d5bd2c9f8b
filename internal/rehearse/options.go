package rehearse

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"migrator/internal/cluster"
)

const (
	fewestBrokers = 3 // with fewer, a restart takes a topic's only or second last replica away
	mostBrokers   = 12
)

// version39 is what the migration machinery speaks of: the metadata.version and
// the settings it renders are those of 3.9.
var version39 = regexp.MustCompile(`^3\.9\.\d+$`)

// complete fills in defaults, refuses what makes no sense, and makes the
// evidence folder.
func (o *Options) complete(now time.Time) error {
	d := Defaults()
	o.Brokers, o.Soak = or(o.Brokers, d.Brokers), or(o.Soak, d.Soak)
	o.Roll, o.Kafka = or(o.Roll, d.Roll), or(o.Kafka, d.Kafka)
	switch {
	case o.Brokers < fewestBrokers || o.Brokers > mostBrokers:
		return usage("--brokers %d: want %d to %d", o.Brokers, fewestBrokers, mostBrokers)
	case o.Soak < time.Second || o.Soak > 24*time.Hour:
		return usage("--soak %s: want 1s to 24h", o.Soak)
	case o.Roll != "node" && o.Roll != "rack":
		return usage("--roll %q: want node or rack", o.Roll)
	case o.RevertFrom != "" && o.RevertFrom != cluster.Load && o.RevertFrom != cluster.Hybrid && o.RevertFrom != cluster.DualWrite:
		return usage("--revert-from %q: want load, hybrid or dual-write", o.RevertFrom)
	case !version39.MatchString(o.Kafka):
		return usage("--kafka %q: only 3.9.x can be taken through the whole migration", o.Kafka)
	}
	if o.Out == "" {
		o.Out = "rehearsal-" + now.UTC().Format("20060102-150405")
	}
	out, err := filepath.Abs(o.Out)
	if err != nil {
		return usage("--out %q: %v", o.Out, err)
	}
	o.Out = out
	return emptyFolder(out)
}

// emptyFolder makes the folder; evidence of two rehearsals must not mix.
func emptyFolder(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
	case err != nil:
		return usage("--out: %v", err)
	case len(entries) > 0:
		return usage("--out %s: the folder is not empty", dir)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the folder of the evidence: %w", err)
	}
	return nil
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// perRack spreads brokers over three racks when racks are rolled.
func (o Options) perRack() int {
	if o.Roll != "rack" {
		return 1
	}
	return max(1, (o.Brokers+2)/3)
}
