package findings

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
)

const migrationFlag = "zookeeper.metadata.migration.enable"

// byteOrderMarks: Java takes the mark as part of the first key.
func byteOrderMarks(l *look) {
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		if f.doc.HasBOM() {
			l.found(f.at(""), "begins with a UTF-8 byte order mark, so its first key is unknown to Kafka", "Save the file without the mark, after you looked what the first line was meant to set.")
		}
	}
}

func windowsLines(l *look) {
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		if strings.Contains(string(f.file.Content), "\r\n") {
			l.found(f.at(""), "lines end in CR LF", "Nothing: what migrator changes keeps the style of the file.")
		}
	}
}

// contradictions: people edit the first line, Kafka takes the last.
func contradictions(l *look) {
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		for _, key := range f.doc.Keys() {
			lines := f.doc.Lines(key)
			if len(lines) < 2 || !f.differ(key) {
				continue
			}
			value := "the last one counts"
			if shown := configgen.Redact(key, f.value(key)); shown == f.value(key) {
				value = fmt.Sprintf("the last one, %q, counts", shown)
			}
			l.found(f.at(key), fmt.Sprintf("%s is set on lines %s with different values; %s", key, numbers(lines), value), "Keep one of them.")
		}
	}
}

func (f propertiesFile) differ(key string) bool {
	last := f.value(key)
	return slices.ContainsFunc(f.doc.Entries(), func(e configgen.Entry) bool {
		return e.Key == key && strings.TrimSpace(e.Value) != last
	})
}

func numbers(list []int) string {
	var out []string
	for _, n := range list {
		out = append(out, strconv.Itoa(n))
	}
	return strings.Join(out, ", ")
}

// misspelt are keys that Kafka ignores without a word, and what was meant.
func misspelt() map[string]string {
	return map[string]string{
		"zookeeper.metadata.migration.enabled": migrationFlag, "zookeeper.metadata.migration": migrationFlag,
		"zookeeper.migration.enable": migrationFlag, "metadata.migration.enable": migrationFlag,
		"controller.listener.name": "controller.listener.names", "controllers.listener.names": "controller.listener.names",
		"controller.quorum.voter": "controller.quorum.voters", "controllers.quorum.voters": "controller.quorum.voters",
		"controller.quorum.bootstrap.server": "controller.quorum.bootstrap.servers",
		"process.role":                       "process.roles", "inter.broker.protocol": "inter.broker.protocol.version",
		"inter.broker.listener.names": "inter.broker.listener.name", "listeners.security.protocol.map": "listener.security.protocol.map",
		"log.directories": "log.dirs", "zookeeper.connection": "zookeeper.connect", "super.user": "super.users",
		"authorizer.class": "authorizer.class.name",
	}
}

func misspeltKeys(l *look) {
	known := misspelt()
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		for _, key := range f.doc.Keys() {
			meant, ok := known[strings.ToLower(key)]
			if low := strings.ToLower(key); !ok && low != key && slices.Contains(namesOf(known), low) {
				meant, ok = low, true
			}
			if ok {
				l.found(f.at(key), key+", which Kafka does not know; meant is probably "+meant, "Correct the key, or remove it.")
			}
		}
	}
}

// namesOf are the right spellings.
func namesOf(known map[string]string) []string {
	var out []string
	for _, right := range known {
		out = append(out, right)
	}
	return out
}

// flaglessControllers: whoever starts such a file by hand makes a quorum that
// can never migrate; its first record says NONE for ever.
func flaglessControllers(l *look) {
	for _, f := range l.controllerFiles() {
		if !slices.Contains(f.list("process.roles"), "controller") || strings.EqualFold(f.value(migrationFlag), "true") {
			continue
		}
		l.found(f.at("process.roles"), "a controller's file without "+migrationFlag+"=true",
			"Add the line before anybody starts this controller, or remove the file: provisioning writes it. If it was started already, it must be formatted anew.")
	}
}

// otherControllers: provisioning writes these keys anew, so a difference means
// that somebody had something else in mind.
func otherControllers(l *look) {
	const fix = "Make them one: correct migrations.yaml or the file. Provisioning writes what migrations.yaml says."
	want := voters(l.s.Migration.Inventory().Controllers)
	for _, f := range slices.Concat(l.brokerFiles(), l.controllerFiles()) {
		if got := f.list("controller.quorum.voters"); len(got) > 0 {
			slices.Sort(got)
			if !slices.Equal(got, want) {
				l.found(f.at("controller.quorum.voters"), fmt.Sprintf("voters %s, and migrations.yaml has %s", strings.Join(got, ","), strings.Join(want, ",")), fix)
			}
		}
	}
	for _, f := range l.controllerFiles() {
		if got := f.value("zookeeper.connect"); got != "" && compareConnect(got, l.s.Migration.ZooKeeper.Connect) != sameEnsemble {
			l.found(f.at("zookeeper.connect"), fmt.Sprintf("%s, and migrations.yaml has %s", got, l.s.Migration.ZooKeeper.Connect), fix)
		}
		if got := f.value("node.id"); got != "" && got != strconv.Itoa(int(f.node.ID)) {
			l.found(f.at("node.id"), fmt.Sprintf("node.id %s, and migrations.yaml has %d", got, f.node.ID), fix)
		}
	}
}

func voters(nodes []cluster.Node) []string {
	var out []string
	for _, n := range nodes {
		host := n.Host
		if strings.Contains(host, ":") {
			host = "[" + host + "]"
		}
		out = append(out, fmt.Sprintf("%d@%s:%d", n.ID, host, n.Port))
	}
	slices.Sort(out)
	return out
}

// earlyKRaft: with these keys the next restart, planned or not, boots the broker
// in another mode, or not at all.
func earlyKRaft(l *look) {
	for _, f := range l.brokerFiles() {
		flag := strings.EqualFold(f.value(migrationFlag), "true")
		switch roles := f.value("process.roles"); {
		case roles != "":
			l.found(f.at("process.roles"), "process.roles="+roles, "Take the line out: the broker's next restart would boot it in KRaft mode, with no metadata.")
		case flag:
			l.found(f.at(migrationFlag), migrationFlag+"=true", "Take the line out; migrator adds it when the controllers are up.")
		case f.value("controller.listener.names") != "":
			l.found(f.at("controller.listener.names"), "controller.listener.names without the migration flag", "Take the line out: a broker in ZooKeeper mode does not start with it.")
		}
	}
}

// reasoned are the keys that migrator must know the value of.
func reasoned() []string {
	return []string{"broker.id", "node.id", "process.roles", "listener.security.protocol.map", "inter.broker.listener.name", "security.inter.broker.protocol",
		"log.dirs", "log.dir", "metadata.log.dir", "inter.broker.protocol.version", "authorizer.class.name", migrationFlag}
}

func placeholders(l *look) {
	for _, f := range l.brokerFiles() {
		for _, key := range append(reasoned(), "listeners", "advertised.listeners") {
			v := f.value(key)
			if strings.HasSuffix(key, "listeners") {
				v = strings.Join(listenerNames(v), ",") // hosts and ports need not be known
			}
			if strings.Contains(v, "${") {
				l.found(f.at(key), key+" has a placeholder that something else replaces", "Write the value itself into the file. If an image makes the file at each start, its environment is the source and not this file.")
			}
		}
	}
}

// providers: controllers resolve the same placeholders with the same files.
func providers(l *look) {
	for _, f := range l.brokerFiles() {
		names := f.value("config.providers")
		if names == "" {
			continue
		}
		n := 0
		for _, e := range f.doc.Entries() {
			if strings.Contains(e.Value, "${") {
				n++
			}
		}
		l.found(f.at("config.providers"), fmt.Sprintf("config.providers=%s, used in %d values", names, n), "Make the same files, variables and provider jars exist on every controller: the settings are carried there.")
	}
}

// trailingBlanks: Kafka trims numbers, flags and lists, and takes a class name
// or a plug-in's value as it stands.
func trailingBlanks(l *look) {
	for _, f := range l.brokerFiles() {
		for _, key := range f.doc.Keys() {
			v, _ := f.doc.Value(key)
			if strings.TrimRight(v, " \t\r\f") == v || !blankMatters(key) {
				continue
			}
			l.found(f.at(key), key+" ends in a blank, which Kafka takes as part of the value", "Remove the blank.")
		}
	}
}

func blankMatters(key string) bool {
	return strings.HasSuffix(key, ".class.name") || strings.HasSuffix(key, ".class") || key == "allow.everyone.if.no.acl.found" || key == "super.users" ||
		strings.HasPrefix(key, "listener.name.") && !configgen.Secret(key)
}
