package configgen

import "slices"

// zooKeeperClientKeys are Kafka's own settings of its ZooKeeper client apart
// from zookeeper.connect (ZkConfigs of 3.9), and one that earlier releases had.
// A key of somebody else may begin with the same letters: it is none of these.
func zooKeeperClientKeys() []string {
	return []string{
		"zookeeper.session.timeout.ms", "zookeeper.connection.timeout.ms", "zookeeper.sync.time.ms",
		"zookeeper.set.acl", "zookeeper.max.in.flight.requests", "zookeeper.clientCnxnSocket",
		"zookeeper.ssl.client.enable", "zookeeper.ssl.protocol", "zookeeper.ssl.enabled.protocols", "zookeeper.ssl.cipher.suites",
		"zookeeper.ssl.keystore.location", "zookeeper.ssl.keystore.password", "zookeeper.ssl.keystore.type",
		"zookeeper.ssl.truststore.location", "zookeeper.ssl.truststore.password", "zookeeper.ssl.truststore.type",
		"zookeeper.ssl.endpoint.identification.algorithm", "zookeeper.ssl.crl.enable", "zookeeper.ssl.ocsp.enable",
	}
}

// zooKeeperKeys are all that a node without ZooKeeper does not read, the
// migration flag apart.
func zooKeeperKeys() []string {
	return slices.Concat([]string{"zookeeper.connect"}, zooKeeperClientKeys(), []string{"zookeeper.metadata.migration.min.batch.size"})
}

// aclAuthorizerKeys are AclAuthorizer's own: its address of ZooKeeper and each
// key of the client once more with a prefix.
func aclAuthorizerKeys() []string {
	keys := []string{"authorizer.zookeeper.url"}
	for _, key := range zooKeeperClientKeys() {
		keys = append(keys, "authorizer."+key)
	}
	return keys
}

// removeEach is one row for each key.
func removeEach(keys []string, r row) []row {
	var rows []row
	for _, key := range keys {
		r.op, r.key = opRemove, key
		rows = append(rows, r)
	}
	return rows
}
