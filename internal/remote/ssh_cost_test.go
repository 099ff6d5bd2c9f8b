package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/remote/sshlink"
	"migrator/internal/remote/sshtest"
)

// BenchmarkWays is what one operation costs on this machine and through an sshd
// on it: `make bench` does not run it, docs/performance.md has its figures.
func BenchmarkWays(b *testing.B) {
	var pool sshlink.Pool
	b.Cleanup(pool.Close)
	server := sshtest.Start(b, "127.0.0.2")
	dir := b.TempDir()
	file, log := filepath.Join(dir, "server.properties"), filepath.Join(dir, "server.log")
	text := []byte(strings.Repeat("key=value\n", 200))
	for _, p := range []string{file, log} {
		if err := os.WriteFile(p, text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for _, way := range []struct {
		name string
		node Node
	}{{"local", &Local{Dir: filepath.Join(dir, "outputs")}}, {"ssh", newSSH(&pool, server.Access())}} {
		tailed, err := way.node.Tail(b.Context(), log, Cursor{})
		if err != nil {
			b.Fatal(err)
		}
		for _, op := range []struct {
			name string
			do   func() error
		}{
			{"running", func() error { _, err := way.node.Run(b.Context(), []string{"true"}); return err }},
			{"stat", func() error { _, err := way.node.Stat(b.Context(), file); return err }},
			{"read", func() error { _, err := way.node.ReadFile(b.Context(), file); return err }},
			{"idle tail", func() error { _, err := way.node.Tail(b.Context(), log, tailed.Next); return err }},
			{"write", func() error {
				return way.node.WriteFile(b.Context(), file, text, WriteOptions{Expect: Expect{SHA256: Sum(text)}})
			}},
		} {
			b.Run(way.name+"/"+op.name, func(b *testing.B) {
				for b.Loop() {
					if err := op.do(); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
