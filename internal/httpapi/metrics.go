package httpapi

import (
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"migrator/internal/cluster"
	"migrator/internal/status"
)

// metrics answers from a registry of its own; nothing is counted between
// scrapes, each one reads the published statuses.
func (s *Server) metrics() http.Handler {
	reg := prometheus.NewRegistry()
	reg.MustRegister(newCollector(s.statuses))
	return promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
}

type collector struct {
	read func() []status.Status

	phase, runStatus, complete, gates, observed *prometheus.Desc
	soakElapsed, soakRequired                   *prometheus.Desc
	sent, acked, lost, stall, metadataStall     *prometheus.Desc
	margin, seq, build                          *prometheus.Desc
}

func newCollector(read func() []status.Status) collector {
	d := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("migrator_"+name, help, append([]string{"migration"}, labels...), nil)
	}
	return collector{
		read:          read,
		phase:         d("phase", "1 for the recorded phase, 0 for the others.", "phase"),
		runStatus:     d("run_status", "1 for the present run status, 0 for the others.", "run_status"),
		complete:      d("phase_complete", "1 when the gates for leaving the phase pass."),
		gates:         d("gates", "Gates judged now, by verdict.", "verdict"),
		observed:      d("observed_timestamp_seconds", "When the newest snapshot began."),
		soakElapsed:   d("soak_elapsed_seconds", "Healthy time counted so far.", "phase"),
		soakRequired:  d("soak_required_seconds", "Healthy time required.", "phase"),
		sent:          d("canary_sent_total", "Records our own client sent."),
		acked:         d("canary_acked_total", "Records acknowledged to our own client."),
		lost:          d("canary_lost_total", "Acknowledged records that were lost."),
		stall:         d("canary_longest_stall_seconds", "Longest time between two accepted records."),
		metadataStall: d("canary_longest_metadata_stall_seconds", "Longest time between two accepted metadata writes."),
		margin:        d("epoch_margin", "/controller_epoch + 1 - the largest epoch a later ZooKeeper controller must beat; below 0 a way back needs one more step."),
		seq:           d("journal_seq", "Sequence number of the last journal entry."),
		build:         prometheus.NewDesc("migrator_build_info", "1; the version is a label.", []string{"version", "go"}, nil),
	}
}

// Describe is part of prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.phase, c.runStatus, c.complete, c.gates, c.observed, c.soakElapsed, c.soakRequired,
		c.sent, c.acked, c.lost, c.stall, c.metadataStall, c.margin, c.seq, c.build} {
		out <- d
	}
}

// Collect is part of prometheus.Collector. What is unknown has no sample:
// nothing is decoded as zero.
func (c collector) Collect(out chan<- prometheus.Metric) {
	put := func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		put(c.build, prometheus.GaugeValue, 1, info.Main.Version, info.GoVersion)
	}
	for _, s := range c.read() {
		c.where(s, func(d *prometheus.Desc, v float64, labels ...string) {
			put(d, prometheus.GaugeValue, v, append([]string{s.Name}, labels...)...)
		})
		if s.Canary != nil {
			put(c.sent, prometheus.CounterValue, float64(s.Canary.Sent), s.Name)
			put(c.acked, prometheus.CounterValue, float64(s.Canary.Acked), s.Name)
			put(c.lost, prometheus.CounterValue, float64(s.Canary.Lost), s.Name)
		}
	}
}

func (c collector) where(s status.Status, gauge func(d *prometheus.Desc, v float64, labels ...string)) {
	if s.Phase != nil {
		for _, p := range cluster.Phases() {
			gauge(c.phase, flag(p == *s.Phase), string(p))
		}
	}
	for _, r := range []status.RunStatus{status.Observing, status.Waiting, status.NeedsApproval, status.Executing, status.Paused, status.Blocked, status.Reverting, status.Finished} {
		gauge(c.runStatus, flag(r == s.RunStatus), string(r))
	}
	gauge(c.complete, flag(s.PhaseComplete))
	count := map[string]int{"pass": 0, "fail": 0, "unknown": 0}
	for _, g := range s.Gates {
		count[g.Verdict]++
	}
	for _, verdict := range []string{"fail", "pass", "unknown"} {
		gauge(c.gates, float64(count[verdict]), verdict)
	}
	gauge(c.seq, float64(s.Seq))
	if s.ObservedAt != nil {
		gauge(c.observed, float64(s.ObservedAt.UnixMilli())/1000)
	}
	if s.Soak != nil {
		gauge(c.soakElapsed, s.Soak.ElapsedSeconds, string(s.Soak.Phase))
		gauge(c.soakRequired, s.Soak.RequiredSeconds, string(s.Soak.Phase))
	}
	if s.Canary != nil {
		gauge(c.stall, s.Canary.LongestStallMS/1000)
		gauge(c.metadataStall, s.Canary.LongestMetadataStallMS/1000)
	}
	if s.Epochs != nil && s.Epochs.Margin != nil {
		gauge(c.margin, float64(*s.Epochs.Margin))
	}
}

func flag(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
