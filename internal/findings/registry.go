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
	return slices.Concat(ofTheCluster(), ofTopics(), ofMoves(), ofBrokerConfigs(), ofConfigs(), ofQuotas(), ofRules(), ofBrokers())
}

func ofTheCluster() []row {
	return []row{
		{Row{Code: treeUnreadable, Severity: Block, Kind: gates.Safety, Title: "The znodes cannot be read.",
			Why:       "Nothing that stands in ZooKeeper can be looked for.",
			Reference: "ZooKeeper manual, ACLs and client connections"}, unreadableTree},
		{Row{Code: "MIG201", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration exists without content.",
			Why:       "The controllers try to read it for ever and the copy never begins.",
			Reference: "KAFKA-19480, all of 3.4 to 3.9.1"}, migrationNull},
		{Row{Code: "MIG202", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.NoMigration, Title: "/migration is left over from an earlier migration.",
			Why:       "Fresh controllers take the copy for done and push their empty metadata over ZooKeeper: every topic is deleted.",
			Reference: "KAFKA-17146"}, migrationLeftOver},
		{Row{Code: noCluster, Severity: Block, Kind: gates.Safety, Gate: gates.ClusterID, Title: "/cluster/id is missing or cannot be understood.",
			Why:       "Controllers are formatted with the cluster's own id; with another one no broker may register.",
			Reference: "Kafka 3.9 manual, provisioning the controllers"}, clusterIDBroken},
		{Row{Code: "MIG204", Severity: Block, Kind: gates.Safety, Title: "The brokers' addresses lead to another cluster than ZooKeeper.",
			Why:       "One cluster would be looked at and another one migrated.",
			Reference: "Kafka 3.9 manual, zookeeper.connect"}, otherCluster},
		{Row{Code: "MIG205", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.HolderBroker, Title: "No living broker is the controller.",
			Why:       "Nobody elects leaders, and the quorum takes the role over from a state that nobody keeps up.",
			Reference: "KAFKA-13407"}, noController},
		{Row{Code: "MIG206", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.HolderBroker, Title: "/controller is held by a KRaft controller of an earlier migration.",
			Why:       "A new quorum with a lower epoch is refused (ControllerMovedException), and no broker acts meanwhile.",
			Reference: "KAFKA-16101"}, kraftHolder},
		{Row{Code: "MIG207", Severity: Block, Kind: gates.Safety, Copy: true, Title: "/controller_epoch is missing or no number.",
			Why:       "A KRaft controller cannot claim the role: no ZK controller epoch present.",
			Reference: "Kafka 3.9 KafkaZkClient.tryRegisterKRaftControllerAsActiveController"}, noEpoch},
		{Row{Code: "MIG208", Severity: Block, Kind: gates.Safety, Copy: true, Title: "/latest_producer_id_block cannot be understood.",
			Why:       "The copy is aborted and the active controller halts.",
			Reference: "KAFKA-15552, Kafka 3.9 ProducerIdBlockZNode"}, brokenProducerIDs},
		{Row{Code: "MIG209", Severity: Warn, Copy: true, Title: "/feature holds something that is not copied or cannot be understood.",
			Why:       "Finalized features of ZooKeeper mode do not reach the metadata log.",
			Reference: "KIP-584"}, brokenFeatures},
	}
}

func ofTopics() []row {
	return []row{
		{Row{Code: "MIG211", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A topic's znode cannot be understood.",
			Why:       "The copy is aborted at it and the active controller halts, or the topic is lost.",
			Reference: "Kafka 3.9 TopicZNode"}, brokenTopics},
		{Row{Code: "MIG212", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A topic has no topic id.",
			Why:       "The copy is aborted with NoSuchElementException: None.get and the active controller halts; the next one does the same.",
			Reference: "Kafka 3.9 ZkTopicMigrationClient, KIP-516"}, topicsWithoutID},
		{Row{Code: "MIG213", Severity: Block, Kind: gates.Safety, Copy: true, Title: "Two topics have the same topic id.",
			Why:       "In KRaft the id is the topic: one of them takes the other's place.",
			Reference: "KIP-516"}, sharedTopicIDs},
		{Row{Code: "MIG214", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A topic's assignment has gaps, empty or doubled replicas.",
			Why:       "The copy is aborted, or partitions come out that nobody can serve.",
			Reference: "Kafka 3.9 ZkTopicMigrationClient"}, brokenAssignments},
		{Row{Code: "MIG215", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A partition's state is missing or cannot be understood.",
			Why:       "Kafka then takes every replica for in sync at epoch 0: a stale replica may lead, and records are lost without a word.",
			Reference: "Kafka 3.9 ZkTopicMigrationClient"}, missingStates},
		{Row{Code: "MIG216", Severity: Block, Kind: gates.Availability, Copy: true, Gate: gates.NoOffline, Title: "A partition has no leader.",
			Why:       "It is as unavailable after the migration, and each restart makes it harder to tell who has its data.",
			Reference: "Kafka 3.9 manual, preparing for migration"}, offlinePartitions},
		{Row{Code: "MIG217", Severity: Block, Kind: gates.Availability, Copy: true, Gate: gates.ISRFull, Title: "A partition has fewer replicas in sync than assigned.",
			Why:       "No broker that hosts it can be restarted safely, and the roll waits there.",
			Reference: "Kafka 3.9 manual, preparing for migration"}, shortISR},
		{Row{Code: "MIG218", Severity: Warn, Copy: true, Title: "A topic has a name that Kafka does not allow.",
			Why:       "It is copied, and no client can use or delete it by name.",
			Reference: "Kafka 3.9 Topic.validate"}, illegalNames},
		{Row{Code: "MIG219", Severity: Info, Copy: true, Title: "Topic names differ only in dots and underscores.",
			Why:       "Their metrics are mixed, as before the migration.",
			Reference: "KAFKA-2337"}, collidingNames},
	}
}

func ofMoves() []row {
	return []row{
		{Row{Code: "MIG221", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A broker that is not alive is named in assignments.",
			Why:       "The copy waits for its registration without end: Still waiting for ZK brokers found in metadata to register with KRaft.",
			Reference: "Kafka 3.9 KRaftMigrationDriver"}, ghosts},
		{Row{Code: "MIG222", Severity: Block, Kind: gates.Availability, Copy: true, Gate: gates.NoReassign, Title: "A reassignment is running.",
			Why:       "In hybrid mode it stalls or leaves replica folders behind.",
			Reference: "KAFKA-16120, KAFKA-16121"}, movesInFlight},
		{Row{Code: "MIG223", Severity: Block, Kind: gates.Availability, Copy: true, Title: "/admin/reassign_partitions is left over or in use.",
			Why:       "The next broker that becomes controller, in the middle of the roll, begins to move these partitions; a KRaft controller never looks at it.",
			Reference: "KIP-455"}, oldMove},
		{Row{Code: "MIG224", Severity: Warn, Copy: true, Title: "A preferred leader election was asked for and not done.",
			Why:       "The next ZooKeeper controller does it in the middle of the roll; a KRaft controller never looks at it.",
			Reference: "KIP-460"}, oldElection},
		{Row{Code: "MIG225", Severity: Block, Kind: gates.Safety, Copy: true, Gate: gates.NothingDeleting, Title: "A topic is pending deletion.",
			Why:       "It is not copied: its data stays in the brokers' folders as stray directories, or the topic comes back.",
			Reference: "KAFKA-15605, KAFKA-15799"}, pendingDeletions},
		{Row{Code: "MIG226", Severity: Warn, Copy: true, Title: "A topic that does not exist is marked for deletion.",
			Why:       "The mark is a rest; it would delete a topic that is created under this name.",
			Reference: "KAFKA-15605"}, strayMarks},
	}
}

func ofBrokerConfigs() []row {
	return []row{
		{Row{Code: "MIG231", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A controller has an id that a broker has or had.",
			Why:       "Brokers and controllers share one range of ids: the broker dies at its roll to KRaft, and partitions of the id would be a controller's.",
			Reference: "KIP-866, Kafka 3.9 KafkaConfig"}, sharedIDs},
		{Row{Code: "MIG233", Severity: Block, Kind: gates.Safety, Copy: true, Title: "/config/brokers has a child that is no broker.",
			Why:       "The copy reads its name as a number, is aborted, and the active controller halts.",
			Reference: "Kafka 3.9 ZkMigrationClient.migrateBrokerConfigs"}, oddBrokerConfigs},
		{Row{Code: "MIG234", Severity: Info, Copy: true, Title: "A broker that does not exist has settings.",
			Why:       "They are copied and lie in wait for a broker of this id.",
			Reference: "KIP-226"}, strangersConfigs},
		{Row{Code: "MIG235", Severity: Info, Copy: true, Title: "Dynamic settings override brokers' files.",
			Why:       "The file alone does not tell what a broker runs with.",
			Reference: "KIP-226"}, dynamicOverrides},
		{Row{Code: "MIG236", Severity: Warn, Copy: true, Title: "Listeners or TLS are set dynamically.",
			Why:       "A KRaft broker checks its file before it reads dynamic settings: one that is valid only with them crashes at its start.",
			Reference: "KAFKA-17431, KAFKA-18403"}, dynamicEndpoints},
		{Row{Code: "MIG237", Severity: Block, Kind: gates.Safety, Copy: true, Title: "Dynamic passwords are encoded with a secret that a broker's file does not have.",
			Why:       "A controller without the secret copies the encoded text as the password; the listener fails at the next restart.",
			Reference: "KAFKA-14801"}, passwordsWithoutSecret},
		{Row{Code: "MIG238", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A dynamic password is not encoded.",
			Why:       "A controller with the secret cannot decode it: the copy is aborted and the active controller halts.",
			Reference: "Kafka 3.9 ZkConfigMigrationClient"}, clearPasswords},
		{Row{Code: "MIG239", Severity: Warn, Copy: true, Title: "Dynamic settings have placeholders.",
			Why:       "Where the config provider is missing the value is dropped without a word.",
			Reference: "KIP-421"}, dynamicPlaceholders},
	}
}

func ofConfigs() []row {
	return []row{
		{Row{Code: "MIG241", Severity: Warn, Copy: true, Title: "A znode of settings cannot be understood.",
			Why:       "Kafka takes it for no settings: what was meant is not in force, and is not copied.",
			Reference: "Kafka 3.9 ConfigEntityZNode"}, unreadConfigs},
		{Row{Code: "MIG242", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A setting has a value that is no text.",
			Why:       "The copy is aborted and the active controller halts.",
			Reference: "Kafka 3.9 ConfigEntityZNode"}, wrongConfigs},
		{Row{Code: "MIG243", Severity: Info, Copy: true, Title: "Settings belong to a topic that does not exist.",
			Why:       "They are not copied.",
			Reference: "Kafka 3.9 ZkTopicMigrationClient"}, orphanedConfigs},
		{Row{Code: "MIG249", Severity: Warn, Copy: true, Title: "Change notices have piled up in ZooKeeper.",
			Why:       "A long list does not fit into jute.maxbuffer: readers fail, controllers among them.",
			Reference: "ZooKeeper manual, jute.maxbuffer"}, piledUp},
	}
}

func ofQuotas() []row {
	return []row{
		{Row{Code: "MIG251", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A quota is no number, or none that Kafka knows.",
			Why:       "The copy is aborted (Unexpected client quota configuration value) and the active controller halts, or dual write stops at it.",
			Reference: "Kafka 3.9 ZkConfigMigrationClient"}, brokenQuotas},
		{Row{Code: "MIG252", Severity: Block, Kind: gates.Safety, Copy: true, Title: "The name of a user or client cannot be decoded.",
			Why:       "The copy is aborted and the active controller halts.",
			Reference: "KAFKA-16222"}, undecodableNames},
		{Row{Code: "MIG253", Severity: Warn, Copy: true, Title: "The name of a user or client has an odd form.",
			Why:       "It is copied as another name than its znode says, and written back to a second znode.",
			Reference: "KAFKA-16222, KAFKA-16411"}, oddNames},
		{Row{Code: "MIG254", Severity: Block, Kind: gates.Safety, Copy: true, Title: "A SCRAM credential cannot be understood.",
			Why:       "The copy is aborted and the active controller halts.",
			Reference: "Kafka 3.9 ScramCredentialUtils"}, brokenCredentials},
		{Row{Code: "MIG255", Severity: Info, Copy: true, Title: "Users log in with SCRAM.",
			Why:       "Their credentials live in the metadata log: nothing that must reach the controllers before it is read can use them.",
			Reference: "KIP-900"}, scramUsers},
		{Row{Code: "MIG256", Severity: Warn, Copy: true, Title: "A user's znode has a child that is not clients.",
			Why:       "It is not copied.",
			Reference: "Kafka 3.9 AdminZkClient.fetchAllChildEntityConfigs"}, strangeChildren},
	}
}

func ofRules() []row {
	return []row{
		{Row{Code: "MIG261", Severity: Block, Kind: gates.Safety, Copy: true, Title: "An ACL cannot be understood.",
			Why:       "The copy is aborted and the active controller halts.",
			Reference: "Kafka 3.9 AclEntry"}, brokenRules},
		{Row{Code: "MIG262", Severity: Warn, Copy: true, Title: "An ACL is in a place that Kafka passes over.",
			Why:       "It is not enforced today and is not copied (Ignoring unknown ResourceType).",
			Reference: "Kafka 3.9 AclAuthorizer.loadAllAcls"}, ignoredRules},
		{Row{Code: "MIG263", Severity: Warn, Copy: true, Title: "ACLs are stored and no broker has an authorizer.",
			Why:       "They are copied; who sets an authorizer later is surprised by them.",
			Reference: "KIP-801"}, rulesWithoutAuthorizer},
		{Row{Code: "MIG264", Severity: Warn, Copy: true, Title: "Brokers have AclAuthorizer and there is no /kafka-acl.",
			Why:       "Only rules in this tree are copied: after the roll to KRaft there would be none.",
			Reference: "Kafka 3.9 AclAuthorizer"}, authorizerWithoutStore},
		{Row{Code: "MIG265", Severity: Info, Copy: true, Title: "There are delegation tokens.",
			Why:       "Controllers verify them with the brokers' key.",
			Reference: "KAFKA-15219"}, delegationTokens},
		{Row{Code: "MIG266", Severity: Block, Kind: gates.Safety, Copy: true, Title: "There are delegation tokens and a broker's file has no key for them.",
			Why:       "The controllers are given the brokers' key; without it tokens can be neither verified nor renewed.",
			Reference: "KAFKA-15219"}, tokensWithoutKey},
	}
}

// ofBrokers are seen over Kafka's protocol.
func ofBrokers() []row {
	return []row{
		{Row{Code: "MIG271", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.SameIBP, Title: "Brokers do not have one inter.broker.protocol.version.",
			Why:       "Controllers are formatted at one version, and a broker in migration mode registers with exactly its own: the others are refused for ever (UNSUPPORTED_VERSION).",
			Reference: "Kafka 3.9 KafkaServer, KAFKA-14529"}, differingVersions},
		{Row{Code: "MIG272", Severity: Block, Kind: gates.Safety, Start: true, Gate: gates.SameIBP, Title: "A broker's inter.broker.protocol.version is older than 3.6-IV1.",
			Why:       "There are no metadata transactions: controllers of 3.9 refuse to begin, older ones leave half a copy behind when they fail.",
			Reference: "KAFKA-17457"}, oldVersions},
		{Row{Code: "MIG273", Severity: Block, Kind: gates.Safety, Start: true, Title: "A broker has several log folders and an inter.broker.protocol.version older than 3.7-IV2.",
			Why:       "It refuses to start in migration mode.",
			Reference: "KAFKA-15450, KIP-858"}, foldersAtOldVersion},
		{Row{Code: "MIG274", Severity: Block, Kind: gates.Safety, Title: "A log folder of a broker is offline.",
			Why:       "In migration mode one failed folder stops the whole broker, and it cannot go to KRaft.",
			Reference: "KAFKA-16431"}, offlineFolders},
		{Row{Code: "MIG275", Severity: Block, Kind: gates.Safety, Start: true, Title: "A broker runs another release than migrations.yaml says.",
			Why:       "Files and the controllers' version are made for the release of migrations.yaml; a broker of another one may never register.",
			Reference: "Kafka 3.9 manual, preparing for migration"}, otherRelease},
		{Row{Code: "MIG276", Severity: Block, Kind: gates.Safety, Start: true, Title: "The release has faults in the migration itself.",
			Why:       "Changes are lost or the migration hangs, and no care avoids it.",
			Reference: "KAFKA-16667, KAFKA-17506, KAFKA-17457, KAFKA-16468"}, faultyRelease},
		{Row{Code: "MIG277", Severity: Warn, Start: true, Title: "There is a newer 3.9 with fixes of the migration.",
			Why:       "What it fixes can be avoided with care.",
			Reference: "KAFKA-19480, KIP-1252"}, olderPatch},
		{Row{Code: "MIG281", Severity: Block, Kind: gates.Safety, Start: true, Title: "A broker runs with something that its file does not say.",
			Why:       "What is written into the file would have no effect, or another one than the plan shows.",
			Reference: "Kafka 3.9 manual, kafka-server-start.sh --override"}, otherThanFile},
		{Row{Code: "MIG282", Severity: Warn, Start: true, Title: "A broker's file was changed after its start.",
			Why:       "The roll brings the change into force together with the migration's own.",
			Reference: "Kafka 3.9 manual, broker configs"}, staleFile},
		{Row{Code: "MIG283", Severity: Warn, Title: "Partitions cannot stay available while a broker restarts.",
			Why:       "With one replica, or as many in sync as there are, they refuse writes during their broker's restart, twice in a migration.",
			Reference: "Kafka 3.9 manual, min.insync.replicas"}, unavailableInRoll},
	}
}

func onNodes() []row { return slices.Concat(inFiles(), inSecurity(), inListeners(), inLayout()) }

// inFiles are found in properties files and meta.properties.
func inFiles() []row {
	return []row{
		{Row{Code: filesUnreadable, Severity: Block, Kind: gates.Safety, Plan: true, Title: "A node's properties file cannot be read.",
			Why: "Everything that is rendered, checked and put back rests on the file.", Reference: "java.util.Properties"}, unreadableFiles},
		{Row{Code: "MIG302", Severity: Block, Kind: gates.Safety, Plan: true, Title: "A broker's id differs between its file, its folders and migrations.yaml.",
			Why: "The broker refuses to start, or starts as another broker with nothing of its own.", Reference: "KAFKA-17042"}, idsDiffer},
		{Row{Code: "MIG303", Severity: Info, Title: "A broker's id is generated, or lies in the range of generated ids.",
			Why: "A broker in migration mode takes no generated id, and none above reserved.broker.max.id while ids are generated, so its file changes.", Reference: "KAFKA-17543"}, generatedIDs},
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
		{Row{Code: "MIG313", Severity: Block, Kind: gates.Safety, Start: true, Plan: true, Title: "A broker's file has settings of KRaft before the migration has begun.",
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
		{Row{Code: "MIG320", Severity: Info, Title: "A properties file has line ends of Windows.",
			Why: "Java and migrator read them; a value that is copied from such a file into another kind of file keeps the carriage return.", Reference: "java.util.Properties"}, windowsLines},
		{Row{Code: "MIG319", Severity: Warn, Title: "Brokers disagree on a setting that the controllers decide in KRaft mode.",
			Why: "The controllers get one of the values, and it counts for all brokers.", Reference: "Kafka 3.9 ControllerServer"}, othersDisagree},
	}
}

func aroundThem() []row {
	return []row{
		{Row{Code: "MIG401", Severity: Block, Kind: gates.Availability, Title: "A connection that the migration needs does not work.",
			Why: "Brokers wait for controllers without end, or controllers cannot reach the brokers in hybrid mode.", Reference: "KIP-866, KAFKA-15670"}, brokenWays},
		{Row{Code: "MIG402", Severity: Warn, Title: "A connection that the migration needs could not be tried.",
			Why: "A closed way shows only when a roll waits.", Reference: "KIP-866"}, untriedWays},
		{Row{Code: "MIG403", Severity: Warn, Start: true, Title: "Somebody else speaks to ZooKeeper.",
			Why: "Tools that write znodes are ignored or overwritten in dual write, and all of them see nothing afterwards.", Reference: "KIP-866"}, foreignClients},
		{Row{Code: "MIG404", Severity: Warn, Start: true, Title: "Znodes of tools that work through ZooKeeper are there.",
			Why: "What works through ZooKeeper stops with the migration.", Reference: "KIP-500"}, foreignZnodes},
		{Row{Code: "MIG405", Severity: Warn, Title: "A ZooKeeper server is older than Kafka 3.9 wants.",
			Why: "Kafka's client of 3.9 is made for 3.8.3 and newer.", Reference: "Kafka 3.9 upgrade notes"}, oldEnsemble},
		{Row{Code: "MIG406", Severity: Warn, Title: "zookeeper.connect names an even number of servers.",
			Why: "One may be missing from the string, and the loss of half stops everything.", Reference: "ZooKeeper administrator's guide"}, evenEnsemble},
		{Row{Code: "MIG407", Severity: Block, Kind: gates.Safety, Title: "zookeeper.connect names servers of different ensembles.",
			Why: "Controllers would copy one tree and write another.", Reference: "ZooKeeper administrator's guide"}, severalEnsembles},
		{Row{Code: "MIG408", Severity: Warn, Title: "A ZooKeeper server does not serve.",
			Why: "The migration writes to ZooKeeper until it is finalized, and stands still without a majority.", Reference: "KIP-866"}, sickMembers},
	}
}

// inSecurity are found in what files say of authorizers, logins and secrets.
func inSecurity() []row {
	return []row{
		{Row{Code: "MIG321", Severity: Block, Kind: gates.Safety, Title: "An authorizer does not fit the mode a broker runs in.",
			Why: "The broker does not start, or denies or allows what it should not.", Reference: "KIP-801"}, authorizersThatCannot},
		{Row{Code: "MIG322", Severity: Warn, Title: "An authorizer is not Kafka's own.",
			Why: "It must support KRaft itself; the migration copies the ACLs of AclAuthorizer and of nobody else.", Reference: "KIP-801"}, foreignAuthorizers},
		{Row{Code: "MIG323", Severity: Block, Kind: gates.Safety, Title: "Brokers disagree on the authorizer.",
			Why: "The controllers take over one of them and then decide for all.", Reference: "KIP-801"}, authorizersDisagree},
		{Row{Code: "MIG324", Severity: Block, Kind: gates.Safety, Start: true, Title: "ACLs are kept in another ZooKeeper than the metadata.",
			Why: "The copy does not see them: after it everything is denied, or everything is allowed.", Reference: "Kafka 3.9 AclAuthorizer, authorizer.zookeeper.url"}, aclsElsewhere},
		{Row{Code: "MIG325", Severity: Block, Kind: gates.Safety, Title: "Nodes are no super users although there is an authorizer.",
			Why: "Registrations, votes and fetches of controllers and brokers are denied before ACLs can be read: the quorum does not form.", Reference: "KIP-801"}, noSuperUsers},
		{Row{Code: "MIG326", Severity: Warn, Title: "super.users is not read the way it is written.",
			Why: "A name that Kafka builds otherwise is no super user.", Reference: "KIP-801"}, oddSuperUsers},
		{Row{Code: "MIG327", Severity: Block, Kind: gates.Safety, Start: true, Title: "Brokers disagree on password.encoder.secret.",
			Why: "The controllers decode encrypted settings with one secret; another broker's abort the copy.", Reference: "KAFKA-14801"}, encoderSecretsDisagree},
		{Row{Code: "MIG328", Severity: Block, Kind: gates.Safety, Title: "Brokers disagree on the key of delegation tokens.",
			Why: "Tokens made with one key are refused by the others.", Reference: "KAFKA-15219"}, tokenKeysDisagree},
		{Row{Code: "MIG329", Severity: Warn, Title: "A principal builder is not Kafka's own.",
			Why: "KRaft forwards requests with the principal in the builder's own form; without KafkaPrincipalSerde that fails.", Reference: "KIP-590"}, principalBuilders},
		{Row{Code: "MIG330", Severity: Warn, Title: "A topic or configuration policy moves to the controllers.",
			Why: "In KRaft mode the controllers enforce it: without its jar they fail, without its settings it decides otherwise.", Reference: "KAFKA-18886, KIP-1252"}, policies},
		{Row{Code: "MIG331", Severity: Block, Kind: gates.Safety, Plan: true, Title: "Nodes log in to the controllers with SCRAM.",
			Why: "The credentials lie in the log that a quorum must first read: after a full stop it never forms again.", Reference: "KAFKA-15513"}, scramControllers},
		{Row{Code: "MIG332", Severity: Warn, Title: "A login of the brokers stands in no properties file, and controllers need it.",
			Why: "In hybrid mode controllers call the brokers and write ZooKeeper; without the login brokers go on with frozen metadata.", Reference: "KAFKA-15670"}, outsideLogins},
		{Row{Code: "MIG333", Severity: Block, Kind: gates.Safety, Title: "The controllers' listener is TLS and they get no key store.",
			Why: "The controllers do not start.", Reference: "Kafka 3.9 manual, encryption with SSL"}, keylessControllers},
		{Row{Code: "MIG334", Severity: Block, Kind: gates.Availability, Title: "A file that the controllers' settings name is not on a controller.",
			Why: "The controller does not start.", Reference: "Kafka 3.9 manual, encryption with SSL"}, missingControllerFiles},
		{Row{Code: "MIG335", Severity: Warn, Title: "A node has no login for the controllers' listener in its file or settings.",
			Why: "It never reaches the controllers, or as a controller does not start.", Reference: "Kafka 3.9 manual, authentication using SASL"}, noLogin},
		{Row{Code: "MIG336", Severity: Block, Kind: gates.Safety, Copy: true, Title: "migrator is no super user of the controllers.",
			Why: "Until the copy the metadata log has no ACL: controllers answer super users alone, and without their answers no step can be proven.", Reference: "KIP-801"}, noSuperUserOfControllers},
		{Row{Code: "MIG337", Severity: Block, Kind: gates.Availability, Title: "migrator lacks a right.",
			Why: "A step stops in the middle at the first question that is refused.", Reference: "Kafka 3.9 manual, authorization and ACLs"}, missingRights},
		{Row{Code: "MIG338", Severity: Warn, Title: "By which name the cluster knows migrator cannot be told.",
			Why: "Whether it has its rights shows only when it is refused.", Reference: "Kafka 3.9 manual, customizing SSL user names"}, untoldPrincipal},
		{Row{Code: "MIG339", Severity: Block, Kind: gates.Availability, Title: "Brokers and controllers have no TLS version or cipher in common.",
			Why: "Controllers form a quorum, and brokers never appear.", Reference: "Kafka 3.9 manual, encryption with SSL"}, tlsLimits},
	}
}

// inListeners are found in what files say of listeners.
func inListeners() []row {
	return []row{
		{Row{Code: "MIG341", Severity: Block, Kind: gates.Safety, Title: "A broker's listener settings contradict each other.", Plan: true,
			Why: "The broker does not start with them.", Reference: "Kafka 3.9 KafkaConfig"}, contradictoryListeners},
		{Row{Code: "MIG342", Severity: Block, Kind: gates.Safety, Title: "Brokers disagree on the inter-broker listener.",
			Why: "Controllers know one; a broker without it is refused, or gets no metadata in hybrid mode.", Reference: "KAFKA-15670, KAFKA-16468"}, interBrokerDisagrees},
		{Row{Code: "MIG343", Severity: Block, Kind: gates.Safety, Plan: true, Title: "The controllers' listener has a name that a broker uses.",
			Why: "Kafka refuses it in KRaft mode, and some builds of 3.9 stop advertising the broker's listener before.", Reference: "KAFKA-17788"}, takenListenerNames},
		{Row{Code: "MIG344", Severity: Block, Kind: gates.Safety, Start: true, Title: "A controller's port is taken on its host.",
			Why: "The controller cannot bind and the quorum does not form.", Reference: "Kafka 3.9 manual, listeners"}, takenPorts},
		{Row{Code: "MIG345", Severity: Warn, Title: "A broker is advertised as localhost to other machines.",
			Why: "Controllers on other hosts call themselves instead of the broker.", Reference: "Kafka 3.9 manual, advertised.listeners"}, advertisedLocalhost},
		{Row{Code: "MIG346", Severity: Info, Title: "A broker has a control plane listener.",
			Why: "KRaft mode has none and refuses the key.", Reference: "KAFKA-17790"}, controlPlanes},
	}
}

// inLayout are found in how controllers and folders are spread.
func inLayout() []row {
	return []row{
		{Row{Code: "MIG351", Severity: Warn, Title: "A broker sets log.dir and log.dirs.",
			Why: "Kafka ignores log.dir; whoever reads the file may think that data lies there.", Reference: "Kafka 3.9 manual, log.dirs"}, twoWaysToSayFolders},
		{Row{Code: "MIG352", Severity: Block, Kind: gates.Availability, Title: "A log folder is listed twice.",
			Why: "The broker does not start with it.", Reference: "Kafka 3.9 LogManager"}, foldersTwice},
		{Row{Code: "MIG353", Severity: Info, Title: "Brokers have several log folders.",
			Why: "During a migration a failed folder stops the whole broker.", Reference: "KAFKA-16431"}, severalFolders},
		{Row{Code: "MIG354", Severity: Block, Kind: gates.Safety, Title: "A controller's folder is a broker's, or lies in one.",
			Why: "Formatting and ways back empty or move it, and a broker takes what lies in its folder for partitions.", Reference: "Kafka 3.9 manual, metadata.log.dir"}, sharedFolders},
		{Row{Code: "MIG355", Severity: Block, Kind: gates.Safety, Start: true, Title: "A metadata log lies in a broker's folder where it must not be.",
			Why: "The broker does not start in KRaft mode: unexpected metadata location.", Reference: "KAFKA-16463"}, oldMetadataLogs},
		{Row{Code: "MIG356", Severity: Info, Start: true, Title: "A metadata log of an earlier attempt is left on a broker.",
			Why: "Kafka before 3.8 stumbled over it.", Reference: "KAFKA-16463"}, leftMetadataLogs},
		{Row{Code: "MIG357", Severity: Warn, Title: "Partitions that Kafka set aside fill a log folder.",
			Why: "Nobody removes them, and some may be data that is missed.", Reference: "KAFKA-15605"}, strayFolders},
		{Row{Code: "MIG358", Severity: Block, Kind: gates.Safety, Title: "A partition's folder has no topic id, or another topic's.",
			Why: "The broker does not start in KRaft mode, or dies at the first metadata that names the partition.", Reference: "KAFKA-16814"}, partitionsWithoutID},
		{Row{Code: "MIG359", Severity: Warn, Title: "Controlled shutdown is off.",
			Why: "Each restart leaves partitions without a leader until the broker's session ends.", Reference: "Kafka 3.9 manual, controlled.shutdown.enable"}, controlledShutdownOff},
		{Row{Code: "MIG360", Severity: Warn, Title: "Log folders could not be looked through.",
			Why: "Old metadata logs and partitions without a topic id are noticed only when a broker does not start.", Reference: "KAFKA-16814, KAFKA-16463"}, unseenFolders},
		{Row{Code: "MIG361", Severity: Warn, Title: "The service manager kills a node that stops slowly.",
			Why: "A killed broker recovers its logs for a long time, and its stop counts as unclean.", Reference: "Kafka 3.9 manual, controlled shutdown"}, shortStops},
		{Row{Code: "MIG362", Severity: Block, Kind: gates.Availability, Title: "Settings on the command line win over the properties file.",
			Why: "What migrator writes has no effect, and the node comes back in another mode than planned.", Reference: "kafka-server-start.sh --override"}, overridden},
		{Row{Code: "MIG363", Severity: Block, Kind: gates.Availability, Title: "A node's properties file is made from its environment.",
			Why: "The edited file is overwritten at the next start, and the node comes back unchanged.", Reference: "the Kafka images of Bitnami, Confluent and Apache"}, fromEnvironment},
		{Row{Code: "MIG364", Severity: Warn, Title: "A log file that migrations.yaml names does not exist.",
			Why: "Steps wait for lines that are written elsewhere.", Reference: "Kafka 3.9 log4j.properties"}, missingLogs},
		{Row{Code: "MIG365", Severity: Warn, Title: "A controller's heap is small for the number of partitions.",
			Why: "A controller that runs out of memory in the copy takes the migration with it, and so does its successor.", Reference: "Kafka 3.9 manual, KRaft deployment"}, smallHeaps},
		{Row{Code: "MIG366", Severity: Warn, Title: "A properties file is made by something else.",
			Why: "Its next run undoes what was written, and a node that restarts then comes back in the wrong mode.", Reference: "the marks of images, operators and configuration management"}, madeBySomethingElse},
		{Row{Code: "MIG367", Severity: Warn, Title: "A machine's clock is not this one's.",
			Why: "A certificate made here is not valid there yet, or no longer; and nobody can put the log lines of a bad night in order.", Reference: "RFC 5280, validity; Kafka 3.9 log4j.properties"}, otherClocks},
		{Row{Code: "MIG371", Severity: Warn, Title: "One host holds a majority of the controllers.",
			Why: "Its loss stops the metadata quorum.", Reference: "KIP-595"}, crowdedHost},
		{Row{Code: "MIG372", Severity: Warn, Title: "One rack holds a majority of the controllers.",
			Why: "Its loss stops the metadata quorum, and a majority that is gone for good has no supported way back.", Reference: "KIP-595"}, crowdedRack},
		{Row{Code: "MIG373", Severity: Warn, Start: true, Title: "A broker is registered in another rack than migrations.yaml says.",
			Why: "Replicas are spread by the registered rack: a batch made by another may take two replicas of a partition at once.", Reference: "KIP-36"}, otherRacks},
	}
}
