package noderead

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"migrator/internal/config"
	"migrator/internal/remote"
)

// keep puts a file and copies of earlier contents where a write leaves them.
func keep(t *testing.T, contents ...string) (remote.Node, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "broker.properties")
	for _, c := range contents {
		put(t, remote.BackupPath(path, remote.Sum([]byte(c))), c)
	}
	put(t, path, "broker.id=1\n")
	node, err := remote.Open(config.Access{Kind: "local"})
	if err != nil {
		t.Fatal(err)
	}
	return node, path
}

func put(t *testing.T, path, content string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func contentsOf(t *testing.T, node remote.Node, path string) []string {
	t.Helper()
	copies, err := Copies(t.Context(), node, path)
	if err != nil {
		t.Fatal(err)
	}
	out := []string{}
	for _, c := range copies {
		if remote.Sum(c.Content) != c.SHA256 {
			t.Errorf("%s: the hash is not that of the content", c.Path)
		}
		out = append(out, string(c.Content))
	}
	slices.Sort(out)
	return out
}

func TestWhatAWriteReplacedIsFoundBesideTheFile(t *testing.T) {
	node, path := keep(t, "a=1\n", "a=2\n")
	put(t, path+".bak", "a=3\n")
	put(t, filepath.Join(filepath.Dir(path), "other.properties.migrator-0123456789ab.bak"), "a=4\n")
	if got, want := contentsOf(t, node, path), []string{"a=1\n", "a=2\n"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// An edited copy would be given back as the file that was there.
func TestACopyThatWasChangedSinceDoesNotCount(t *testing.T) {
	node, path := keep(t)
	put(t, remote.BackupPath(path, remote.Sum([]byte("a=1\n"))), "a=1\nedited=by hand\n")
	if got := contentsOf(t, node, path); len(got) != 0 {
		t.Errorf("%q", got)
	}
}

// A write keeps its copy beside the file that a link leads to.
func TestCopiesOfALinkedFileLieBesideTheFileItself(t *testing.T) {
	node, path := keep(t, "a=1\n")
	link := filepath.Join(t.TempDir(), "linked.properties")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if got, want := contentsOf(t, node, link), []string{"a=1\n"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAFolderThatCannotBeReadIsNoAnswer(t *testing.T) {
	node, path := keep(t)
	if _, err := Copies(t.Context(), node, filepath.Join(filepath.Dir(path), "gone", "broker.properties")); err == nil {
		t.Error("nothing kept, although nobody could look")
	}
}
