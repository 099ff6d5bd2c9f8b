package lab_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"migrator/internal/cluster"
	"migrator/internal/lab"
	"migrator/internal/status"
)

// secured is a kind of protected cluster, with what a migration of it needs
// beyond a plain one and the users who try their rights through all of it.
type secured struct {
	options lab.Options
	yaml    lab.YAMLOptions
	super   []kgo.Opt // a super user's client
	names   func(user string) string
	alsoUs  []string // further principals of migrator, on other listeners
	users   []user
}

// start brings the cluster up with topics, rules and acting users.
func (s secured) start(t *testing.T) (*operator, *rights) {
	t.Helper()
	c := startCluster(t, s.options)
	admin := s.admin(t, c)
	defer admin.Close()
	grant(t, admin, int16(min(3, len(c.BrokerIDs()))), s.rules()...)
	r := watchRights(t, c.Bootstrap(), s.users...)
	s.yaml.Name = "payments"
	return newOperator(t, c, s.yaml), r
}

func (s secured) admin(t *testing.T, c *lab.Cluster) *kadm.Client {
	t.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Bootstrap()...)}, s.super...)...)
	if err != nil {
		t.Fatal(err)
	}
	return kadm.NewClient(client)
}

func (s secured) rules() []*kadm.ACLBuilder {
	out := usersRights(s.names)
	for _, us := range append(s.alsoUs, s.names("migrator")) {
		out = append(out, ourRights(us)...)
	}
	return out
}

// usersRights: alice may write to the guarded topic and configure it, bob only
// read it, and mallory has none.
func usersRights(names func(string) string) []*kadm.ACLBuilder {
	return []*kadm.ACLBuilder{
		kadm.NewACLs().Topics(guarded).Allow(names("alice")).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpWrite, kadm.OpDescribe, kadm.OpAlterConfigs),
		kadm.NewACLs().Topics(guarded).Allow(names("bob")).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpRead, kadm.OpDescribe),
	}
}

// losesARight takes a right away from migrator in the middle of a roll: what it
// cannot see any more is unknown with the reason, nothing more is restarted,
// and the step goes on when the right is back.
func (op *operator) losesARight(s secured) {
	op.t.Helper()
	admin := s.admin(op.t, op.c)
	defer admin.Close()
	right := kadm.NewACLs().Topics("*").Allow(s.names("migrator")).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpDescribe)
	if _, err := admin.DeleteACLs(op.t.Context(), right); err != nil {
		op.t.Fatal(err)
	}
	op.until("a gate says which right is missing", time.Minute, func() bool {
		return slices.ContainsFunc(op.status().Gates, func(g status.Gate) bool {
			return g.Verdict == "unknown" && strings.Contains(g.Evidence, "we may not Describe every topic")
		})
	})
	batch := op.status().Step.Batch
	others := slices.DeleteFunc(op.c.BrokerIDs(), func(id int32) bool { return slices.Contains(batch, id) })
	before := op.starts(others)
	op.pause(10 * time.Second)
	if after := op.starts(others); !maps.Equal(before, after) {
		op.t.Errorf("brokers were started while partitions could not be seen: %v, then %v", before, after)
	}
	if _, err := admin.CreateACLs(op.t.Context(), right); err != nil {
		op.t.Fatal(err)
	}
}

// ourRights are all that docs/secured.md asks for migrator.
func ourRights(principal string) []*kadm.ACLBuilder {
	return []*kadm.ACLBuilder{
		kadm.NewACLs().Clusters().Allow(principal).AllowHosts().Operations(kadm.OpDescribe, kadm.OpDescribeConfigs, kadm.OpAlter),
		kadm.NewACLs().Topics("*").Allow(principal).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).Operations(kadm.OpDescribe, kadm.OpDescribeConfigs),
		kadm.NewACLs().Topics("__migrator_canary").Allow(principal).AllowHosts().ResourcePatternType(kadm.ACLPatternLiteral).
			Operations(kadm.OpCreate, kadm.OpDelete, kadm.OpWrite, kadm.OpRead, kadm.OpAlterConfigs),
	}
}

// byCertificate is the principal of a certificate as Kafka builds it.
func byCertificate(name string) string { return "User:CN=" + name + ",O=Lab" }

func byLogin(name string) string { return "User:" + name }

// together is a list for super.users.
func together(names func(string) string, users ...string) string {
	var out []string
	for _, u := range users {
		out = append(out, names(u))
	}
	return "super.users=" + strings.Join(out, ";")
}

// quick are the limits of a test.
func quick() lab.YAMLOptions {
	return lab.YAMLOptions{PollInterval: "500ms", GoodPolls: 2, StepTimeout: "3m", Soak: "5s"}
}

// TestTLSBetweenAllWithDeniedClients takes the first of the secured clusters to
// the soak: to where every broker has changed its authorizer.
func TestTLSBetweenAllWithDeniedClients(t *testing.T) {
	op, r := tlsBetweenAll(t).start(t)
	op.drive(4*time.Minute, func(s status.Status) bool {
		r.at(s)
		return atRest(cluster.DualWrite)(s)
	})
}

// TestSecuredClustersThereAndBack: each kind forward to the end of the soak with
// its drill, back to plain ZooKeeper, and forward again to the end.
func TestSecuredClustersThereAndBack(t *testing.T) {
	nightly(t)
	for _, p := range securedKinds() {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			began := time.Now()
			kind := p.of(t)
			op, r := kind.start(t)
			originals := op.files(op.c.BrokerIDs())
			op.whileReverting = r.at
			op.drive(3*time.Minute, func(s status.Status) bool {
				r.at(s)
				return s.Step != nil && s.Step.Kind == "roll"
			})
			op.losesARight(kind)
			op.drive(5*time.Minute, func(s status.Status) bool {
				r.at(s)
				return s.RunStatus == status.NeedsApproval && s.Plan.Phase == cluster.Finalize
			})
			op.nothingInTheWay()
			op.goesBack(cluster.Initial, originals)
			op.nothingInTheWay()
			op.drive(7*time.Minute, func(s status.Status) bool {
				r.at(s)
				return s.RunStatus == status.Finished
			})
			op.leavesEvidence()
			t.Logf("%s: forward, back, and forward to the end in %s", p.name, time.Since(began).Round(time.Second))
		})
	}
}

type securedKind struct {
	name string
	of   func(*testing.T) secured
}

func securedKinds() []securedKind {
	return []securedKind{{"TLS between all", tlsBetweenAll}, {"SCRAM between brokers", scramBetweenBrokers}, {"ZooKeeper locked", zooKeeperLocked}, {"several listeners", severalListeners}}
}
