package noderead

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"

	"migrator/internal/remote"
)

// Reader is what reading files of a node needs.
type Reader interface {
	ReadFile(ctx context.Context, path string) ([]byte, error)
	Stat(ctx context.Context, path string) (remote.Info, error)
}

// Properties returns a node's properties file with its hash in hex. Content
// may hold secrets. A missing file is fs.ErrNotExist.
func Properties(ctx context.Context, node Reader, path string) (content []byte, sha256 string, err error) {
	content, err = node.ReadFile(ctx, path)
	if err != nil {
		return nil, "", fmt.Errorf("read properties: %w", err)
	}
	return content, remote.Sum(content), nil
}

// Meta is meta.properties of one log folder. Version is 0 on brokers that
// began with ZooKeeper, for ever, and when the file names none; 1 on formatted
// folders. NodeID comes from broker.id in version 0. Nil means the key is absent.
type Meta struct {
	Dir         string
	Exists      bool
	Version     int
	ClusterID   *string
	NodeID      *int32
	DirectoryID *string
}

// MetaProperties reads meta.properties of each log folder. A folder without
// the file is an answer, a file that makes no sense an error.
func MetaProperties(ctx context.Context, node Reader, dirs []string) ([]Meta, error) {
	metas := make([]Meta, 0, len(dirs))
	for _, dir := range dirs {
		file := path.Join(dir, "meta.properties")
		content, err := node.ReadFile(ctx, file)
		if errors.Is(err, fs.ErrNotExist) {
			metas = append(metas, Meta{Dir: dir})
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read meta.properties: %w", err)
		}
		meta, err := ParseMeta(dir, content)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		metas = append(metas, meta)
	}
	return metas, nil
}

// ParseMeta understands one meta.properties. Unknown keys are ignored, an
// unknown version is an error.
func ParseMeta(dir string, content []byte) (Meta, error) {
	keys := pairs(string(content))
	meta := Meta{Dir: dir, Exists: true}
	if v, ok := keys["version"]; ok {
		n, err := strconv.Atoi(v)
		if err != nil || n < 0 || n > 1 {
			return Meta{}, fmt.Errorf("version %q is neither 0 nor 1", cut(clean([]byte(v)), 40))
		}
		meta.Version = n
	}
	idKey := "node.id"
	if meta.Version == 0 {
		idKey = "broker.id"
	}
	if v, ok := keys[idKey]; ok {
		n, err := strconv.ParseInt(v, 10, 32)
		if err != nil || n < 0 {
			return Meta{}, fmt.Errorf("%s %q is no node id", idKey, cut(clean([]byte(v)), 40))
		}
		id := int32(n)
		meta.NodeID = &id
	}
	meta.ClusterID = optional(keys, "cluster.id")
	meta.DirectoryID = optional(keys, "directory.id")
	return meta, nil
}

func optional(keys map[string]string, key string) *string {
	v, ok := keys[key]
	if !ok {
		return nil
	}
	v = cut(clean([]byte(v)), maxText)
	return &v
}

// pairs splits the few plain lines that Kafka itself writes; a full reader of
// properties files is not needed for them. The last of two equal keys counts.
func pairs(content string) map[string]string {
	keys := map[string]string{}
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == '!' {
			continue
		}
		if i := strings.IndexAny(line, "=:"); i >= 0 {
			keys[strings.TrimSpace(line[:i])] = strings.TrimSpace(line[i+1:])
		}
	}
	return keys
}

// CleanShutdown says whether every log folder carries the mark of a clean
// stop. A broker removes it at its start, so ask only while it is down;
// controllers never write it. Known is false when no folder was named or one
// cannot be read; the error then says why.
func CleanShutdown(ctx context.Context, node Reader, logDirs []string) (clean, known bool, err error) {
	if len(logDirs) == 0 {
		return false, false, errors.New("look for clean shutdown marks: no log folder is known")
	}
	for _, dir := range logDirs {
		folder, err := node.Stat(ctx, dir)
		if err != nil {
			return false, false, fmt.Errorf("look for clean shutdown marks: %w", err)
		}
		if !folder.Dir {
			return false, false, fmt.Errorf("look for clean shutdown marks: %s is no folder", dir)
		}
		mark, err := node.Stat(ctx, path.Join(dir, ".kafka_cleanshutdown"))
		if err != nil {
			return false, false, fmt.Errorf("look for clean shutdown marks: %w", err)
		}
		if !mark.Exists {
			return false, true, nil
		}
	}
	return true, true, nil
}
