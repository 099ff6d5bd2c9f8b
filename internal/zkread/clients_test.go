package zkread

import (
	"fmt"
	"testing"
)

func TestConnectionsWithoutASessionAreNoClients(t *testing.T) {
	text := " /10.0.0.1:43312[1](queued=0,recved=12,sent=12,sid=0x10000a1b2c3d0001,lop=PING,est=1,to=18000)\n" +
		" /0:0:0:0:0:0:0:1:5000[1](queued=0,recved=1,sent=1,sid=0x2,lop=GETD)\n" +
		" /127.0.0.1:43313[0](queued=0,recved=1,sent=0)\n garbage [sid=0xzz\n /cut off[1](sid="
	got := fmt.Sprint(parseCons("zk1:2181", text))
	if want := "[{zk1:2181 10.0.0.1:43312 1152932616429436929} {zk1:2181 0:0:0:0:0:0:0:1:5000 2}]"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
