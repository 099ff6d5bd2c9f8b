package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// right is an operation on a resource that this program needs.
type right struct {
	kind, name string // of the resource
	operation  string
	what       string // what fails without it
}

// rights are all that it needs of brokers. Of controllers it needs more, which
// no ACL can give before the copy (MIG336).
func rights(canary string) []right {
	const all = "*"
	return []right{
		{"Cluster", "kafka-cluster", "Describe", "reading log folders, reassignments and the quorum"},
		{"Cluster", "kafka-cluster", "DescribeConfigs", "reading what brokers run with"},
		{"Cluster", "kafka-cluster", "Alter", "electing the preferred leaders after a roll"},
		{"Topic", all, "Describe", "seeing every partition: those of other topics are left out without a word"},
		{"Topic", all, "DescribeConfigs", "reading min.insync.replicas of every topic"},
		{"Topic", canary, "Create", "making the canary's topic"},
		{"Topic", canary, "Write", "the canary's records"},
		{"Topic", canary, "Read", "reading them back"},
		{"Topic", canary, "AlterConfigs", "metadata writes, which show that there is a controller"},
		{"Topic", canary, "Delete", "removing the canary's topic at the end"},
	}
}

// missingRights judges the stored rules as AclAuthorizer and StandardAuthorizer do.
func missingRights(l *look) {
	f := l.firstBroker()
	if f.doc == nil || !slices.Contains([]string{aclAuthorizer, standardAuthorizer}, f.value(authorizerKey)) {
		return
	}
	us, why := l.us(f)
	if _, ok := l.tree(); !ok || why != "" || slices.Contains(principals(f.value("super.users")), us) {
		return
	}
	rules := l.storedRules()
	open := strings.EqualFold(f.value("allow.everyone.if.no.acl.found"), "true")
	for _, r := range rights(l.s.Migration.Canary.Topic) {
		if !rules.allow(us, r, open) {
			l.found(fmt.Sprintf("%s %s", strings.ToLower(r.kind), r.name), fmt.Sprintf("%s may not %s: %s", us, r.operation, r.what), "Run "+r.command(us))
		}
	}
}

// command is what gives the right.
func (r right) command(us string) string {
	resource := "--cluster"
	if r.kind == "Topic" {
		resource = "--topic '" + r.name + "'"
	}
	return fmt.Sprintf("kafka-acls.sh --bootstrap-server HOST:PORT --command-config ADMIN.properties --add --allow-principal '%s' --operation %s %s", us, r.operation, resource)
}

// stored is the rules by resource: "Topic:literal:orders".
type stored map[string][]rule

type rule struct {
	Principal      string `json:"principal"`
	PermissionType string `json:"permissionType"`
	Operation      string `json:"operation"`
	Host           string `json:"host"`
}

func (l *look) storedRules() stored {
	out := stored{}
	l.rules(func(z Znode) {
		parts := strings.SplitN(z.Path, "/", 4) // "", kafka-acl, Topic, orders
		pattern := "literal"
		if strings.HasPrefix(z.Path, "/kafka-acl-extended/") {
			parts, pattern = strings.SplitN(strings.TrimPrefix(z.Path, "/kafka-acl-extended"), "/", 4), "prefixed"
		}
		var content struct {
			ACLs []rule `json:"acls"`
		}
		if len(parts) == 4 && json.Unmarshal(z.Data, &content) == nil {
			out[parts[2]+":"+pattern+":"+parts[3]] = append(out[parts[2]+":"+pattern+":"+parts[3]], content.ACLs...)
		}
	})
	return out
}

// allow: a rule that denies wins, one on another host than any is taken as ours
// where it allows: which address brokers see is not known here.
func (s stored) allow(us string, r right, open bool) bool {
	rules := slices.Concat(s[r.kind+":literal:"+r.name], s[r.kind+":literal:*"])
	if r.name == "*" {
		rules = s[r.kind+":literal:*"]
	}
	for key, list := range s {
		if prefix, ok := strings.CutPrefix(key, r.kind+":prefixed:"); ok && r.name != "*" && strings.HasPrefix(r.name, prefix) {
			rules = append(rules, list...)
		}
	}
	allowed := open && len(rules) == 0
	for _, one := range rules {
		if one.Principal != us && one.Principal != "User:*" {
			continue
		}
		if one.PermissionType == "Deny" && one.Host == "*" && (one.Operation == r.operation || one.Operation == "All") {
			return false
		}
		allowed = allowed || one.PermissionType == "Allow" && implies(one.Operation, r.operation)
	}
	return allowed
}

func implies(has, wanted string) bool {
	switch {
	case has == wanted || has == "All":
		return true
	case wanted == "Describe":
		return slices.Contains([]string{"Read", "Write", "Delete", "Alter"}, has)
	case wanted == "DescribeConfigs":
		return has == "AlterConfigs"
	}
	return false
}
