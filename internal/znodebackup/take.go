package znodebackup

import (
	"context"
	"io"

	"migrator/internal/zkread"
)

// Take writes the whole tree below the chroot as it is read; progress (may be
// nil) tells how many znodes are done of how many seen.
func Take(ctx context.Context, out io.Writer, tree *zkread.Reader, head Head, progress func(done, seen int)) (Summary, error) {
	w, err := NewWriter(out, head)
	if err != nil {
		return Summary{}, err
	}
	window, err := tree.Tree(ctx, "/", func(z zkread.Znode) error { return w.Add(FromTree(z)) }, progress)
	if err != nil {
		return Summary{}, err
	}
	return w.Finish(Tail{FromZxid: window.Begin, ToZxid: window.End, Moved: window.Moved, Moving: window.Moving})
}
