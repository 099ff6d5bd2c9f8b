package rehearse

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/evidence"
	"migrator/internal/junit"
	"migrator/internal/status"
)

// Result is how a rehearsal ended.
type Result string

const (
	Green       Result = "green"       // it came to its end and every promise held
	Unkept      Result = "broken"      // it came to its end and a promise did not hold
	Held        Result = "held"        // a gate or a failed step held it
	Interrupted Result = "interrupted" // it was ended before; the same command goes on
	Failed      Result = "failed"      // something else failed
)

// Report is rehearsal.json. Absent is null.
type Report struct {
	Name      string         `json:"name"`
	Result    Result         `json:"result"`
	Why       string         `json:"why"` // empty: green
	ToDo      string         `json:"to_do"`
	Kafka     string         `json:"kafka_version"`
	ClusterID string         `json:"cluster_id"`
	To        cluster.Phase  `json:"to"`
	Reverted  bool           `json:"then_revert"`
	Phase     *cluster.Phase `json:"phase"` // where the cluster stands
	Began     time.Time      `json:"began"` // this run
	Ended     time.Time      `json:"ended"`
	Promises  []Promise      `json:"promises"`
	Gates     []status.Gate  `json:"gates"`    // that hold something up
	Folder    string         `json:"evidence"` // empty: none could be written
	SHA256    string         `json:"sha256"`   // of the pack's SHA256SUMS
	JUnit     string         `json:"junit"`
	Again     string         `json:"again"` // the command that goes on

	Pack   evidence.Pack `json:"-"`
	Status status.Status `json:"-"` // the last one seen
}

// judge says how it ended: cause ended the following, ended is what went wrong
// as all was brought to its end.
func (r *Report) judge(ctx context.Context, cause, ended error) error {
	r.Kafka, r.ClusterID, r.Phase = r.Pack.KafkaVersion, r.Pack.ClusterID, r.Status.Phase
	r.Gates = []status.Gate{}
	if r.Promises == nil {
		r.Promises = []Promise{}
	}
	var block *BlockedError
	switch broken := Broken(r.Promises); {
	case cause != nil && ctx.Err() != nil:
		r.Result, r.Why = Interrupted, "ended before its end; what was open was brought to a safe end"
		r.ToDo = "the same command goes on"
		return errors.Join(&interruptedError{cause: cause, text: r.Why + "; go on with: " + r.Again}, ended)
	case errors.As(cause, &block):
		r.Result, r.Why, r.ToDo, r.Gates = Held, block.What, block.ToDo, standsStill(r.Status)
		return errors.Join(fmt.Errorf("%w\nonce its cause is gone, go on with: %s", cause, r.Again), ended)
	case cause != nil || ended != nil:
		r.Result, r.Why = Failed, errors.Join(cause, ended).Error()
		return errors.Join(cause, ended)
	case len(broken) > 0:
		err := &BrokenError{broken}
		r.Result, r.Why = Unkept, err.Error()
		return err
	default:
		r.Result = Green
		return nil
	}
}

// write leaves rehearsal.json and the JUnit file, each whole or not at all.
func (r *Report) write(out, xml string) error {
	r.JUnit = xml
	if err := junit.Write(xml, r.suite()); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the report: %w", err)
	}
	path := filepath.Join(out, reportFile)
	aside := path + ".new"
	if err := errors.Join(os.WriteFile(aside, append(data, '\n'), 0o644), os.Rename(aside, path)); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
