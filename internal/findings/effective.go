package findings

import (
	"fmt"
	"slices"
	"strings"

	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// renderedKeys are what a rendered file changes or rests on: where something
// else than the file decides them, a new file would be without effect.
func renderedKeys() []string {
	return []string{"broker.id", "node.id", "process.roles", "zookeeper.connect", migrationFlag, protocolVersion, "inter.broker.listener.name", "security.inter.broker.protocol",
		"listeners", "advertised.listeners", "listener.security.protocol.map", "control.plane.listener.name", "controller.listener.names", "controller.quorum.voters",
		"log.dirs", "log.dir", "metadata.log.dir", "authorizer.class.name", "broker.id.generation.enable"}
}

// otherThanFile: the broker runs with something that its file does not say.
func otherThanFile(l *look) {
	l.compare(true, "Look for --override in the start command, a drop-in of the unit, environment of an image, or an edit since the last start. Make the file the only source, restart the broker, and run preflight again.")
}

// staleFile: the same of settings that the migration does not touch.
func staleFile(l *look) {
	l.compare(false, "The next restart brings the file's value into force, in the middle of the migration. Restart the broker now, or correct the file.")
}

func (l *look) compare(rendered bool, fix string) {
	for _, f := range l.brokerFiles() {
		list, ok := need(l, f.node.Name()+"'s settings", l.s.Effective[f.node.ID], describable)
		if !ok {
			continue
		}
		for _, s := range list {
			if slices.Contains(renderedKeys(), s.Name) != rendered || s.Sensitive {
				continue
			}
			if seen := f.otherwise(s, rendered); seen != "" {
				l.found(f.at(s.Name), seen, fix)
			}
		}
	}
}

// otherwise says how a setting in force differs from the file; "" when it does
// not, or when what decides cannot be compared. A key that the file does not
// have can get its source from a synonym (log.retention.ms from .minutes), so
// that counts for rendered keys only, which have none.
func (f propertiesFile) otherwise(s facts.Setting, rendered bool) string {
	text, inFile := f.doc.Value(s.Name)
	switch {
	case strings.HasPrefix(s.Source, "dynamic") || s.Source == "other" || strings.Contains(text, "${"):
		return ""
	case !inFile && rendered && s.Source == "static" && !s.Null && !derived(f, s.Name):
		return fmt.Sprintf("%s=%s is in force and not in the file", s.Name, configgen.Redact(s.Name, s.Value))
	case inFile && s.Source == "default" && !s.Null && !configgen.Alike(text, s.Value) && strings.TrimSpace(text) != "":
		return fmt.Sprintf("the file says %s=%s, in force is the default %s", s.Name, configgen.Redact(s.Name, text), configgen.Redact(s.Name, s.Value))
	case inFile && s.Source == "static" && !s.Null && !configgen.Alike(text, s.Value):
		return fmt.Sprintf("the file says %s=%s, in force is %s", s.Name, configgen.Redact(s.Name, text), configgen.Redact(s.Name, s.Value))
	}
	return ""
}

// derived are keys that Kafka fills in from another key of the file: either id
// fills the other (KafkaConfig).
func derived(f propertiesFile, key string) bool {
	other := map[string]string{"node.id": "broker.id", "broker.id": "node.id"}[key]
	_, there := f.doc.Value(other)
	return other != "" && there
}
