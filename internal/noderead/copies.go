package noderead

import (
	"context"
	"fmt"
	"path"
	"strings"

	"migrator/internal/remote"
)

// Lister is what finding files of a node needs.
type Lister interface {
	Run(ctx context.Context, argv []string) (remote.Result, error)
	ReadFile(ctx context.Context, path string) ([]byte, error)
}

// Copy is a content that a write of ours replaced; it may hold secrets.
type Copy struct {
	Path    string
	SHA256  string
	Content []byte
}

// Copies returns what lies beside a node's properties file under the names of
// remote.BackupPath, in order of name. One whose name is not that of its
// content was changed since, and is left out.
func Copies(ctx context.Context, node Lister, properties string) ([]Copy, error) {
	target, err := resolve(ctx, node, properties)
	if err != nil {
		return nil, err
	}
	folder := path.Dir(target)
	listed, err := node.Run(ctx, []string{"ls", "-A", "--", folder})
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", folder, err)
	}
	if listed.Exit != 0 || listed.Truncated {
		return nil, fmt.Errorf("the names in %s cannot be read whole", folder)
	}
	copies := []Copy{}
	for _, name := range strings.Split(listed.Stdout, "\n") {
		if !strings.HasPrefix(name, path.Base(target)+".migrator-") || !strings.HasSuffix(name, ".bak") {
			continue
		}
		at := path.Join(folder, name)
		data, err := node.ReadFile(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("read a kept copy: %w", err)
		}
		if sha := remote.Sum(data); remote.BackupPath(target, sha) == at {
			copies = append(copies, Copy{Path: at, SHA256: sha, Content: data})
		}
	}
	return copies, nil
}

// resolve follows links as a write does: the copies lie beside the file itself.
func resolve(ctx context.Context, node Lister, properties string) (string, error) {
	got, err := node.Run(ctx, []string{"readlink", "-f", "--", properties})
	if err != nil {
		return "", fmt.Errorf("follow the links of %s: %w", properties, err)
	}
	target := strings.TrimSuffix(got.Stdout, "\n")
	if got.Exit != 0 || got.Truncated || !path.IsAbs(target) {
		return "", fmt.Errorf("the links of %s cannot be followed", properties)
	}
	return target, nil
}
