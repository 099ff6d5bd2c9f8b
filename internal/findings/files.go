package findings

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

// propertiesFile is a node's properties file as Java reads it.
type propertiesFile struct {
	node config.Node
	file facts.File
	doc  *configgen.Document
}

// value is what Kafka sees of a key, without the blanks that it drops from
// numbers, flags and lists; "" when the key is absent or empty.
func (f propertiesFile) value(key string) string {
	v, _ := f.doc.Value(key)
	return strings.TrimSpace(v)
}

// at names the file and, for a key that is there, the line that wins.
func (f propertiesFile) at(key string) string {
	if line, ok := f.doc.Line(key); ok {
		return fmt.Sprintf("%s %s:%d", f.node.Name(), f.node.Properties, line)
	}
	return f.node.Name() + " " + f.node.Properties
}

// list is a comma separated value as Kafka's list type splits it.
func (f propertiesFile) list(key string) []string { return items(f.value(key)) }

func items(text string) []string {
	var out []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			out = append(out, item)
		}
	}
	return out
}

// brokerFiles are the brokers' files that could be read, in inventory order.
// The others are behind MIG301: one cause, one code.
func (l *look) brokerFiles() []propertiesFile { return l.files(cluster.Broker) }

// controllerFiles are the controllers' files that exist already.
func (l *look) controllerFiles() []propertiesFile { return l.files(cluster.Controller) }

func (l *look) files(role cluster.Role) []propertiesFile {
	var out []propertiesFile
	for _, n := range l.s.Migration.Nodes {
		if n.Role != role {
			continue
		}
		file, doc, err := readable(l.s.Snapshot.Files[n.ID], role)
		switch {
		case err != "":
			l.behind(filesUnreadable)
		case doc != nil:
			out = append(out, propertiesFile{n, file, doc})
		}
	}
	return out
}

// readable parses a file; err says why it cannot be judged. A controller's file
// may be absent: provisioning writes it.
func readable(f facts.Fact[facts.File], role cluster.Role) (file facts.File, doc *configgen.Document, err string) {
	file, ok := f.Get()
	switch {
	case !ok:
		return file, nil, f.Cause()
	case !file.Exists && role == cluster.Controller:
		return file, nil, ""
	case !file.Exists:
		return file, nil, "the file does not exist"
	}
	doc, bad := configgen.Parse(file.Content)
	if bad != nil {
		return file, nil, bad.Error()
	}
	return file, doc, ""
}

const filesUnreadable = "MIG301"

// unreadableFiles: everything else that is said of files rests on this.
func unreadableFiles(l *look) {
	for _, n := range l.s.Migration.Nodes {
		f := l.s.Snapshot.Files[n.ID]
		where := n.Name() + " " + n.Properties
		_, _, err := readable(f, n.Role)
		switch {
		case err == "":
		case !f.Known():
			l.unsure(where+": "+err, "Let migrator read the file: correct properties and access in migrations.yaml, or the file's rights.")
		default:
			l.found(where, err, "Name the file that the node is started with in migrations.yaml, and make it one that Java can read.")
		}
	}
}
