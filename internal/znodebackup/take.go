package znodebackup

import (
	"context"
	"io"
	"time"

	"migrator/internal/zkread"
)

// NewHead begins a backup of a cluster that is read from now on.
func NewHead(clusterID string) Head {
	return Head{ClusterID: clusterID, Begun: time.Now().UTC().Truncate(time.Second), Tool: "migrator"}
}

// TakeFile takes a backup into a file that Save makes.
func TakeFile(ctx context.Context, path string, recipients []string, tree *zkread.Reader, progress func(done, seen int)) (taken Summary, err error) {
	id, err := tree.ClusterID(ctx)
	if err != nil {
		return Summary{}, err
	}
	head := NewHead(id)
	err = Save(path, recipients, func(out io.Writer) error {
		taken, err = Take(ctx, out, tree, head, progress)
		return err
	})
	return taken, err
}

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
