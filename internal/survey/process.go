package survey

import (
	"context"
	"errors"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"migrator/internal/facts"
	"migrator/internal/findings"
)

// process finds the JVM that runs with the node's properties file, by its
// command line: settings there win over the file (--override).
func (l looker) process(ctx context.Context) (findings.Process, error) {
	if l.node.Properties == "" {
		return findings.Process{}, errNoProcess
	}
	pids, _, err := l.output(ctx, []string{"pgrep", "-f", "--", regexp.QuoteMeta(l.node.Properties)}, 1)
	if err != nil {
		return findings.Process{}, err
	}
	for pid := range strings.FieldsSeq(pids) {
		if _, err := strconv.Atoi(pid); err != nil {
			continue
		}
		cmdline, err := l.machine.ReadFile(ctx, "/proc/"+pid+"/cmdline")
		if err != nil {
			continue // it ended meanwhile, or is not ours to see
		}
		argv := strings.Split(strings.TrimRight(string(cmdline), "\x00"), "\x00")
		if !slices.Contains(argv, l.node.Properties) || !slices.ContainsFunc(argv, func(a string) bool { return strings.HasSuffix(a, "Kafka") && strings.Contains(a, ".") }) {
			continue
		}
		p := commandLine(argv)
		if environ, err := l.machine.ReadFile(ctx, "/proc/"+pid+"/environ"); err == nil {
			p.Environment = kafkaVariables(string(environ))
		}
		return p, nil
	}
	return findings.Process{}, errNoProcess
}

func commandLine(argv []string) findings.Process {
	var p findings.Process
	for i, a := range argv {
		if bytes, ok := heapOf(a); ok {
			p.HeapBytes = &bytes
		}
		if key, ok := strings.CutPrefix(a, "--override="); ok {
			p.Overrides = append(p.Overrides, keyOf(key))
		}
		if a == "--override" && i+1 < len(argv) {
			p.Overrides = append(p.Overrides, keyOf(argv[i+1]))
		}
	}
	return p
}

// keyOf drops the value, which may be a secret.
func keyOf(setting string) string {
	key, _, _ := strings.Cut(setting, "=")
	return findings.Bounded(strings.TrimSpace(key))
}

// kafkaVariables are the names of the variables that images turn into settings.
func kafkaVariables(environ string) []string {
	var out []string
	for entry := range strings.SplitSeq(environ, "\x00") {
		name, _, _ := strings.Cut(entry, "=")
		if strings.HasPrefix(name, "KAFKA_") {
			out = append(out, findings.Bounded(name))
		}
	}
	slices.Sort(out)
	return out
}

var maxHeap = regexp.MustCompile(`-Xmx(\d{1,15})([kKmMgGtT]?)\b`)

func heapOf(text string) (int64, bool) {
	m := maxHeap.FindStringSubmatch(text)
	if m == nil {
		return 0, false
	}
	n, err := strconv.ParseInt(m[1], 10, 64)
	shift := map[string]int{"": 0, "k": 10, "m": 20, "g": 30, "t": 40}[strings.ToLower(m[2])]
	if err != nil || n > 1<<62>>shift {
		return 0, false
	}
	return n << shift, true
}

// unit is what systemd says of the unit that the stop command stops.
func (l looker) unit(ctx context.Context) (string, error) {
	argv := l.node.Commands.Stop
	if len(argv) < 3 || path.Base(argv[0]) != "systemctl" || !slices.Contains(argv, "stop") {
		return "", errors.New("the stop command is not systemctl stop UNIT")
	}
	text, _, err := l.output(ctx, []string{argv[0], "show", "-p", "TimeoutStopUSec", "-p", "Environment", argv[len(argv)-1]}, 0)
	return text, err
}

// stopLimit reads TimeoutStopUSec=1min 30s; infinity is no limit.
func stopLimit(unit facts.Fact[string]) facts.Fact[*int64] {
	text, ok := unit.Get()
	if !ok {
		return facts.Unknown[*int64](unit.Cause(), unit.Source(), unit.Begun())
	}
	for line := range strings.Lines(text) {
		v, ok := strings.CutPrefix(strings.TrimSpace(line), "TimeoutStopUSec=")
		switch {
		case !ok:
		case v == "infinity":
			return facts.Known[*int64](nil, unit.Source(), unit.Begun())
		default:
			if d, err := span(v); err == nil {
				ms := d.Milliseconds()
				return facts.Known(&ms, unit.Source(), unit.Begun())
			}
		}
	}
	return facts.Unknown[*int64]("no TimeoutStopUSec in the answer", unit.Source(), unit.Begun())
}

// span reads systemd's way to write a time.
func span(text string) (time.Duration, error) {
	text = strings.NewReplacer("min", "m", " ", "").Replace(text)
	var total time.Duration
	if days, rest, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.Atoi(days)
		if err != nil {
			return 0, err
		}
		total, text = time.Duration(n)*24*time.Hour, rest
	}
	if text == "" {
		return total, nil
	}
	d, err := time.ParseDuration(text)
	return total + d, err
}

// heap is that of the running process, else what the unit gives the next one.
func heap(process facts.Fact[findings.Process], unit facts.Fact[string]) facts.Fact[int64] {
	if p, ok := process.Get(); ok && p.HeapBytes != nil {
		return facts.Known(*p.HeapBytes, process.Source(), process.Begun())
	}
	text, ok := unit.Get()
	if bytes, found := heapOf(text); ok && found {
		return facts.Known(bytes, unit.Source(), unit.Begun())
	}
	return facts.Unknown[int64]("no -Xmx in a running process or a systemd unit", process.Source(), process.Begun())
}
