package findings

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// quotaKeys are what DynamicConfig of Kafka 3.9 knows; true: a whole number.
func quotaKeys(kind string) map[string]bool {
	if kind == "ips" {
		return map[string]bool{"connection_creation_rate": true}
	}
	return map[string]bool{"producer_byte_rate": true, "consumer_byte_rate": true, "request_percentage": false, "controller_mutation_rate": false}
}

func scramKeys() []string { return []string{"SCRAM-SHA-256", "SCRAM-SHA-512"} }

// credential says whether a key is a user's SCRAM credential and no quota.
func (e entity) credential(key string) bool {
	return e.kind == "users" && !strings.Contains(e.name, "/clients/") && slices.Contains(scramKeys(), key)
}

func quotaKinds() []string { return []string{"clients", "ips", "users"} }

// brokenQuotas: everything that is no credential is read as a number, and one
// that is none throws; a key that Kafka does not know cannot be written back.
func brokenQuotas(l *look) {
	const fix = "Set the quota again with kafka-configs.sh as a plain number, or delete the key."
	for _, kind := range quotaKinds() {
		for _, e := range l.entities(kind) {
			for _, key := range sortedKeys(e.values) {
				if e.credential(key) {
					continue
				}
				whole, known := quotaKeys(kind)[key]
				number, err := strconv.ParseFloat(strings.TrimRight(strings.TrimSpace(e.values[key]), "dDfF"), 64)
				switch {
				case err != nil && slices.Contains(scramKeys(), key) || strings.HasPrefix(key, "SCRAM-"):
					l.found(e.path, key+" is read as a quota and is no number", fix)
				case err != nil:
					l.found(e.path, fmt.Sprintf("%s=%s is no number", key, e.values[key]), fix)
				case !known:
					l.found(e.path, key+" is no quota that Kafka knows", fix)
				case whole && number != float64(int64(number)):
					l.found(e.path, fmt.Sprintf("%s=%s is no whole number: dual write could not write it back", key, e.values[key]), fix)
				}
			}
		}
	}
}

// entityParts are the names within an entity's znode name.
func (e entity) parts() []string {
	user, client, two := strings.Cut(e.name, "/clients/")
	if !two {
		return []string{e.name}
	}
	return []string{user, client}
}

// undecodableNames: names are form-encoded, and one that is not throws.
func undecodableNames(l *look) {
	for _, kind := range quotaKinds() {
		for _, e := range l.entities(kind) {
			for _, part := range e.parts() {
				if _, err := url.QueryUnescape(part); err != nil {
					l.found(e.path, part+" is no form-encoded name", "Set its values again under the right name with kafka-configs.sh, and delete the znode.")
				}
			}
		}
	}
}

// sanitized is the one znode name that Kafka gives to an entity (Sanitizer).
func sanitized(name string) string {
	return strings.NewReplacer("+", "%20", "~", "%7E").Replace(url.QueryEscape(name))
}

// oddNames are copied under another name than was meant, or written back to another znode.
func oddNames(l *look) {
	for _, kind := range []string{"clients", "users"} {
		for _, e := range l.entities(kind) {
			for _, part := range e.parts() {
				name, err := url.QueryUnescape(part)
				switch {
				case part == defaultEntity || err != nil:
				case sanitized(name) != part:
					l.found(e.path, fmt.Sprintf("Kafka reads it as %q and writes that as %s: a second znode", name, sanitized(name)), "Set its values again under the name that is meant with kafka-configs.sh, and delete the znode.")
				case name == defaultEntity:
					l.found(e.path, "a name that looks like the default of all", "If the default was meant, set it with --entity-default, and delete this znode.")
				case name != strings.TrimSpace(name):
					l.found(e.path, fmt.Sprintf("%q has blanks at its ends", name), "If they were not meant, set its values again under the right name and delete the znode.")
				}
			}
		}
	}
}

// brokenCredentials: a SCRAM credential that cannot be read throws. What it holds is never shown.
func brokenCredentials(l *look) {
	for _, e := range l.entities("users") {
		for _, key := range scramKeys() {
			if text, there := e.values[key]; there && e.credential(key) && !validCredential(text) {
				l.found(e.path, key+" is no credential of the form salt, stored_key, server_key, iterations", "Set the user's password again with kafka-configs.sh, or delete the credential.")
			}
		}
	}
}

// validCredential follows ScramCredentialUtils.credentialFromString.
func validCredential(text string) bool {
	parts := map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(item, "=")
		if !ok {
			return false
		}
		parts[key] = value
	}
	for _, key := range []string{"salt", "stored_key", "server_key"} {
		if raw, err := base64.StdEncoding.DecodeString(parts[key]); err != nil || len(raw) == 0 {
			return false
		}
	}
	_, err := strconv.ParseInt(parts["iterations"], 10, 32)
	return err == nil && len(parts) == 4
}

// scramUsers log in with what only the metadata log will know.
func scramUsers(l *look) {
	var users []string
	for _, e := range l.entities("users") {
		if slices.ContainsFunc(scramKeys(), func(key string) bool { return e.credential(key) && validCredential(e.values[key]) }) {
			users = append(users, e.name)
		}
	}
	if len(users) > 0 {
		l.found("/config/users", fmt.Sprintf("%d users with SCRAM credentials: %s", len(users), some(users)),
			"The copy carries them over. Brokers and controllers need another way to log in to the controllers: PLAIN over TLS, GSSAPI or mTLS.")
	}
}

// strangeChildren of a user are passed over without a word.
func strangeChildren(l *look) {
	t, ok := l.tree()
	if !ok {
		return
	}
	for _, user := range t.Children("/config/users") {
		for _, name := range t.Children("/config/users/" + user) {
			if name != "clients" {
				l.found("/config/users/"+user+"/"+name, "a user has only clients below it", "It is not copied. Set again what was meant with kafka-configs.sh.")
			}
		}
	}
}
