package observe

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/facts"
	"migrator/internal/remote"
)

var everything = Want{Files: true, Meta: true, Topics: true, Quorum: true, Log: true, MinISR: true, Preflight: true, Lines: []int32{1}}

func TestAHealthyClusterIsKnownInOneRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := healthy()
		s.close = func() error { return nil }
		o := newObserver(threeAndThree(), Deps{
			Driver:   says(facts.Driver{Held: true}),
			Writable: says(true),
		}, s)
		if _, err := o.MarkLogs(t.Context(), []int32{1}); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		o.Round(t.Context(), everything) // begins the scan
		synctest.Wait()
		snapshot := o.Round(t.Context(), everything)
		if d := time.Since(began); d != 0 {
			t.Errorf("two rounds took %s although nobody was slow", d)
		}
		for name, cause := range unknowns(snapshot) {
			if name != "CanaryStats" {
				t.Errorf("%s is unknown: %s", name, cause)
			}
		}
		if got := len(snapshot.API); got != 6 {
			t.Errorf("ApiVersions of %d nodes, want 6", got)
		}
		if got := len(snapshot.Meta); got != 6 {
			t.Errorf("meta.properties of %d nodes, want 6", got)
		}
		closed(t, o)
	})
}

func TestAReaderThatHangsCostsItsOwnFactOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s := healthy()
		s.zk.holder = hangs[facts.Holder](end)
		s.zk.epoch = fails[facts.ZKEpoch]("session expired")
		o := newObserver(threeAndThree(), Deps{}, s)

		began := time.Now()
		snapshot := o.Round(t.Context(), Want{})
		if d := time.Since(began); d < readLimit || d > readLimit+time.Second {
			t.Errorf("the round took %s, want about %s", d, readLimit)
		}
		wantCause(t, snapshot.Holder.Cause(), "no answer in 2s")
		wantCause(t, snapshot.ZKEpoch.Cause(), "session expired")
		if snapshot.Holder.Source() != "znode /controller" || !snapshot.Holder.Begun().Equal(began) {
			t.Errorf("unknown fact says %q at %s, want its source and the time of the question", snapshot.Holder.Source(), snapshot.Holder.Begun())
		}
		if id, ok := snapshot.ClusterID.Get(); !ok || id != "abc" {
			t.Errorf("cluster id %q, known %t; a hung neighbour must not matter", id, ok)
		}

		// As long as it hangs, it is neither asked again nor waited for.
		began = time.Now()
		snapshot = o.Round(t.Context(), Want{})
		if d := time.Since(began); d != 0 {
			t.Errorf("the second round waited %s for a read known to hang", d)
		}
		wantCause(t, snapshot.Holder.Cause(), "has not come back")

		close(end)
		synctest.Wait()
		snapshot = o.Round(t.Context(), Want{})
		wantCause(t, snapshot.Holder.Cause(), "came back too late")
		closed(t, o)
	})
}

func TestACancelledRoundEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s := healthy()
		s.brokers.metadata = hangs[facts.Metadata](end)
		o := newObserver(threeAndThree(), Deps{}, s)
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()
		began := time.Now()
		snapshot := o.Round(ctx, Want{})
		if d := time.Since(began); d != 100*time.Millisecond {
			t.Errorf("the round went on for %s", d)
		}
		wantCause(t, snapshot.Metadata.Cause(), "cut short")
		close(end)
		closed(t, o)
	})
}

func TestCloseNamesWhatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		s := healthy()
		s.zk.clusterID = hangs[string](end)
		o := newObserver(threeAndThree(), Deps{}, s)
		o.Round(t.Context(), Want{})
		err := o.Close()
		if err == nil || !strings.Contains(err.Error(), "znode /cluster/id") {
			t.Errorf("Close said %v, want the name of the read that hangs", err)
		}
		snapshot := o.Round(t.Context(), Want{})
		if snapshot.ZKEpoch.Known() {
			t.Error("a closed observer still reads")
		}
		close(end)
	})
}

func TestCloseEndsAScanThatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		s.zk.topics = slow(facts.ZKTopics{}, 20*time.Second, &asked)
		o := newObserver(threeAndThree(), Deps{}, s)
		o.Round(t.Context(), Want{Topics: true})
		began := time.Now()
		closed(t, o)
		if d := time.Since(began); d != 0 {
			t.Errorf("Close waited %s for a scan that ends when told to", d)
		}
	})
}

func TestTheFirstRoundAsksBrokersWhereItsOwnMetadataFindsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		md, _ := s.brokers.metadata(t.Context())
		s.brokers.metadata = slow(md, time.Second, &asked)
		s.zk.registered = fails[[]facts.Registration]("no session")
		o := newObserver(threeAndThree(), Deps{}, s)
		for id, f := range o.Round(t.Context(), Want{}).API {
			if !f.Known() {
				t.Errorf("broker %d: %s", id, f.Cause())
			}
		}
		closed(t, o)
	})
}

func TestABrokerThatLeftMetadataIsAskedWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := healthy()
		all, _ := s.brokers.metadata(t.Context())
		var gone atomic.Bool
		s.brokers.metadata = func(context.Context) (facts.Metadata, error) {
			if gone.Load() {
				return facts.Metadata{ClusterID: "abc", Brokers: all.Brokers[:1]}, nil
			}
			return all, nil
		}
		s.brokers.api = func(_ context.Context, id int32, address string) (facts.API, error) {
			if id == 2 && gone.Load() {
				return facts.API{}, errors.New("dial " + address + ": connection refused")
			}
			return facts.API{UpdateMetadata: true}, nil
		}
		o := newObserver(threeAndThree(), Deps{}, s)
		o.Round(t.Context(), Want{})
		gone.Store(true)
		snapshot := o.Round(t.Context(), Want{})
		wantCause(t, snapshot.API[2].Cause(), "dial h:9002: connection refused")
		if got, want := snapshot.API[2].Source(), "ApiVersions of broker 2 at h:9002"; got != want {
			t.Errorf("source %q, want %q", got, want)
		}
		if !snapshot.API[3].Known() {
			t.Errorf("broker 3 lives but is unknown: %s", snapshot.API[3].Cause())
		}
		closed(t, o)
	})
}

func TestABrokerThatOnlyZooKeeperKnowsIsAskedWhereItRegistered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := healthy()
		s.brokers.metadata = fails[facts.Metadata]("all brokers refuse")
		o := newObserver(threeAndThree(), Deps{}, s)
		o.Round(t.Context(), Want{})
		f := o.Round(t.Context(), Want{}).API[1]
		if got, want := f.Source(), "ApiVersions of broker 1 at h:9001"; !f.Known() || got != want {
			t.Errorf("known %t (%s), source %q, want %q", f.Known(), f.Cause(), got, want)
		}
		closed(t, o)
	})
}

func TestABrokerNobodyEverNamedIsUnknownWithTheReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := healthy()
		s.brokers.metadata = fails[facts.Metadata]("all brokers refuse")
		s.zk.registered = fails[[]facts.Registration]("no session")
		o := newObserver(threeAndThree(), Deps{}, s)
		snapshot := o.Round(t.Context(), Want{})
		wantCause(t, snapshot.API[1].Cause(), "address is not known")
		closed(t, o)
	})
}

func TestTheLogNeedsExactlyOneLeader(t *testing.T) {
	type quorum = func(ctx context.Context, id int32) (facts.Quorum, error)
	leads := func(ids ...int32) quorum {
		return func(_ context.Context, id int32) (facts.Quorum, error) {
			for _, l := range ids {
				if l == id {
					return facts.Quorum{IsLeader: true, Leader: id, HasLeader: true, Epoch: 4}, nil
				}
			}
			return facts.Quorum{}, nil
		}
	}
	for _, test := range []struct {
		name   string
		quorum quorum
		cause  string // empty: the log is known
	}{
		{"one leads", leads(3001), ""},
		{"nobody leads", leads(), "no controller says it leads"},
		{"two lead, one of them deposed without knowing", leads(3001, 3002), "more than one controller"},
		{"all are down", func(context.Context, int32) (facts.Quorum, error) {
			return facts.Quorum{}, errors.New("connection refused")
		}, "connection refused"},
		{"one hangs and one leads", func(ctx context.Context, id int32) (facts.Quorum, error) {
			if id == 3003 {
				<-ctx.Done()
				return facts.Quorum{}, ctx.Err()
			}
			return leads(3001)(ctx, id)
		}, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := healthy()
				s.controllers.quorum = test.quorum
				o := newObserver(threeAndThree(), Deps{}, s)
				snapshot := o.Round(t.Context(), Want{Log: true})
				if test.cause == "" && !snapshot.Log.Known() {
					t.Errorf("log unknown: %s", snapshot.Log.Cause())
				}
				if test.cause != "" {
					wantCause(t, snapshot.Log.Cause(), test.cause)
				}
				closed(t, o)
			})
		})
	}
}

func TestAScanOutlivesItsRoundAndIsReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		s.zk.topics = slow(facts.ZKTopics{Topics: map[string]facts.ZKTopic{"orders": {}}}, 3*time.Second, &asked)
		o := newObserver(threeAndThree(), Deps{}, s)
		began := time.Now()
		topics := func(at time.Duration, want Want) facts.Fact[facts.ZKTopics] {
			t.Helper()
			wait(t, time.Until(began.Add(at)))
			before := time.Now()
			f := o.Round(t.Context(), want).ZKTopics
			if d := time.Since(before); d != 0 {
				t.Errorf("the round at %s waited %s for a scan", at, d)
			}
			return f
		}
		wantCause(t, topics(0, Want{Topics: true}).Cause(), "first reading has not ended")
		for _, step := range []struct {
			at    time.Duration
			want  Want
			begun time.Duration // of the scan that is shown
			asked int
		}{
			{4 * time.Second, Want{Topics: true}, 0, 1},
			{9 * time.Second, Want{Topics: true}, 0, 1},
			{10 * time.Second, Want{Topics: true}, 0, 2},     // the second begins, the first is shown
			{12 * time.Second, Want{TopicsSoon: true}, 0, 2}, // never two at a time
			{14 * time.Second, Want{TopicsSoon: true}, 10 * time.Second, 3},
		} {
			f := topics(step.at, step.want)
			if !f.Known() || !f.Begun().Equal(began.Add(step.begun)) {
				t.Errorf("at %s: scan of %s (known %t), want that of %s", step.at, f.Begun().Sub(began), f.Known(), step.begun)
			}
			synctest.Wait()
			if asked != step.asked {
				t.Errorf("at %s: %d scans begun, want %d", step.at, asked, step.asked)
			}
		}
		wait(t, 4*time.Second) // the third has ended; the next is due at 24 s
		o.MarkTopics()
		topics(18*time.Second, Want{Topics: true})
		synctest.Wait()
		if asked != 4 {
			t.Errorf("after MarkTopics %d scans were begun, want a fourth at once", asked)
		}
		closed(t, o)
	})
}

func TestMinISRIsKeptForAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		s.brokers.minISR = slow(map[string]int{"orders": 2}, time.Second, &asked)
		o := newObserver(threeAndThree(), Deps{}, s)
		for range 59 {
			if f := o.Round(t.Context(), Want{MinISR: true}).MinISR; !f.Known() {
				t.Fatalf("unknown: %s", f.Cause())
			}
			wait(t, time.Second)
		}
		if asked != 1 {
			t.Errorf("asked %d times within a minute", asked)
		}
		wait(t, time.Second)
		o.Round(t.Context(), Want{MinISR: true})
		synctest.Wait()
		if asked != 2 {
			t.Errorf("asked %d times after a minute, want 2", asked)
		}
		closed(t, o)
	})
}

func TestMinISRIsReadAgainSoonAfterAFailureOrForANewTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := healthy()
		s.brokers.minISR = fails[map[string]int]("all brokers refuse")
		o := newObserver(threeAndThree(), Deps{}, s)
		wantCause(t, o.Round(t.Context(), Want{MinISR: true}).MinISR.Cause(), "all brokers refuse")

		o.sources.brokers.minISR = says(map[string]int{"orders": 2})
		wait(t, retryEvery)
		o.Round(t.Context(), Want{MinISR: true})
		synctest.Wait()
		if f := o.Round(t.Context(), Want{MinISR: true}).MinISR; !f.Known() {
			t.Errorf("a failure is kept: %s", f.Cause())
		}

		o.sources.brokers.metadata = says(facts.Metadata{Partitions: []facts.Partition{{Topic: "orders"}, {Topic: "new"}}})
		o.sources.brokers.minISR = says(map[string]int{"orders": 2, "new": 1})
		wait(t, retryEvery)
		for range 2 { // the first sees the new topic, the second asks
			o.Round(t.Context(), Want{MinISR: true})
			synctest.Wait()
		}
		if got, _ := o.Round(t.Context(), Want{MinISR: true}).MinISR.Get(); got["new"] != 1 {
			t.Errorf("min.insync.replicas %v lack the new topic", got)
		}
		closed(t, o)
	})
}

func TestATopicWhoseMinISRNobodyTellsIsNotAskedForInEveryRound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		s.brokers.metadata = says(facts.Metadata{Partitions: []facts.Partition{{Topic: "gone"}}})
		s.brokers.minISR = slow(map[string]int{}, 0, &asked)
		o := newObserver(threeAndThree(), Deps{}, s)
		for range 20 {
			o.Round(t.Context(), Want{MinISR: true})
			wait(t, 200*time.Millisecond)
		}
		if asked > 3 {
			t.Errorf("asked %d times in four seconds", asked)
		}
		closed(t, o)
	})
}

func TestRoundsTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked int
		s := healthy()
		s.zk.clusterID = slow("abc", time.Second, &asked)
		o := newObserver(threeAndThree(), Deps{}, s)
		known := make(chan bool, 2)
		for range 2 {
			go func() { known <- o.Round(t.Context(), Want{}).ClusterID.Known() }()
		}
		if !<-known || !<-known {
			t.Error("of two rounds at a time, one took the other's read for one that hangs")
		}
		closed(t, o)
	})
}

func TestTheRunningCommandIsReadByItsExitCode(t *testing.T) {
	for _, test := range []struct {
		name    string
		result  remote.Result
		running bool
		cause   string
	}{
		{"0 is running", remote.Result{}, true, ""},
		{"1 is not running", remote.Result{Exit: 1}, false, ""},
		{"3 is what systemctl says of a stopped unit", remote.Result{Exit: 3}, false, ""},
		{"4 is no such unit", remote.Result{Exit: 4}, false, ""},
		{"5 is no answer", remote.Result{Exit: 5, Stderr: "no bus\n"}, false, "is-running exited 5: no bus"},
		{"a signal is no answer", remote.Result{Exit: 137, Signal: "killed"}, false, "ended by killed"},
		{"127 is a command that does not exist", remote.Result{Exit: 127}, false, "exited 127"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := healthy()
			s.nodes.open = func(config.Access) (remote.Node, error) { return machine{result: test.result}, nil }
			o := newObserver(threeAndThree(), Deps{}, s)
			f := o.Round(t.Context(), Want{}).Running[1]
			running, ok := f.Get()
			if ok != (test.cause == "") || running != test.running {
				t.Errorf("running %t, known %t", running, ok)
			}
			if test.cause != "" {
				wantCause(t, f.Cause(), test.cause)
			}
			closed(t, o)
		})
	}
}

func TestAFileThatSaysNoModeStillHasItsHash(t *testing.T) {
	s := healthy()
	s.nodes.mode = func([]byte, cluster.Role) (cluster.Mode, error) { return "", errors.New("contradicts itself") }
	o := newObserver(threeAndThree(), Deps{}, s)
	f, ok := o.Round(t.Context(), Want{Files: true}).Files[1].Get()
	if !ok || !f.Exists || f.SHA256 != remote.Sum([]byte("node.id=1\n")) || f.Mode != "" {
		t.Errorf("known %t: exists %t, hash %s, mode %q", ok, f.Exists, f.SHA256, f.Mode)
	}
	closed(t, o)
}

// Several commands go to another machine for one answer, and kubectl connects
// anew for each.
func TestANodeOnAnotherMachineHasMoreTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := threeAndThree()
		m.Nodes[0].Access.Kind, m.Nodes[1].Access.Kind, m.Nodes[2].Access.Kind = "local", "wrapper", "ssh"
		var opened atomic.Int32
		s := healthy()
		s.nodes.open = func(config.Access) (remote.Node, error) { opened.Add(1); return farAway{}, nil }
		m.Nodes = m.Nodes[:3]
		o := newObserver(m, Deps{}, s)
		for range 2 {
			running := o.Round(t.Context(), Want{}).Running
			if running[1].Known() || !running[2].Known() || !running[3].Known() {
				t.Errorf("local %s, wrapper %s, ssh %s; want the first unknown", running[1].Cause(), running[2].Cause(), running[3].Cause())
			}
		}
		if opened.Load() != 3 {
			t.Errorf("the ways were opened %d times, want each once", opened.Load())
		}
		closed(t, o)
	})
}

// farAway answers after four seconds.
type farAway struct{ machine }

func (farAway) Run(context.Context, []string) (remote.Result, error) {
	timer := time.NewTimer(4 * time.Second)
	defer timer.Stop()
	<-timer.C
	return remote.Result{}, nil
}

func TestManyDeadNodesAreAskedNoMoreThanThirtyTwoAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := threeAndThree()
		for id := int32(100); id < 200; id++ {
			m.Nodes = append(m.Nodes, node(id, cluster.Broker))
		}
		var now, most atomic.Int32
		s := healthy()
		s.nodes.open = func(config.Access) (remote.Node, error) {
			if n := now.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer now.Add(-1)
			timer := time.NewTimer(time.Second)
			defer timer.Stop()
			<-timer.C
			return machine{}, nil
		}
		o := newObserver(m, Deps{}, s)
		snapshot := o.Round(t.Context(), Want{})
		for id, f := range snapshot.Running {
			if !f.Known() {
				t.Errorf("node %d: %s", id, f.Cause())
			}
		}
		if most.Load() != nodesAtOnce {
			t.Errorf("%d nodes were asked at once, want %d", most.Load(), nodesAtOnce)
		}
		closed(t, o)
	})
}

func wantCause(t *testing.T, cause, part string) {
	t.Helper()
	if !strings.Contains(cause, part) {
		t.Errorf("cause %q, want %q in it", cause, part)
	}
}

func closed(t *testing.T, o *Observer) {
	t.Helper()
	if err := o.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

// wait lets virtual time pass.
func wait(t *testing.T, d time.Duration) {
	t.Helper()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-t.Context().Done():
	}
}
