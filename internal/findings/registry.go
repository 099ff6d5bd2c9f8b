package findings

import (
	"cmp"
	"slices"

	"migrator/internal/gates"
)

// row is a line of the registry with its check.
type row struct {
	Row
	check func(*look)
}

// All is the registry, by code.
func All() []Row {
	rows := table()
	out := make([]Row, 0, len(rows))
	for _, r := range rows {
		out = append(out, r.Row)
	}
	return out
}

// table is every finding. MIG2xx are seen in ZooKeeper and over Kafka's
// protocol, MIG3xx in files and on machines, MIG4xx in connections and tools.
// MIG001 to MIG199 are gates.
func table() []row {
	rows := slices.Concat(inZooKeeper(), onNodes(), aroundThem())
	slices.SortFunc(rows, func(a, b row) int { return cmp.Compare(a.Code, b.Code) })
	return rows
}

func inZooKeeper() []row {
	return []row{
		{Row{Code: "MIG201", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration exists without content.",
			Why:       "The controllers try to read it for ever and the copy never begins.",
			Reference: "KAFKA-19480, all of 3.4 to 3.9.1"}, migrationNull},
		{Row{Code: "MIG202", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration is left over from an earlier migration.",
			Why:       "Fresh controllers take the copy for done and push their empty metadata over ZooKeeper: every topic is deleted.",
			Reference: "KAFKA-17146"}, migrationLeftOver},
	}
}

func onNodes() []row { return slices.Concat(inFiles()) }

// inFiles are found in properties files and meta.properties.
func inFiles() []row {
	return []row{
		{Row{Code: filesUnreadable, Severity: Block, Kind: gates.Safety, Plan: true, Title: "A node's properties file cannot be read.",
			Why: "Everything that is rendered, checked and put back rests on the file.", Reference: "java.util.Properties"}, unreadableFiles},
		{Row{Code: "MIG302", Severity: Block, Kind: gates.Safety, Plan: true, Title: "A broker's id differs between its file, its folders and migrations.yaml.",
			Why: "The broker refuses to start, or starts as another broker with nothing of its own.", Reference: "KAFKA-17042"}, idsDiffer},
		{Row{Code: "MIG303", Severity: Block, Kind: gates.Safety, Plan: true, Title: "A broker's id is generated, or lies in the range of generated ids.",
			Why: "A broker in migration mode refuses to start without a written id, and with one above reserved.broker.max.id while ids are generated.", Reference: "KAFKA-17543"}, generatedIDs},
		{Row{Code: foldersUnknown, Severity: Block, Kind: gates.Availability, Title: "A log folder of a broker has no meta.properties.",
			Why: "The folder is new or its disk is not mounted; a KRaft broker does not start, and in migration mode one failed folder stops the whole broker.", Reference: "KAFKA-16431"}, foldersWithoutMeta},
		{Row{Code: "MIG305", Severity: Block, Kind: gates.Safety, Start: true, Title: "A broker's folder has a meta.properties that ZooKeeper mode refuses.",
			Why: "The broker cannot start in plain ZooKeeper mode: the way back ends in a broker that stays down.", Reference: "KAFKA-20762"}, formattedFolders},
		{Row{Code: "MIG306", Severity: Block, Kind: gates.Safety, Title: "A broker's folder belongs to another cluster.",
			Why: "The broker dies at its next start with InconsistentClusterIdException, and controllers are formatted with the id of ZooKeeper.", Reference: "Kafka 3.9 manual, provisioning the controllers"}, foreignFolders},
		{Row{Code: "MIG307", Severity: Block, Kind: gates.Safety, Title: "Two log folders have the same directory.id.",
			Why: "The second registration is refused for ever.", Reference: "KIP-858"}, sharedDirectoryIDs},
		{Row{Code: "MIG308", Severity: Warn, Title: "A properties file begins with a byte order mark.",
			Why: "The first key is unknown to Kafka, and what it should set has its default.", Reference: "java.util.Properties"}, byteOrderMarks},
		{Row{Code: "MIG309", Severity: Warn, Title: "A key is set twice with different values.",
			Why: "Kafka takes the last; whoever edits the first changes nothing.", Reference: "KAFKA-7795"}, contradictions},
		{Row{Code: "MIG310", Severity: Warn, Title: "A key that the migration depends on is misspelt.",
			Why: "Kafka ignores a key that it does not know without a word.", Reference: "Kafka 3.9 manual, ZooKeeper to KRaft migration"}, misspeltKeys},
		{Row{Code: "MIG311", Severity: Block, Kind: gates.Safety, Start: true, Title: "A controller's file is ready to start without the migration flag.",
			Why: "The first controller that leads an empty log without the flag writes the state NONE, with which a quorum can never migrate.", Reference: "KIP-866"}, flaglessControllers},
		{Row{Code: "MIG312", Severity: Warn, Title: "A file names other controllers or another ZooKeeper than migrations.yaml.",
			Why: "Provisioning writes what migrations.yaml says; if the file was right, the quorum is another than was meant.", Reference: "KIP-866"}, otherControllers},
		{Row{Code: "MIG313", Severity: Block, Kind: gates.Safety, Start: true, Title: "A broker's file has settings of KRaft before the migration has begun.",
			Why: "Its next restart boots it in another mode, or not at all.", Reference: "KIP-866"}, earlyKRaft},
		{Row{Code: "MIG314", Severity: Block, Kind: gates.Safety, Title: "A broker's zookeeper.connect leads to another tree.",
			Why: "Its next start registers it in another cluster, and what it knows is not what is copied.", Reference: "Kafka 3.9 manual, zookeeper.connect"}, otherTrees},
		{Row{Code: "MIG315", Severity: Warn, Title: "A broker names other ZooKeeper servers than migrations.yaml.",
			Why: "They may be names of the same ensemble, or another one.", Reference: "Kafka 3.9 manual, zookeeper.connect"}, otherServerNames},
		{Row{Code: "MIG316", Severity: Block, Kind: gates.Safety, Plan: true, Title: "A placeholder stands where the value must be known.",
			Why: "Kafka itself expands no placeholder in most places: something else makes the file, and migrator's edits would be lost.", Reference: "KIP-421"}, placeholders},
		{Row{Code: "MIG317", Severity: Info, Title: "Values come from config providers.",
			Why: "Controllers that cannot resolve them do not start.", Reference: "KIP-421"}, providers},
		{Row{Code: "MIG318", Severity: Warn, Title: "A value ends in a blank that counts.",
			Why: "A class with a blank at its end is not found, a flag of a plug-in is neither true nor false.", Reference: "KAFKA-14962"}, trailingBlanks},
	}
}

func aroundThem() []row { return nil }
