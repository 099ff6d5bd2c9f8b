package remote

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	maxPath     = 4096 // bytes, as the kernel's PATH_MAX
	pathsAtOnce = 200  // of one stat
	statFormat  = "%f %s %d %i %u %g %Y %n"
	root        = "/."
)

// lookAll costs one command, unless a folder on the way is missing or closed.
// That stat exits 1 says little: a missing file and a container that is gone do
// the same. So it is asked for the folder of each path too, which shows only to
// who may enter it, and last for the root, which always shows where stat ran
// and its answer came whole.
func (a argvFiles) lookAll(ctx context.Context, paths []string) ([]entry, error) {
	seen := make([]entry, 0, len(paths))
	for part := range slices.Chunk(paths, pathsAtOnce) {
		asked := slices.Clone(part)
		for _, p := range part {
			if in := entered(path.Dir(p)); !slices.Contains(asked, in) {
				asked = append(asked, in)
			}
		}
		found, err := a.stat(ctx, asked)
		if err != nil {
			return nil, err
		}
		for _, p := range part {
			e, ok := found[p]
			if _, enter := found[entered(path.Dir(p))]; !ok && !enter {
				if e, err = a.unseen(ctx, p); err != nil {
					return nil, err
				}
			}
			seen = append(seen, e)
		}
	}
	return seen, nil
}

// entered is a folder as only those see it who may enter it.
func entered(dir string) string { return strings.TrimSuffix(dir, "/") + "/." }

// stat describes those of the paths that show.
func (a argvFiles) stat(ctx context.Context, paths []string) (map[string]entry, error) {
	for _, p := range paths {
		if !path.IsAbs(p) || strings.ContainsAny(p, "\n\x00") || len(p) >= maxPath {
			return nil, fmt.Errorf("%q is no absolute path in one line", plain(p))
		}
	}
	argv := append([]string{"stat", "-L", "-c", statFormat}, paths...)
	if !slices.Contains(paths, root) {
		argv = append(argv, root)
	}
	r, err := a.run(ctx, nil, int64(len(argv))*(maxPath+200), argv...)
	if err != nil {
		return nil, err
	}
	found := map[string]entry{}
	for line := range strings.Lines(string(r.stdout)) {
		name, e, err := parseStat(line)
		if err != nil {
			return nil, err
		}
		found[name] = e
	}
	if _, ok := found[root]; !ok {
		return nil, fmt.Errorf("the node does not answer: %w", failure("stat", r))
	}
	return found, nil
}

// unseen says why a path shows as little as its folder: a folder on the way is
// missing, then so is the path; or it may not be entered, or is no folder.
func (a argvFiles) unseen(ctx context.Context, at string) (entry, error) {
	var way []string
	for dir := path.Dir(at); dir != "/"; dir = path.Dir(dir) {
		way = append(way, dir, entered(dir))
	}
	found, err := a.stat(ctx, way)
	if err != nil {
		return entry{}, err
	}
	for dir := range ancestors(at) {
		if _, ok := found[entered(dir)]; ok || dir == "/" {
			continue
		}
		switch e, ok := found[dir]; {
		case !ok:
			return entry{}, nil
		case !e.mode.IsDir():
			return entry{err: fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)}, nil
		default:
			return entry{err: fmt.Errorf("%s may not be entered: %w", dir, fs.ErrPermission)}, nil
		}
	}
	return entry{}, errors.New("its folder came or became open this moment")
}

// ancestors are the folders on the way to a path, the root first.
func ancestors(at string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for i, c := range at {
			if c == '/' && i > 0 && !yield(at[:i]) {
				return
			}
		}
	}
}

func parseStat(line string) (name string, e entry, err error) {
	line, whole := strings.CutSuffix(line, "\n")
	fields := strings.SplitN(line, " ", 8)
	if strings.HasSuffix(line, "\r") {
		return "", e, errors.New("the way to the node gives its commands a terminal, which changes what they say: leave -t out")
	}
	if !whole || len(fields) != 8 {
		return "", e, fmt.Errorf("stat answers %q", plain(line))
	}
	mode, err := strconv.ParseUint(fields[0], 16, 32)
	if err != nil {
		return "", e, fmt.Errorf("stat answers %q", plain(line))
	}
	var n [6]int64
	for i := range n {
		v, err := strconv.ParseUint(fields[i+1], 10, 64)
		if err != nil {
			return "", e, fmt.Errorf("stat answers %q", plain(line))
		}
		n[i] = int64(v)
	}
	return fields[7], entry{exists: true, mode: fileMode(uint32(mode)), size: n[0], device: uint64(n[1]), inode: uint64(n[2]),
		uid: int(n[3]), gid: int(n[4]), mtime: time.Unix(n[5], 0)}, nil
}

// fileMode translates st_mode, as os.Stat does.
func fileMode(mode uint32) fs.FileMode {
	out := fs.FileMode(mode & 0o777)
	switch mode & syscall.S_IFMT {
	case syscall.S_IFREG:
	case syscall.S_IFDIR:
		out |= fs.ModeDir
	case syscall.S_IFIFO:
		out |= fs.ModeNamedPipe
	case syscall.S_IFSOCK:
		out |= fs.ModeSocket
	case syscall.S_IFCHR:
		out |= fs.ModeDevice | fs.ModeCharDevice
	case syscall.S_IFBLK:
		out |= fs.ModeDevice
	default:
		out |= fs.ModeIrregular
	}
	return out
}
