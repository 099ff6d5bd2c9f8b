package noderead

import (
	"regexp"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"migrator/internal/configgen"
)

const (
	maxLine = 4 << 10 // bytes of a line that are looked at
	maxText = 500
)

// otherLayout is any layout that begins with a date, as those of other log4j
// patterns do.
var otherLayout = regexp.MustCompile(`^\W?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{3}))?`)

// layout is how sure we are where a line's message begins.
type layout int

const (
	bare  layout = iota // no time: part of a stack trace, or printed by the JVM
	dated               // a foreign layout: the message begins anywhere
	known               // Kafka's own: the message begins exactly here
)

// Parse recognises one log line. It is pure but for our zone, in which the
// line's time is taken.
func Parse(line []byte) (Event, bool) {
	text := clean(line)
	at, message, how := split(text)
	lower := strings.ToLower(message)
	for _, r := range rules {
		if how == bare && r.severity == Normal {
			// A continuation line may carry anything, a topic's config for example.
			// It may bring bad news but never good news.
			continue
		}
		if !strings.Contains(lower, r.needle) {
			continue
		}
		if fields, ok := r.fields(message, how); ok {
			return Event{Kind: r.kind, Severity: r.severity, Time: at, Text: cut(configgen.RedactText(message), maxText), Fields: fields}, true
		}
	}
	return Event{}, false
}

func (r rule) fields(message string, how layout) (map[string]string, bool) {
	expression := r.loose
	if how == known {
		expression = r.strict
	}
	m := expression.FindStringSubmatchIndex(message)
	if m == nil {
		return nil, false
	}
	var fields map[string]string
	set := func(key, value string) {
		if fields == nil {
			fields = map[string]string{}
		}
		fields[key] = cut(value, maxText)
	}
	for i, name := range expression.SubexpNames() {
		if name == "" || m[2*i] < 0 {
			continue
		}
		value := message[m[2*i]:m[2*i+1]]
		if name == "writes" {
			counts(value, set)
			continue
		}
		set(name, value)
	}
	return fields, true
}

// counts splits "CreateTopic=3, UpdatePartition=9".
func counts(text string, set func(key, value string)) {
	for part := range strings.SplitSeq(text, ",") {
		if key, value, ok := strings.Cut(strings.TrimSpace(part), "="); ok && key != "" {
			set(key, value)
		}
	}
}

func split(text string) (time.Time, string, layout) {
	if at, message, ok := kafkaLayout(text); ok {
		return at, message, known
	}
	if m := otherLayout.FindStringSubmatch(text); m != nil {
		at, err := time.ParseInLocation("2006-01-02 15:04:05", m[1]+" "+m[2], time.Local)
		if ms, msErr := time.ParseDuration(m[3] + "ms"); err == nil && msErr == nil {
			at = at.Add(ms)
		}
		return at, text, dated
	}
	if strings.HasPrefix(text, "{") {
		return time.Time{}, text, dated // one JSON object a line
	}
	return time.Time{}, text, bare
}

// kafkaLayout takes apart Kafka's own layout, "[%d] %p %m (%c)%n".
func kafkaLayout(text string) (time.Time, string, bool) {
	head, rest, found := strings.Cut(text, "] ")
	if !found || !strings.HasPrefix(head, "[") {
		return time.Time{}, "", false
	}
	at, err := time.ParseInLocation("2006-01-02 15:04:05,000", head[1:], time.Local)
	level, message, found := strings.Cut(rest, " ")
	if err != nil || !found || !isLevel(level) {
		return time.Time{}, "", false
	}
	if i := strings.LastIndex(message, " ("); i >= 0 && strings.HasSuffix(message, ")") && !strings.ContainsAny(message[i+2:len(message)-1], " ()=") {
		message = message[:i]
	}
	return at, message, true
}

func isLevel(s string) bool {
	switch s {
	case "TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL":
		return true
	default:
		return false
	}
}

// clean bounds a line and takes out what could disturb a terminal or a page.
func clean(line []byte) string {
	text := strings.ToValidUTF8(string(line[:min(len(line), maxLine)]), "\uFFFD")
	text = strings.Map(func(r rune) rune {
		if r >= ' ' && r < 0x7f {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return ' '
		}
		return r
	}, text)
	return strings.TrimRight(text, " ")
}

func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
