package zkread_test

import (
	"testing"

	"migrator/internal/zkread"
)

const srvr = "Zookeeper version: 3.8.4-9316c2a7a97e1666d8f4593f34dd6fc36ecc436c, built on 2024-02-12 22:16 UTC\n" +
	"Latency min/avg/max: 0/0.0/0\nReceived: 1\nMode: leader\nNode count: 5\n"

func TestWhatEachMemberSaysOfItself(t *testing.T) {
	for _, row := range []struct {
		name  string
		words map[string]string
		want  zkread.Server
		ro    *bool
	}{
		{"a leader that allows srvr only", map[string]string{"srvr": srvr}, zkread.Server{State: zkread.Serving, Mode: "leader", Version: "3.8.4"}, nil},
		{"a leader that tells all", map[string]string{"srvr": srvr, "isro": "rw"}, zkread.Server{State: zkread.Serving, Mode: "leader", Version: "3.8.4"}, new(false)},
		{"a member without a whitelist is neither up nor down", nil, zkread.Server{State: zkread.Unanswered}, nil},
		{"a member without a majority", map[string]string{"srvr": "This ZooKeeper instance is not currently serving requests\n"}, zkread.Server{State: zkread.NotServing}, nil},
		{"a member that answers nothing", map[string]string{"srvr": ""}, zkread.Server{State: zkread.Unanswered}, nil},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := server(t)
			for word, text := range row.words {
				s.Answer(word, text)
			}
			got, err := open(t, s.Addr()).Servers(t.Context())
			if err != nil || len(got) != 1 {
				t.Fatalf("got %v, %v", got, err)
			}
			one := got[0]
			if one.State != row.want.State || one.Mode != row.want.Mode || one.Version != row.want.Version || one.OK() == (one.Err != nil) {
				t.Errorf("got %+v", one)
			}
			if (one.ReadOnly == nil) != (row.ro == nil) || row.ro != nil && *one.ReadOnly != *row.ro {
				t.Errorf("read-only: got %v, want %v", one.ReadOnly, row.ro)
			}
		})
	}
}

func TestADeadMemberIsDownBesideALivingOne(t *testing.T) {
	s, dead := server(t), server(t)
	s.Answer("srvr", srvr)
	addr := dead.Addr()
	dead.Close()
	got, err := open(t, addr+","+s.Addr()+"/kafka").Servers(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got[0].Addr != addr || got[0].State != zkread.Down || got[1].State != zkread.Serving {
		t.Errorf("got %+v", got)
	}
}
