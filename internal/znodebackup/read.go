package znodebackup

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"
)

// maxLines bounds what a block may unpack to, so that a damaged or hostile one
// does not take all memory.
const maxLines = 256 << 20

// Read proves a backup whole from its first to its last byte and hands each
// znode to visit (may be nil) on the way, before the end is proven: what visit
// was given counts only when Read returns no error. Damage is a *DamageError.
func Read(in io.Reader, visit func(Znode) error) (Summary, error) {
	zip, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxLines))
	if err != nil {
		return Summary{}, fmt.Errorf("read a backup: %w", err)
	}
	defer zip.Close()
	r := &reader{in: in, sum: sha256.New(), zip: zip, visit: visit}
	for {
		last, err := r.frame()
		if err != nil {
			return r.out, err
		}
		if last {
			return r.out, r.nothingMore()
		}
	}
}

type reader struct {
	in    io.Reader
	at    int64 // bytes taken
	sum   hash.Hash
	zip   *zstd.Decoder
	visit func(Znode) error
	got   endFrame
	last  string // path of the newest znode
	out   Summary
}

// take reads exactly n bytes.
func (r *reader) take(n int, of string) ([]byte, error) {
	var b bytes.Buffer
	got, err := io.CopyN(&b, r.in, int64(n)) // grows with what comes, not with what is promised
	r.at += got
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.damage(r.at, "the file ends within %s: it is cut off%s", of, r.behind())
	case err != nil:
		return nil, fmt.Errorf("read a backup: %w", err)
	}
	return b.Bytes(), nil
}

func (r *reader) behind() string {
	if r.last == "" {
		return ""
	}
	return " behind " + r.last
}

func (r *reader) damage(at int64, format string, args ...any) error {
	return &DamageError{At: at, What: fmt.Sprintf(format, args...)}
}

// frame reads one frame of ours, and the block behind it. last: it was the end.
func (r *reader) frame() (last bool, err error) {
	begin := r.at
	head, err := r.take(8, fmt.Sprintf("the head of block %d", r.got.blocks))
	if err != nil {
		return false, err
	}
	magic, size := binary.LittleEndian.Uint32(head), binary.LittleEndian.Uint32(head[4:])
	switch {
	case magic == blockMagic && size == blockBody:
		return false, r.block(begin, head)
	case magic == endMagic && size == endBody:
		return true, r.end(begin, head)
	case begin == 0:
		return false, r.damage(begin, "this is no backup of znodes (or its first bytes are damaged)")
	}
	return false, r.damage(begin, "the head of block %d is damaged%s", r.got.blocks, r.behind())
}

func (r *reader) block(begin int64, head []byte) error {
	rest, err := r.take(blockBody, fmt.Sprintf("the head of block %d", r.got.blocks))
	if err != nil {
		return err
	}
	frame := append(head, rest...)
	number, length, crc := binary.LittleEndian.Uint32(frame[8:]), binary.LittleEndian.Uint32(frame[12:]), binary.LittleEndian.Uint32(frame[16:])
	if !sealed(frame) || number != r.got.blocks || length > maxBlock {
		return r.damage(begin, "the head of block %d is damaged or out of order%s", r.got.blocks, r.behind())
	}
	packed, err := r.take(int(length), fmt.Sprintf("block %d", number))
	if err != nil {
		return err
	}
	if crc32.Checksum(packed, table()) != crc {
		return r.damage(begin, "block %d does not have its checksum: bits were changed%s", number, r.behind())
	}
	r.sum.Write(frame)
	r.sum.Write(packed)
	r.got.blocks++
	lines, err := r.zip.DecodeAll(packed, nil)
	if err != nil {
		return r.damage(begin, "block %d cannot be unpacked: %s", number, err)
	}
	return r.lines(begin, lines)
}

func (r *reader) lines(begin int64, text []byte) error {
	for line := range bytes.Lines(text) {
		r.got.lines++
		if err := r.line(line); err != nil {
			var damaged *DamageError
			if errors.As(err, &damaged) {
				damaged.At = begin
			}
			return err
		}
	}
	return nil
}

func (r *reader) line(line []byte) error {
	switch {
	case r.got.lines == 1:
		if err := json.Unmarshal(line, &r.out.Head); err != nil || r.out.Format != Format {
			return r.damage(0, "its first line is no head of a backup that this version reads (%s)", Format)
		}
		return nil
	case r.out.End:
		return r.damage(0, "lines after the tail")
	case bytes.HasPrefix(line, []byte(`{"end":true,`)):
		if err := json.Unmarshal(line, &r.out.Tail); err != nil {
			return r.damage(0, "its last line is no tail: %s", err)
		}
		return nil
	}
	var z Znode
	if err := json.Unmarshal(line, &z); err != nil || !strings.HasPrefix(z.Path, "/") {
		return r.damage(0, "line %d is no znode%s", r.got.lines, r.behind())
	}
	r.last = z.Path
	if r.visit == nil {
		return nil
	}
	return r.visit(z)
}

func (r *reader) end(begin int64, head []byte) error {
	rest, err := r.take(endBody, "its last frame")
	if err != nil {
		return err
	}
	frame := append(head, rest...)
	sum := r.sum.Sum(nil)
	switch {
	case !sealed(frame):
		return r.damage(begin, "the last frame is damaged; all blocks before it are whole")
	case binary.LittleEndian.Uint32(frame[8:]) != r.got.blocks || binary.LittleEndian.Uint64(frame[12:]) != r.got.lines ||
		binary.LittleEndian.Uint64(frame[20:]) != uint64(begin) || !bytes.Equal(frame[28:60], sum):
		return r.damage(begin, "the last frame is of another file: blocks are missing or were exchanged")
	case !r.out.End:
		return r.damage(begin, "it has no tail: its writer did not end")
	}
	r.out.SHA256, r.out.Bytes = fmt.Sprintf("%x", sum), r.at
	return nil
}

func (r *reader) nothingMore() error {
	if _, err := io.ReadFull(r.in, make([]byte, 1)); !errors.Is(err, io.EOF) {
		if err != nil {
			return fmt.Errorf("read a backup: %w", err)
		}
		return r.damage(r.at, "bytes after the end")
	}
	return nil
}
