package noderead

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/remote"
)

func TestParseMeta(t *testing.T) {
	tests := []struct {
		name    string
		content string
		want    Meta
		wantErr bool
	}{
		{name: "a broker that began with ZooKeeper", content: "#\n#Mon Nov 30 06:59:44 UTC 2026\nbroker.id=1\nversion=0\ncluster.id=K57zafPiTKClNYsN0fyzqw\n",
			want: Meta{NodeID: ptr(int32(1)), ClusterID: ptr("K57zafPiTKClNYsN0fyzqw")}},
		{name: "after it ran in migration mode", content: "version=0\nbroker.id=0\ncluster.id=c\ndirectory.id=f2v14dVS9tgRuASkU6z-_g\n",
			want: Meta{NodeID: ptr(int32(0)), ClusterID: ptr("c"), DirectoryID: ptr("f2v14dVS9tgRuASkU6z-_g")}},
		{name: "a formatted controller", content: "version=1\r\nnode.id=3001\r\ncluster.id=c\r\n", want: Meta{Version: 1, NodeID: ptr(int32(3001)), ClusterID: ptr("c")}},
		{name: "no version means 0", content: "cluster.id=c", want: Meta{ClusterID: ptr("c")}},
		{name: "node.id does not count in version 0", content: "version=0\nnode.id=4\n", want: Meta{}},
		{name: "empty", content: "", want: Meta{}},
		{name: "unknown version", content: "version=2\n", wantErr: true},
		{name: "no number", content: "version=one\n", wantErr: true},
		{name: "negative id", content: "broker.id=-1\n", wantErr: true},
		{name: "id beyond a Kafka id", content: "broker.id=4294967297\n", wantErr: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := ParseMeta("/d", []byte(tt.content))
			if tt.wantErr {
				if err == nil {
					t.Fatalf("got %+v, want an error", got)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.want.Dir, tt.want.Exists = "/d", true
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestMetaPropertiesOfSeveralFolders(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	write(t, filepath.Join(a, "meta.properties"), "version=1\nnode.id=7\ncluster.id=c\n")
	got, err := MetaProperties(t.Context(), remote.NewLocal(), []string{a, b})
	if err != nil {
		t.Fatal(err)
	}
	want := []Meta{{Dir: a, Exists: true, Version: 1, NodeID: ptr(int32(7)), ClusterID: ptr("c")}, {Dir: b}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	write(t, filepath.Join(b, "meta.properties"), "version=9\n")
	if _, err := MetaProperties(t.Context(), remote.NewLocal(), []string{a, b}); err == nil {
		t.Error("a partial reading passed for a whole one")
	}
}

func TestProperties(t *testing.T) {
	path := filepath.Join(t.TempDir(), "server.properties")
	if _, _, err := Properties(t.Context(), remote.NewLocal(), path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want not exist", err)
	}
	write(t, path, "a=1\n")
	content, sum, err := Properties(t.Context(), remote.NewLocal(), path)
	if err != nil || string(content) != "a=1\n" || sum != remote.Sum([]byte("a=1\n")) {
		t.Errorf("%q %s %v", content, sum, err)
	}
}

func TestCleanShutdown(t *testing.T) {
	a, b := t.TempDir(), t.TempDir()
	mark := func(dir string) { write(t, filepath.Join(dir, ".kafka_cleanshutdown"), "{}") }
	ask := func(dirs ...string) [2]bool {
		clean, known, err := CleanShutdown(t.Context(), remote.NewLocal(), dirs)
		if known == (err != nil) {
			t.Errorf("known %v with error %v", known, err)
		}
		return [2]bool{clean, known}
	}
	if got := ask(a, b); got != [2]bool{false, true} {
		t.Errorf("no mark: %v", got)
	}
	mark(a)
	if got := ask(a, b); got != [2]bool{false, true} {
		t.Errorf("one of two marks: %v", got)
	}
	mark(b)
	if got := ask(a, b); got != [2]bool{true, true} {
		t.Errorf("both marks: %v", got)
	}
	if got := ask(); got != [2]bool{false, false} {
		t.Errorf("no folder: %v", got)
	}
	if err := os.RemoveAll(b); err != nil {
		t.Fatal(err)
	}
	if got := ask(a, b); got != [2]bool{false, false} {
		t.Errorf("a folder is gone: %v", got)
	}
}

func FuzzParseMeta(f *testing.F) {
	f.Add([]byte("version=1\nnode.id=3001\ncluster.id=c\n"))
	f.Add([]byte("=\n:\n#\n\x00=\xff"))
	f.Fuzz(func(t *testing.T, content []byte) {
		m, err := ParseMeta("/d", content)
		if err == nil && (m.Version < 0 || m.Version > 1) {
			t.Errorf("version %d", m.Version)
		}
	})
}

func ptr[T any](v T) *T { return &v }
