package remote

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"syscall"
	"unicode"
)

// whyUnwritten finds the cause of a write that failed at a path in a way that
// holds in every language; the complaint itself stands beside it. Need is how
// many bytes should have gone there.
func (a argvFiles) whyUnwritten(ctx context.Context, at string, need int, complaint error) error {
	dir := path.Dir(at)
	folder, err := lookAt(ctx, a, dir)
	switch {
	case err != nil:
		return fmt.Errorf("%w: %w", complaint, err)
	case !folder.exists:
		return fmt.Errorf("folder %s: %w", dir, fs.ErrNotExist)
	case !folder.mode.IsDir():
		return fmt.Errorf("%s: %w", dir, syscall.ENOTDIR)
	case a.readOnly(ctx, dir):
		return fmt.Errorf("%w: %w", syscall.EROFS, complaint)
	case a.full(ctx, dir, need):
		return fmt.Errorf("%w: %w", syscall.ENOSPC, complaint)
	case !a.may(ctx, "-w", dir):
		return fmt.Errorf("%w: %w", fs.ErrPermission, complaint)
	}
	return complaint
}

// readOnly reads the options of the mount that holds the folder: the last one
// of the longest path, as later mounts cover earlier ones.
func (a argvFiles) readOnly(ctx context.Context, dir string) bool {
	r, err := a.run(ctx, nil, MaxTail, "cat", "/proc/mounts")
	if err != nil || r.exit != 0 {
		return false
	}
	longest, readOnly := "", false
	for line := range strings.Lines(string(r.stdout)) {
		f := strings.Fields(line)
		if len(f) < 4 {
			continue
		}
		point := spaces.Replace(f[1])
		if strings.HasPrefix(dir+"/", strings.TrimSuffix(point, "/")+"/") && len(point) >= len(longest) {
			longest, readOnly = point, strings.HasPrefix(f[3]+",", "ro,")
		}
	}
	return readOnly
}

// spaces are how the kernel writes them in /proc/mounts.
var spaces = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// full says that fewer bytes are free than were to be written. Some file
// systems need a block more for the name.
func (a argvFiles) full(ctx context.Context, dir string, need int) bool {
	r, err := a.run(ctx, nil, MaxOutput, "df", "-P", "-k", dir)
	if err != nil || r.exit != 0 {
		return false
	}
	fields := strings.Fields(string(r.stdout))
	for i := len(fields) - 1; i > 0; i-- {
		if strings.HasSuffix(fields[i], "%") {
			free, err := strconv.ParseInt(fields[i-1], 10, 64)
			return err == nil && free*1024 < int64(need)+readBlock
		}
	}
	return false
}

// may asks for a permission of whoever runs the commands. Where it cannot be
// asked the complaint has to do: no is an answer only if the same question about
// the root is answered with yes.
func (a argvFiles) may(ctx context.Context, what, at string) bool {
	r, err := a.run(ctx, nil, maxPath, "test", what, at)
	if err != nil || r.exit != 1 {
		return true
	}
	r, err = a.run(ctx, nil, maxPath, "test", "-d", "/")
	return err != nil || r.exit != 0
}

// failure is a command that did not do what it should.
func failure(name string, r execResult) error {
	text := plain(r.stderr)
	if text == "" {
		return fmt.Errorf("%s exited %d and said nothing", name, r.exit)
	}
	return fmt.Errorf("%s exited %d: %s", name, r.exit, text)
}

// maxPlain is how much of a complaint is shown, in bytes.
const maxPlain = 300

// plain makes hostile text fit for a message: the last lines of it, as one.
func plain(text string) string {
	text = strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return ' '
	}, strings.ToValidUTF8(text, "\uFFFD"))
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > maxPlain {
		text = "... " + strings.ToValidUTF8(text[len(text)-maxPlain:], "")
	}
	return text
}
