package gates

import (
	"fmt"
	"strings"

	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// judgeSettingsPlanned compares what brokers say they run with to the planned
// file, of which a person gave us only a copy: the file on the node may be
// another one. What is dynamic, secret or from a config provider cannot be compared.
func judgeSettingsPlanned(l *look) {
	l.todo = "The node was started with another file than the planned one, or something else overrides it. Put the planned file in its place and restart the node."
	if !l.needStep() {
		return
	}
	for _, n := range l.batch() {
		file, okFile := use(l, n.Name()+"'s file", l.v.Snapshot.Files[n.ID])
		list, okSettings := use(l, n.Name()+"'s settings", l.v.Snapshot.Settings[n.ID])
		if !okFile || !okSettings {
			continue
		}
		doc, err := configgen.Parse(file.Content)
		switch {
		case err != nil:
			l.unsure("%s's file: %v", n.Name(), err)
		case len(list) == 0:
			l.unsure("%s names no setting", n.Name())
		default:
			for _, s := range list {
				if text := otherwise(doc, s); text != "" {
					l.bad("", "%s: %s", n.Name(), text)
				}
			}
		}
	}
	l.pass("%s with the settings of their files", running(l.v.Step.Batch))
}

// otherwise says how a setting in force differs from the file; "" when it does
// not, or when the two cannot be compared.
func otherwise(doc *configgen.Document, s facts.Setting) string {
	text, inFile := doc.Value(s.Name)
	fromFile := s.Source == "static" || s.Source == "default"
	if !inFile || !fromFile || s.Sensitive || s.Null || strings.Contains(text, "${") || strings.TrimSpace(text) == "" || configgen.Alike(text, s.Value) {
		return ""
	}
	return fmt.Sprintf("%s is %q in force, planned is %q", s.Name, configgen.Redact(s.Name, s.Value), configgen.Redact(s.Name, text))
}
