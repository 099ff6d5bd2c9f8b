package configgen

import (
	"fmt"
	"strings"
)

// release is one metadata version and its feature level.
type release struct {
	name  string
	level int16
}

// releases are those of Kafka 3.9 that have a feature level, in order; the
// levels are the ones MetadataVersion of the 3.9.2 jar answers.
func releases() []release {
	return []release{
		{"3.0-IV1", 1}, {"3.1-IV0", 2}, {"3.2-IV0", 3},
		{"3.3-IV0", 4}, {"3.3-IV1", 5}, {"3.3-IV2", 6}, {"3.3-IV3", 7},
		{"3.4-IV0", 8}, {"3.5-IV0", 9}, {"3.5-IV1", 10}, {"3.5-IV2", 11},
		{"3.6-IV0", 12}, {"3.6-IV1", 13}, {"3.6-IV2", 14},
		{"3.7-IV0", 15}, {"3.7-IV1", 16}, {"3.7-IV2", 17}, {"3.7-IV3", 18}, {"3.7-IV4", 19},
		{"3.8-IV0", 20}, {"3.9-IV0", 21},
	}
}

// FeatureLevel is the metadata.version level of a version such as 3.9, 3.9.2
// or 3.6-IV2. Versions before 3.0-IV1 have none and are an error.
func FeatureLevel(version string) (int16, error) {
	r, err := find(version)
	return r.level, err
}

// NormalVersion spells a version the way Kafka does inside: 3.9 is 3.9-IV0.
func NormalVersion(version string) (string, error) {
	r, err := find(version)
	return r.name, err
}

// find reads a version as MetadataVersion.fromVersionString does: the first two
// dotted parts count, and without an IV the last one of that release is meant.
func find(version string) (release, error) {
	major, rest, _ := strings.Cut(version, ".")
	minor, _, _ := strings.Cut(rest, ".")
	name := major + "." + minor
	found := release{}
	for _, r := range releases() {
		short, _, _ := strings.Cut(r.name, "-")
		if name == r.name || name == short {
			found = r
		}
	}
	if found.name == "" {
		return release{}, fmt.Errorf("version %q is not a metadata version between 3.0-IV1 and 3.9-IV0", bounded(version))
	}
	return found, nil
}

// EffectiveIBP is the inter.broker.protocol.version a broker runs with: the
// file's, else the default of its software. The answer has the long form.
func EffectiveIBP(file []byte, kafkaVersion string) (string, error) {
	doc, err := Parse(file)
	if err != nil {
		return "", err
	}
	return effectiveIBP(doc, kafkaVersion)
}

func effectiveIBP(doc *Document, kafkaVersion string) (string, error) {
	value, ok, err := plain(doc, "inter.broker.protocol.version")
	if err != nil {
		return "", err
	}
	if !ok {
		name, err := NormalVersion(kafkaVersion)
		if err != nil {
			return "", fmt.Errorf("default inter.broker.protocol.version of kafka: %w", err)
		}
		return name, nil
	}
	name, err := NormalVersion(value)
	if err != nil {
		return "", fmt.Errorf("inter.broker.protocol.version: %w", err)
	}
	return name, nil
}

// bounded keeps what a file says from flooding an error.
func bounded(text string) string {
	const limit = 80
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
