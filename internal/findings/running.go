package findings

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/configgen"
	"migrator/internal/facts"
)

const protocolVersion = "inter.broker.protocol.version"

const describable = "Let migrator ask the brokers: DescribeConfigs on the cluster for its user, and reachable addresses in kafka.bootstrap."

// brokerNodes are the inventory's brokers.
func (l *look) brokerNodes() []config.Node {
	return slices.DeleteFunc(slices.Clone(l.s.Migration.Nodes), func(n config.Node) bool { return n.Role != cluster.Broker })
}

// running is what a broker says it runs with, by name; ok is false when it did not say.
func (l *look) running(id int32) (map[string]facts.Setting, bool) {
	list, ok := l.s.Effective[id].Get()
	out := make(map[string]facts.Setting, len(list))
	for _, s := range list {
		out[s.Name] = s
	}
	return out, ok
}

// ibp is one broker's inter.broker.protocol.version, with where it comes from.
type ibp struct {
	where, seen, name string
	level             int16
}

// protocolVersions are the versions that the brokers run with, by their own
// answer, or by their files where they do not answer.
func (l *look) protocolVersions() []ibp {
	var out []ibp
	for _, f := range l.brokerFiles() {
		one := ibp{where: f.at(protocolVersion)}
		text, err := configgen.EffectiveIBP(f.file.Content, l.s.Migration.Kafka.Version)
		if f.value(protocolVersion) == "" {
			one.seen = fmt.Sprintf("%s is not in the file", protocolVersion)
		} else {
			one.seen = fmt.Sprintf("%s=%s", protocolVersion, f.value(protocolVersion))
		}
		if settings, known := l.running(f.node.ID); known && settings[protocolVersion].Value != "" {
			text, err = configgen.NormalVersion(settings[protocolVersion].Value)
			one.seen += ", in force is " + settings[protocolVersion].Value
		}
		one.name = text
		if err == nil {
			one.level, err = configgen.FeatureLevel(text)
		}
		if err != nil {
			l.found(one.where, one.seen+": "+err.Error(), "Set a version of Kafka from 3.6-IV1 to 3.9 on every broker.")
			continue
		}
		out = append(out, one)
	}
	return out
}

// differingVersions: controllers are formatted at one version, and a broker in
// migration mode registers with exactly its own.
func differingVersions(l *look) {
	all := l.protocolVersions()
	if len(all) == 0 {
		return
	}
	levels := map[string]int{}
	for _, v := range all {
		levels[v.name]++
	}
	if len(levels) < 2 {
		return
	}
	for _, v := range all {
		l.found(v.where, v.seen, "Bring all brokers to one version with a rolling restart before the migration; it must not change within it.")
	}
}

// oldestForMigration is the first version with metadata transactions.
const oldestForMigration = "3.6-IV1"

func oldVersions(l *look) {
	oldest, err := configgen.FeatureLevel(oldestForMigration)
	if err != nil {
		return
	}
	quiet := look{s: l.s} // what cannot be read at all is the other row's
	for _, v := range quiet.protocolVersions() {
		if v.level < oldest {
			l.found(v.where, v.seen, "Raise it to the software's own version with a rolling restart, wait some days, then migrate.")
		}
	}
}

// foldersAtOldVersion: the IBP must know directory ids.
func foldersAtOldVersion(l *look) {
	const first = "3.7-IV2"
	least, err := configgen.FeatureLevel(first)
	if err != nil {
		return
	}
	quiet := look{s: l.s}
	versions := map[string]ibp{}
	for _, v := range quiet.protocolVersions() {
		versions[v.where] = v
	}
	for _, f := range l.brokerFiles() {
		dirs := slices.Compact(slices.Sorted(slices.Values(items(cmp.Or(f.value("log.dirs"), f.value("log.dir"))))))
		v, known := versions[f.at(protocolVersion)]
		if len(dirs) > 1 && known && v.level < least {
			l.found(f.at("log.dirs"), fmt.Sprintf("%d folders at %s", len(dirs), v.name), "Raise "+protocolVersion+" to "+first+" or newer on every broker before the migration.")
		}
	}
}

// offlineFolders: in migration mode one failed folder stops the whole broker.
func offlineFolders(l *look) {
	for _, n := range l.brokerNodes() {
		dirs, ok := need(l, n.Name()+"'s log directories", l.s.LogDirs[n.ID], "Let migrator ask the brokers: Describe on the cluster for its user, and reachable addresses in kafka.bootstrap.")
		if !ok {
			continue
		}
		for _, d := range dirs {
			if d.Offline {
				l.found(n.Name()+" "+d.Path, "offline: "+d.Error, "Repair or replace the disk, restart the broker, and wait until its replicas are in sync.")
			}
		}
	}
}

// otherRelease: what migrations.yaml says decides the controllers' version.
func otherRelease(l *look) {
	want, _, ok := releaseOf(l.s.Migration.Kafka.Version)
	if !ok {
		return
	}
	const fix = "Write into kafka.version of migrations.yaml what the brokers run; all must run one version."
	for _, n := range l.brokerNodes() {
		settings, described := l.running(n.ID)
		release, _ := l.s.Releases[n.ID].Get()
		own := settings[protocolVersion]
		byDefault, _, _ := strings.Cut(own.Value, "-")
		switch {
		case release != "" && release != want:
			l.found(n.Name(), fmt.Sprintf("it serves the requests of Kafka %s, kafka.version is %s", release, l.s.Migration.Kafka.Version), fix)
		case release == "" && own.Source == "default" && byDefault != want:
			l.found(n.Name(), fmt.Sprintf("its own %s is %s, kafka.version is %s", protocolVersion, own.Value, l.s.Migration.Kafka.Version), fix)
		case release == "" && !described:
			l.unsure(n.Name()+": its requests fit no release, and it does not say what it runs with", describable)
		}
	}
}

// releaseOf cuts a version such as 3.9.1-amzn into 3.9 and 1.
func releaseOf(version string) (release string, patch int, ok bool) {
	parts := strings.FieldsFunc(version, func(r rune) bool { return r == '.' || r == '-' })
	if len(parts) < 3 {
		return "", 0, false
	}
	patch, err := strconv.Atoi(parts[2])
	return parts[0] + "." + parts[1], patch, err == nil
}

// faultyRelease: the migration of older releases has faults that lose changes.
func faultyRelease(l *look) {
	version := l.s.Migration.Kafka.Version
	release, _, ok := releaseOf(version)
	switch {
	case !ok || !strings.HasPrefix(release, "3."):
		l.found("kafka.version in migrations.yaml", version+" is no version of Apache Kafka 3", "Write the version of Apache Kafka that the vendor's build is made from, such as 3.9.2.")
	case release != "3.9":
		l.found("kafka.version in migrations.yaml", version+": "+faultsBefore39, upgradeSteps)
	}
}

const faultsBefore39 = "dual write stops after a controller's failover (KAFKA-16667), the driver stays inactive after a start-up race (KAFKA-17506), a migration without metadata transactions (KAFKA-17457), a missing inter-broker listener is noticed too late (KAFKA-16468)"

// upgradeSteps are Kafka's own for a rolling upgrade (manual of 3.9, upgrading to 3.9 from 0.8 through 3.8).
const upgradeSteps = "Upgrade to the newest 3.9 first, and stay in ZooKeeper mode: write the present inter.broker.protocol.version into every broker's file; broker by broker stop, replace the software, start, wait for full ISRs; " +
	"when all have run well for some days write inter.broker.protocol.version=3.9 and restart each once more. Then write the new kafka.version here."

// newestPatch is the 3.9 release with all fixes of the migration.
const newestPatch = 2

func olderPatch(l *look) {
	release, patch, ok := releaseOf(l.s.Migration.Kafka.Version)
	if ok && release == "3.9" && patch < newestPatch {
		l.found("kafka.version in migrations.yaml", l.s.Migration.Kafka.Version+": controllers hang at a /migration without content (KAFKA-19480), no alter.config.policy.kraft.compatibility.enable (KIP-1252)",
			"Upgrade to 3.9.2 first, or know these two.")
	}
}
