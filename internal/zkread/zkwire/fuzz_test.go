package zkwire

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"runtime/metrics"
	"sync/atomic"
	"testing"
	"time"
)

// FuzzAnswers: no answer, however hostile, makes the decoder panic or allocate
// far more than it has bytes.
func FuzzAnswers(f *testing.F) {
	good := encoder{}
	good.int32(opGetData)
	good.bool(false)
	good.int32(0)
	good.bytes([]byte("data"))
	good.b = append(good.b, make([]byte, 80)...)
	good.int32(-1)
	good.bool(false)
	good.int32(codeNoNode)
	good.int32(codeNoNode)
	f.Add(good.b)
	list := encoder{}
	list.int32(opGetChildren)
	list.bool(false)
	list.int32(0)
	list.int32(1 << 30)
	f.Add(list.b)
	f.Fuzz(func(t *testing.T, body []byte) {
		before := allocated()
		for _, kinds := range [][]Op{{{Data, "/a"}, {Data, "/b"}}, {{Children, "/a"}}} {
			if got, err := decodeMulti(body, kinds); err == nil && len(got) != len(kinds) {
				t.Errorf("%d answers to %d questions", len(got), len(kinds))
			}
		}
		for _, kind := range []Kind{Data, Children, Access} {
			_, _ = decodeSingle(body, kind) // only its memory and panics matter
		}
		if grown := allocated() - before; grown > uint64(64*len(body)+1<<20) {
			t.Errorf("%d bytes of answer took %d bytes of memory", len(body), grown)
		}
	})
}

// allocated is all memory ever taken, large pieces at once.
func allocated() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// FuzzFrames: whatever comes over the wire, a question ends.
func FuzzFrames(f *testing.F) {
	f.Add([]byte{0, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0})
	f.Add([]byte{0x3f, 0xff, 0xff, 0xff, 0, 0, 0, 1})
	f.Add([]byte{0xff, 0xff, 0xff, 0xff})
	f.Fuzz(func(t *testing.T, wire []byte) {
		mine, theirs := net.Pipe()
		c := newConn(mine, bufio.NewReader(mine), time.Minute, &atomic.Int64{})
		defer c.both.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		asked, err := c.ask(ctx, opGetData, func(e *encoder) { e.string("/") }, 1<<10)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, _ = theirs.Read(make([]byte, 64)) // the question
			_, _ = bytes.NewReader(wire).WriteTo(theirs)
			_ = theirs.Close()
		}()
		if r, err := c.wait(ctx, asked); err == nil && len(r.body) > len(wire) {
			t.Errorf("an answer of %d bytes out of %d", len(r.body), len(wire))
		}
		if ctx.Err() != nil {
			t.Error("the question did not end")
		}
	})
}
