package configgen

import (
	"fmt"
	"strings"

	"migrator/internal/cluster"
)

// notes lists what is legal but often a mistake. They never quote secrets.
func notes(before *Document, in input) []string {
	after, role := in.doc, in.node.Role
	out := saslNotes(in)
	if before.HasBOM() {
		out = append(out, "the file begins with a byte order mark, which Java takes as part of the first key")
	}
	for _, key := range after.Keys() {
		if lines := after.Lines(key); len(lines) > 1 {
			out = append(out, fmt.Sprintf("%s is set on lines %s; the last one counts", bounded(key), joinLines(lines)))
		}
	}
	class, _ := after.Value("authorizer.class.name")
	switch trimmed := strings.TrimSpace(class); {
	case trimmed != class:
		out = append(out, "authorizer.class.name ends in a blank, which Kafka takes as part of the name")
	case trimmed != "" && trimmed != aclAuthorizer && trimmed != standardAuthorizer:
		out = append(out, fmt.Sprintf("authorizer.class.name %s is not Kafka's own: it must support KRaft itself, and its rules are not copied", bounded(trimmed)))
	case trimmed == standardAuthorizer:
		if users, ok := after.Value("super.users"); !ok || strings.TrimSpace(users) == "" {
			out = append(out, fmt.Sprintf("StandardAuthorizer without super.users: %ss cannot register before the ACLs are read", role))
		}
	}
	for _, key := range after.Keys() {
		value, _ := after.Value(key)
		if strings.HasPrefix(key, "ssl.") && strings.HasSuffix(key, ".location") && role == cluster.Controller {
			out = append(out, fmt.Sprintf("%s names a file that must exist on the controller", key))
		}
		if strings.HasPrefix(key, "super.users") && strings.Contains(value, ",User:") {
			out = append(out, "super.users has commas between users: Kafka separates them by semicolons")
		}
	}
	return out
}

// saslNotes: a controller listener with SASL needs settings of its own, or the
// node dies looking for the brokers' mechanism.
func saslNotes(in input) []string {
	name := in.settings.Quorum.ListenerName
	if !has(in, "controller.listener.names") || !strings.HasPrefix(in.settings.Quorum.ListenerProtocol, "SASL_") {
		return nil
	}
	var out []string
	if !has(in, "sasl.mechanism.controller.protocol") {
		out = append(out, "sasl.mechanism.controller.protocol is not set, so nodes log in to the controllers with GSSAPI")
	}
	key := "listener.name." + strings.ToLower(name) + ".sasl.enabled.mechanisms"
	if in.node.Role == cluster.Controller && !has(in, key) {
		out = append(out, key+" is not set, so the controllers' listener also wants every mechanism of sasl.enabled.mechanisms")
	}
	return out
}

func joinLines(lines []int) string {
	var items []string
	for _, n := range lines {
		items = append(items, fmt.Sprint(n))
	}
	return strings.Join(items, ", ")
}
