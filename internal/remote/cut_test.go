package remote

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// errCut is a way to a node that broke: whether the command ran is unknown.
var errCut = errors.New("the connection broke")

// cut is how the command at which a way breaks ends, and whether all later ones
// end so too.
type cut struct {
	name  string
	stays bool
	end   func(run ran, stdin []byte) (execResult, error)
}

// ran is a command of which only its standard input may still be changed.
type ran func(stdin []byte) execResult

var cuts = []cut{
	{"not run, and no answer", true, func(ran, []byte) (execResult, error) { return execResult{}, errCut }},
	{"run, and no answer", true, func(run ran, stdin []byte) (execResult, error) {
		run(stdin)
		return execResult{}, errCut
	}},
	{"run, no answer, and the way is back", false, func(run ran, stdin []byte) (execResult, error) {
		run(stdin)
		return execResult{}, errCut
	}},
	{"half of standard input, and no answer", true, func(run ran, stdin []byte) (execResult, error) {
		run(stdin[:len(stdin)/2])
		return execResult{}, errCut
	}},
	{"half of standard input, unnoticed", false, func(run ran, stdin []byte) (execResult, error) {
		return run(stdin[:len(stdin)/2]), nil
	}},
	{"half of standard output, unnoticed", false, func(run ran, stdin []byte) (execResult, error) {
		r := run(stdin)
		r.stdout = r.stdout[:len(r.stdout)/2]
		return r, nil
	}},
	{"not run, exit 1 and nothing said", false, func(ran, []byte) (execResult, error) { return execResult{exit: 1}, nil }},
	{"run, exit 1 and nothing said", false, func(run ran, stdin []byte) (execResult, error) {
		run(stdin)
		return execResult{exit: 1}, nil
	}},
	{"not run, exit 1 and nothing said, from then on", true, func(ran, []byte) (execResult, error) { return execResult{exit: 1}, nil }},
}

// A write of which any single command is cut off leaves the old file or the new
// one, whole, and can be done again.
func TestAWriteCutOffAtEachCommand(t *testing.T) {
	t.Parallel()
	for _, present := range []string{"", "a=1\n"} {
		for _, cut := range cuts {
			for at := 0; ; at++ {
				name := fmt.Sprintf("%q, cut at command %d: %s", present, at, cut.name)
				if cutWrite(t, name, present, at, cut) {
					break
				}
			}
		}
	}
}

// cutWrite says whether the write had fewer commands than the cut is at.
func cutWrite(t *testing.T, name, present string, at int, cut cut) bool {
	const after = "a=2\nand more\n"
	path := filepath.Join(t.TempDir(), "server.properties")
	options := WriteOptions{Expect: Expect{Absent: true}}
	if present != "" {
		put(t, path, present, 0o604)
		options = WriteOptions{Expect: Expect{SHA256: Sum([]byte(present))}}
	}
	reached, back := false, false
	c := &tools{fault: func(nth int, run ran, stdin []byte) (execResult, error) {
		if back || nth < at || nth > at && !cut.stays {
			return run(stdin), nil
		}
		reached = true
		return cut.end(run, stdin)
	}}
	node := operations[argvFiles]{argvFiles{on: c}}
	err := node.WriteFile(t.Context(), path, []byte(after), options)
	if !reached {
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return true
	}
	got, _ := os.ReadFile(path) // none is ""
	switch {
	case string(got) != present && string(got) != after:
		t.Fatalf("%s: torn: %q", name, got)
	case err == nil && string(got) != after:
		t.Fatalf("%s: no error, and the file is %q", name, got)
	case err != nil && string(got) == after && !errors.Is(err, ErrInDoubt):
		t.Fatalf("%s: the file is new, and the error does not say that it may be: %v", name, err)
	}
	var changed *ChangedError
	if errors.As(err, &changed) {
		t.Fatalf("%s: nobody changed it: %v", name, err)
	}
	back = true
	if string(got) == present {
		if err := node.WriteFile(t.Context(), path, []byte(after), options); err != nil {
			t.Fatalf("%s: again: %v", name, err)
		}
		wantsWhole(t, path, after)
	}
	if present != "" {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o604 {
			t.Fatalf("%s: mode %v, %v", name, info.Mode(), err)
		}
		if kept, err := os.ReadFile(BackupPath(path, Sum([]byte(present)))); err != nil || string(kept) != present {
			t.Fatalf("%s: kept %q, %v", name, kept, err)
		}
	}
	return false
}

// A log of which any single command is cut off comes whole all the same, each
// line once and in order: never a line of long ago as if it were new.
func TestALogCutOffAtEachCommand(t *testing.T) {
	t.Parallel()
	for _, story := range []string{"grows", "is renamed"} {
		for _, cut := range cuts {
			for at := 0; ; at++ {
				name := fmt.Sprintf("%s, cut at command %d: %s", story, at, cut.name)
				if cutTail(t, name, story == "is renamed", at, cut) {
					break
				}
			}
		}
	}
}

func cutTail(t *testing.T, name string, renamed bool, at int, cut cut) bool {
	path := filepath.Join(t.TempDir(), "server.log")
	first, then := strings.Repeat("one line of long ago\n", 50), strings.Repeat("and a new one\n", 40)
	put(t, path, first, 0o600)
	c := &tools{}
	node := operations[argvFiles]{argvFiles{on: c}}
	tailed, err := node.Tail(t.Context(), path, Cursor{FromEnd: true})
	if err != nil {
		t.Fatal(err)
	}
	if renamed {
		put(t, path, first+then, 0o600)
		if err := os.Rename(path, path+".1"); err != nil {
			t.Fatal(err)
		}
		put(t, path, "the newest\n", 0o600)
		then += "the newest\n"
	} else {
		put(t, path, first+then, 0o600)
	}
	reached := false
	c.calls = nil
	c.fault = func(nth int, run ran, stdin []byte) (execResult, error) {
		if nth < at || nth > at && !cut.stays {
			return run(stdin), nil
		}
		reached = true
		return cut.end(run, stdin)
	}
	got := ""
	for {
		tailed, err = node.Tail(t.Context(), path, tailed.Next)
		if tailed.Truncated || tailed.Lost || tailed.Cut {
			t.Fatalf("%s: told a gap: %+v", name, tailed)
		}
		got += string(tailed.Data)
		if err != nil {
			c.fault = nil
		} else if !tailed.More {
			break
		}
	}
	c.fault = nil
	if tailed, err = node.Tail(t.Context(), path, tailed.Next); err != nil {
		t.Fatalf("%s: at last: %v", name, err)
	}
	if got += string(tailed.Data); got != then {
		t.Fatalf("%s: %d bytes, want %d: %q", name, len(got), len(then), got)
	}
	return !reached
}
