package remote

import (
	"bytes"
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Streams come in pieces of any length; half a mark at a piece's end passed for
// output once.
func TestMarksCutAnywhere(t *testing.T) {
	const mark = "K7QXMARKK7QX"
	stream := "Welcome\n" + mark + " began 4711\nout " + mark[:5] + " no mark\nlast" + mark + " ended 3\n late"
	for step := 1; step <= len(stream); step++ {
		var out bytes.Buffer
		var told []string
		m := newMarked(mark, &out, func(args []string) { told = append(told, strings.Join(args, " ")) })
		for rest := stream; rest != ""; {
			n := min(step, len(rest))
			if _, err := m.Write([]byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
		got := []string{string(m.noise.data), out.String(), strings.Join(told, "|")}
		want := []string{"Welcome\n", "out " + mark[:5] + " no mark\nlast late", "began 4711|ended 3"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("in pieces of %d:\n%s", step, diff)
		}
	}
}

func TestNothingInAnArgumentIsReadByTheLoginShell(t *testing.T) {
	hostile := []string{"a b", "$HOME", "`id`", "'", "''\\''", "a\nb", "-n", "*", "~", "!x", "\\", "", "ü\t", "a;b&c|d>e<f(g)"}
	for _, shell := range []string{"sh", "bash"} {
		for _, script := range []string{plainScript, relayScript} {
			argv := append([]string{"printf", "%s|"}, hostile...)
			out, err := exec.Command(shell, "-c", shellLine([]string{"env"}, script, "MARK", argv)).Output()
			if err != nil {
				t.Fatal(err)
			}
			want := "MARK\n" + strings.Join(hostile, "|") + "|"
			if diff := cmp.Diff(want, string(out)); diff != "" {
				t.Errorf("%s:\n%s", shell, diff)
			}
		}
	}
}
