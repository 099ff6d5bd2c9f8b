package configgen

import (
	"fmt"
	"strconv"
	"strings"

	"migrator/internal/cluster"
)

const migrationFlag = "zookeeper.metadata.migration.enable"

// Mode is what a node's file says. A combined role is an error: dedicated
// controllers are the only target of a migration (KIP-866).
func Mode(file []byte, role cluster.Role) (cluster.Mode, error) {
	doc, err := Parse(file)
	if err != nil {
		return "", err
	}
	return modeOf(doc, role)
}

func modeOf(doc *Document, role cluster.Role) (cluster.Mode, error) {
	roles, _, err := plain(doc, "process.roles")
	if err != nil {
		return "", err
	}
	flag, err := boolean(doc, migrationFlag)
	if err != nil {
		return "", err
	}
	roles = strings.TrimSpace(roles)
	switch role {
	case cluster.Broker:
		return brokerMode(roles, flag)
	case cluster.Controller:
		return controllerMode(roles, flag)
	}
	return "", fmt.Errorf("unknown role %q", bounded(string(role)))
}

func brokerMode(roles string, flag bool) (cluster.Mode, error) {
	switch {
	case roles == "" && flag:
		return cluster.ZKMigrating, nil
	case roles == "":
		return cluster.ZK, nil
	case roles == "broker":
		return cluster.KRaft, nil
	}
	return "", fmt.Errorf("process.roles=%s is not a broker's: a migration takes dedicated controllers only", bounded(roles))
}

func controllerMode(roles string, flag bool) (cluster.Mode, error) {
	switch {
	case roles != "controller":
		return "", fmt.Errorf("process.roles=%s is not a controller's: it must be controller", bounded(roles))
	case flag:
		return cluster.KRaftMigrating, nil
	}
	return cluster.KRaft, nil
}

// plain reads a key this program reasons about. A placeholder is an error: who
// fills it in, and with what, cannot be seen from here.
func plain(doc *Document, key string) (string, bool, error) {
	value, ok := doc.Value(key)
	if strings.Contains(value, "${") {
		return "", false, fmt.Errorf("%s has a placeholder that something else replaces: write the value itself into the file", key)
	}
	return value, ok, nil
}

// boolean reads a flag as Kafka does: trimmed, any case; absent is false.
func boolean(doc *Document, key string) (bool, error) {
	value, ok, err := plain(doc, key)
	if err != nil || !ok {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(value)) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, fmt.Errorf("%s is neither true nor false", key)
}

// number reads an id. Kafka trims it.
func number(doc *Document, key string) (int32, bool, error) {
	value, ok, err := plain(doc, key)
	if err != nil || !ok {
		return 0, false, err
	}
	n, err := strconv.ParseInt(strings.TrimSpace(value), 10, 32)
	if err != nil {
		return 0, false, fmt.Errorf("%s is not a number", key)
	}
	return int32(n), true, nil
}
