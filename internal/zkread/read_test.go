package zkread_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/zkread"
	"migrator/internal/zkread/zkfake"
)

func server(t *testing.T) *zkfake.Server {
	t.Helper()
	s, err := zkfake.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func open(t *testing.T, connect string) *zkread.Reader {
	t.Helper()
	r, err := zkread.Open(connect, 6*time.Second, zkread.Login{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

func put(s *zkfake.Server, content map[string]string) {
	for path, text := range content {
		s.Put(path, []byte(text))
	}
}

func TestTheClusterIDIsReadBelowTheChroot(t *testing.T) {
	s := server(t)
	put(s, map[string]string{
		"/cluster/id":       `{"version":"1","id":"rootrootrootrootrootro"}`,
		"/kafka/cluster/id": `{"version":"1","id":"Some-id_of22characters"}`,
	})
	id, err := open(t, s.Addr()+"/kafka").ClusterID(t.Context())
	if err != nil || id != "Some-id_of22characters" {
		t.Fatalf("got %q, %v", id, err)
	}
	if s.Writes() != 0 {
		t.Errorf("a reader wrote %d times", s.Writes())
	}
}

func TestAMissingClusterIDSaysWhereAClusterIs(t *testing.T) {
	s := server(t)
	put(s, map[string]string{"/kafka/cluster/id": `{"version":"1","id":"Some-id_of22characters"}`})
	for name, chroot := range map[string]string{"no chroot": "", "a misspelt chroot": "/kafak"} {
		t.Run(name, func(t *testing.T) {
			_, err := open(t, s.Addr()+chroot).ClusterID(t.Context())
			if !errors.Is(err, zkread.ErrNoClusterID) || !strings.Contains(err.Error(), chroot+"/cluster/id") || !strings.Contains(err.Error(), "a cluster is at /kafka") {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestAnAbsentZnodeIsAbsentAndNotZero(t *testing.T) {
	s := server(t)
	r, ctx := open(t, s.Addr()), t.Context()
	c, err1 := r.Controller(ctx)
	e, err2 := r.ControllerEpoch(ctx)
	m, err3 := r.Migration(ctx)
	_, present, err4 := r.TopicConfig(ctx, "t")
	pending, err5 := r.PendingDeletions(ctx)
	reassign, err6 := r.ReassignmentPending(ctx)
	if err := errors.Join(err1, err2, err3, err4, err5, err6); err != nil {
		t.Fatal(err)
	}
	if c.Present || e.Present || m.Present || present || len(pending) > 0 || reassign {
		t.Errorf("something absent shows as present: %v %v %v %v %v %v", c, e, m, present, pending, reassign)
	}
}

func TestAMarkOfATopicThatIsGoneIsNoPendingDeletion(t *testing.T) {
	s := server(t)
	s.Put("/admin/delete_topics/here", nil)
	s.Put("/admin/delete_topics/gone", nil)
	s.Put("/brokers/topics/here", nil)
	pending, err := open(t, s.Addr()).PendingDeletions(t.Context())
	if err != nil || !slices.Equal(pending, []string{"here"}) {
		t.Errorf("pending %v, %v; want here", pending, err)
	}
}

func TestWhoHoldsTheControllerZnode(t *testing.T) {
	for _, row := range []struct {
		name, text string
		ephemeral  bool
		kraft      bool
		epoch      *int32
	}{
		{"a broker that knows no KRaft", `{"version":1,"brokerid":3,"timestamp":"1"}`, true, false, nil},
		{"a broker in ZooKeeper mode", `{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":-1}`, true, false, new(int32(-1))},
		{"a KRaft controller", `{"version":2,"brokerid":3,"timestamp":"1","kraftControllerEpoch":5}`, false, true, new(int32(5))},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := server(t)
			if row.ephemeral {
				s.PutEphemeral("/controller", []byte(row.text))
			} else {
				s.Put("/controller", []byte(row.text))
			}
			c, err := open(t, s.Addr()).Controller(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if !c.Present || c.BrokerID != 3 || c.Ephemeral != row.ephemeral || c.HeldByKRaft() != row.kraft {
				t.Errorf("got %+v", c)
			}
			if diff := cmp.Diff(row.epoch, c.KRaftEpoch); diff != "" {
				t.Errorf("epoch (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheMigrationZnode(t *testing.T) {
	const ready = `{"version":0,"kraft_metadata_offset":-1,"kraft_controller_id":-1,"kraft_metadata_epoch":-1,"kraft_controller_epoch":-1}`
	for _, row := range []struct {
		name string
		data []byte
		want zkread.Migration
		says string
	}{
		{"before the copy all values are -1", []byte(ready), zkread.Migration{Present: true, ControllerID: -1, ControllerEpoch: -1, Offset: -1, MetadataEpoch: -1}, ""},
		{"without data it is null and not zero", nil, zkread.Migration{Present: true, Null: true}, ""},
		{"a missing field is a fault", []byte(`{"version":0}`), zkread.Migration{}, "missing"},
		{"another version is a fault", []byte(strings.Replace(ready, `"version":0`, `"version":1`, 1)), zkread.Migration{}, "version 1"},
		{"half a text is a fault", []byte(`{"version":`), zkread.Migration{}, "/migration"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := server(t)
			s.Put("/migration", row.data)
			m, err := open(t, s.Addr()).Migration(t.Context())
			m.ModifiedMs, m.Raw = 0, nil
			if diff := cmp.Diff(row.want, m); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if (err != nil) != (row.says != "") || err != nil && !strings.Contains(err.Error(), row.says) {
				t.Errorf("got error %v", err)
			}
		})
	}
}

func TestTheControllerEpochIsANumberOrAFault(t *testing.T) {
	s := server(t)
	s.Put("/controller_epoch", []byte("23"))
	e, err := open(t, s.Addr()).ControllerEpoch(t.Context())
	if err != nil || !e.Present || e.Value != 23 {
		t.Errorf("got %+v, %v", e, err)
	}
	s.Put("/controller_epoch", []byte(`{"epoch":23}`))
	if e, err := open(t, s.Addr()).ControllerEpoch(t.Context()); err == nil {
		t.Errorf("json was taken for an epoch: %+v", e)
	}
}

func TestOneBadRegistrationDoesNotHideTheOthers(t *testing.T) {
	s := server(t)
	put(s, map[string]string{
		"/brokers/ids/2":    `{"version":5,"host":null,"port":-1,"endpoints":["SSL://b2:9093"],"rack":"b","listener_security_protocol_map":{"SSL":"SSL"},"features":{}}`,
		"/brokers/ids/1":    `{"version":5,"host":"b1","port":9092,"endpoints":["PLAINTEXT://b1:9092"],"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"}}`,
		"/brokers/ids/x":    `{}`,
		"/brokers/ids/1001": `{`,
	})
	got, err := open(t, s.Addr()).Brokers(t.Context())
	var partial *zkread.PartialError
	if !errors.As(err, &partial) || partial.Total != 2 || partial.Nodes[0].Path != "/brokers/ids/1001" {
		t.Errorf("want two faults, got %v", err)
	}
	for i := range got {
		got[i].Czxid = 0
	}
	want := []zkread.BrokerRegistration{
		{ID: 1, Host: "b1", Endpoints: []string{"PLAINTEXT://b1:9092"}, ListenerMap: map[string]string{"PLAINTEXT": "PLAINTEXT"}},
		{ID: 2, Rack: new("b"), Endpoints: []string{"SSL://b2:9093"}, ListenerMap: map[string]string{"SSL": "SSL"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAnUnreachableZooKeeperIsUnknownAndNotAbsent(t *testing.T) {
	s := server(t)
	r := open(t, s.Addr())
	s.Freeze(true)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	if _, err := r.Controller(ctx); !errors.Is(err, zkread.ErrUnreachable) || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	gone := server(t)
	addr := gone.Addr()
	gone.Close()
	if _, err := open(t, addr).ClusterID(t.Context()); !errors.Is(err, zkread.ErrUnreachable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("want the cause named, got %v", err)
	}
}

func TestAReadGoesOnAfterALostConnection(t *testing.T) {
	s := server(t)
	s.Put("/controller_epoch", []byte("1"))
	r := open(t, s.Addr())
	for range 3 {
		if _, err := r.ControllerEpoch(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Drop()
	}
}

func TestAHiddenZnodeIsNotAnAbsentOne(t *testing.T) {
	s := server(t)
	s.Put("/config/users/alice", []byte(`{"version":1,"config":{"SCRAM-SHA-256":"salt=s3cret"}}`))
	s.Hide("/config/users/alice")
	r := open(t, s.Addr())
	_, _, err := r.Config(t.Context(), zkread.UserConfigs, "alice")
	if !zkread.NotAllowed(err) {
		t.Errorf("got %v", err)
	}
	if _, err := r.Configs(t.Context(), zkread.UserConfigs); !zkread.NotAllowed(err) {
		t.Errorf("got %v", err)
	}
}
