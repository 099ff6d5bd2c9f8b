package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// aclStores are where Kafka keeps rules: literal ones, and prefixed ones since 2.0.
func aclStores() []string { return []string{"/kafka-acl", "/kafka-acl-extended/prefixed"} }

func aclTypes() []string {
	return []string{"Cluster", "DelegationToken", "Group", "Topic", "TransactionalId", "User"}
}

func aclOperations() []string {
	return []string{"Any", "All", "Read", "Write", "Create", "Delete", "Alter", "Describe", "ClusterAction", "DescribeConfigs", "AlterConfigs", "IdempotentWrite", "CreateTokens", "DescribeTokens"}
}

// rules hands every znode with rules of a known type to visit.
func (l *look) rules(visit func(z Znode)) {
	for _, store := range aclStores() {
		for _, kind := range aclTypes() {
			l.below(store+"/"+kind, func(_ string, z Znode) { visit(z) })
		}
	}
}

// brokenRules stop the copy: AclEntry.fromBytes throws.
func brokenRules(l *look) {
	l.rules(func(z Znode) {
		if fault := ruleFault(z.Data); fault != "" {
			l.found(z.Path, fault, "Remove the rule with zookeeper-shell.sh and add what was meant again with kafka-acls.sh.")
		}
	})
}

// ruleFault is what Kafka would throw at. No data and no JSON are no rules to it.
func ruleFault(data []byte) string {
	fields, fault := object(data)
	if fault != "" {
		return ""
	}
	var version int
	if json.Unmarshal(fields["version"], &version) != nil || version != 1 {
		return "its version is not 1"
	}
	var list []map[string]any
	if json.Unmarshal(fields["acls"], &list) != nil || list == nil {
		return `it has no list "acls"`
	}
	for _, rule := range list {
		text := func(key string) string { s, _ := rule[key].(string); return s }
		kind, name, ok := strings.Cut(text("principal"), ":")
		switch {
		case !ok || kind == "":
			return fmt.Sprintf("principal %q is not of the form User:name", text("principal"))
		case name == "" && kind == "User":
			return fmt.Sprintf("principal %q has no name", text("principal"))
		case !slices.Contains([]string{"Allow", "Deny", "Any"}, text("permissionType")):
			return fmt.Sprintf("permissionType %q is unknown", text("permissionType"))
		case !slices.Contains(aclOperations(), text("operation")):
			return fmt.Sprintf("operation %q is unknown", text("operation"))
		case text("host") == "":
			return "a rule has no host"
		}
	}
	return ""
}

// ignoredRules are passed over by the copy, as the authorizer passes over them now.
func ignoredRules(l *look) {
	const fix = "Nothing enforces it today. Add what was meant with kafka-acls.sh, and delete the znode."
	t, ok := l.tree()
	if !ok {
		return
	}
	for _, store := range aclStores() {
		for _, kind := range t.Children(store) {
			if !slices.Contains(aclTypes(), kind) {
				l.found(store+"/"+kind, "a type of resource that Kafka does not know", fix)
			}
		}
	}
	for _, pattern := range t.Children("/kafka-acl-extended") {
		if pattern != "prefixed" {
			l.found("/kafka-acl-extended/"+pattern, "a type of pattern that Kafka does not know", fix)
		}
	}
	l.rules(func(z Znode) {
		if _, fault := object(z.Data); fault != "" && len(z.Data) > 0 {
			l.found(z.Path, fault, fix)
		}
	})
}

// rulesCount is how many znodes have rules.
func (l *look) rulesCount() int {
	n := 0
	l.rules(func(Znode) { n++ })
	return n
}

// rulesWithoutAuthorizer are stored and enforced by nobody.
func rulesWithoutAuthorizer(l *look) {
	files := l.brokerFiles()
	n := l.rulesCount()
	if n == 0 || len(files) == 0 || slices.ContainsFunc(files, func(f propertiesFile) bool { return f.value("authorizer.class.name") != "" }) {
		return
	}
	l.found("/kafka-acl", fmt.Sprintf("%d resources with rules, and no broker's file has authorizer.class.name", n),
		"Decide: if the cluster should be protected, set the authorizer before the migration; if not, remove the rules with kafka-acls.sh.")
}

// authorizerWithoutStore: the rules are somewhere else, from where nothing is copied.
func authorizerWithoutStore(l *look) {
	if _, present, ok := l.znode("/kafka-acl"); !ok || present {
		return
	}
	for _, f := range l.brokerFiles() {
		if class := f.value("authorizer.class.name"); strings.HasSuffix(class, ".AclAuthorizer") && f.value("authorizer.zookeeper.url") == "" {
			l.found(f.at("authorizer.class.name"), class+", and there is no /kafka-acl", "The authorizer makes it at its start: find out where its rules are (another chroot?). Only what is here is copied.")
		}
	}
}

// tokens are how many delegation tokens there are; their content is never read.
func (l *look) tokens() int {
	n := 0
	l.below("/delegation_token/tokens", func(string, Znode) { n++ })
	return n
}

func delegationTokens(l *look) {
	if n := l.tokens(); n > 0 {
		l.found("/delegation_token/tokens", fmt.Sprintf("%d tokens", n), "The copy carries them over. Controllers are given the brokers' delegation.token.secret.key.")
	}
}

// tokensWithoutKey: nobody could verify or renew them on the controllers.
func tokensWithoutKey(l *look) {
	n := l.tokens()
	if n == 0 {
		return
	}
	for _, f := range l.brokerFiles() {
		if f.value("delegation.token.secret.key") == "" && f.value("delegation.token.master.key") == "" {
			l.found(f.at("delegation.token.secret.key"), fmt.Sprintf("no delegation.token.secret.key, and there are %d tokens", n),
				"Give every broker the one key, or let the tokens expire and remove them.")
		}
	}
}
