package configgen

import (
	"slices"
	"strings"
)

// ConfigSource is where a broker has a value from, as DescribeConfigs says it.
type ConfigSource string

// The sources that a broker's own settings can have.
const (
	FromFile           ConfigSource = "static"          // STATIC_BROKER_CONFIG: the file or the command line
	FromBrokerDynamic  ConfigSource = "dynamic"         // DYNAMIC_BROKER_CONFIG: /config/brokers/ID
	FromClusterDynamic ConfigSource = "dynamic-default" // DYNAMIC_DEFAULT_BROKER_CONFIG: /config/brokers/<default>
	FromDefault        ConfigSource = "default"         // DEFAULT_CONFIG: Kafka's own
)

// Described is one setting of a broker's DescribeConfigs answer. A sensitive
// one comes without a value.
type Described struct {
	Name      string
	Value     string
	HasValue  bool
	Source    ConfigSource
	Sensitive bool
}

// Difference is a setting whose value in force is not the file's: a dynamic
// setting, an option of the command line, or a file that changed since the start.
type Difference struct {
	Key       string
	Line      int    // of the file, 0 where it has none
	File      string // as it may be shown; empty when the file has none
	Effective string // likewise; empty when Kafka does not tell
	Source    ConfigSource
	// Unknown: the value is sensitive, so only its source shows that it is not
	// the file's.
	Unknown bool
}

// Differences compares what a broker runs with and what its file says. Values
// are compared as Kafka reads them: blanks around, the case of true and false
// and the blanks of lists do not count. A placeholder is never compared: what
// it stands for is not known here. Keys that Kafka does not describe are left out.
func Differences(file []byte, described []Described) ([]Difference, error) {
	doc, err := Parse(file)
	if err != nil {
		return nil, err
	}
	var out []Difference
	for _, d := range described {
		if diff, ok := difference(doc, d); ok {
			out = append(out, diff)
		}
	}
	slices.SortFunc(out, func(a, b Difference) int { return strings.Compare(a.Key, b.Key) })
	return out, nil
}

func difference(doc *Document, d Described) (Difference, bool) {
	written, inFile := doc.Value(d.Name)
	line, _ := doc.Line(d.Name)
	out := Difference{Key: d.Name, Line: line, Source: d.Source, File: Redact(d.Name, written), Effective: Redact(d.Name, d.Value)}
	if d.Sensitive {
		out.File, out.Effective = "", ""
		if inFile {
			out.File = redactedText
		}
	}
	dynamic := d.Source == FromBrokerDynamic || d.Source == FromClusterDynamic
	// A static value without a line comes from the command line, unless another
	// key fills it in.
	elsewhere := dynamic || d.Source == FromFile && !inFile && !filledIn(doc, d.Name)
	switch {
	case d.Sensitive || !d.HasValue || strings.Contains(written, "${"):
		out.Unknown = true
		return out, elsewhere
	case !inFile:
		return out, elsewhere
	}
	return out, !sameValue(written, d.Value)
}

// filledIn: Kafka takes one of each pair for the other.
func filledIn(doc *Document, key string) bool {
	for _, pair := range [][2]string{{"broker.id", "node.id"}, {"advertised.listeners", "listeners"}, {"delegation.token.secret.key", "delegation.token.master.key"}} {
		for i, k := range pair {
			if _, there := doc.Value(pair[1-i]); there && key == k {
				return true
			}
		}
	}
	return false
}

func sameValue(a, b string) bool {
	fold := func(text string) string {
		items := strings.Split(strings.TrimSpace(text), ",")
		for i := range items {
			items[i] = strings.TrimSpace(items[i])
		}
		text = strings.Join(items, ",")
		if lower := strings.ToLower(text); lower == "true" || lower == "false" {
			return lower
		}
		return text
	}
	return fold(a) == fold(b)
}
