package znodebackup

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zstd"
)

// fill is how many bytes of lines make a block.
const fill = 1 << 20

// Writer writes one backup as it is read.
type Writer struct {
	out   io.Writer
	zip   *zstd.Encoder
	sum   hash.Hash
	lines bytes.Buffer
	end   endFrame
	whole Summary
}

// NewWriter writes the head's line; the rest follows as blocks get full.
func NewWriter(out io.Writer, head Head) (*Writer, error) {
	zip, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true))
	if err != nil {
		return nil, fmt.Errorf("write a backup: %w", err)
	}
	head.Format = Format
	w := &Writer{out: out, zip: zip, sum: sha256.New(), whole: Summary{Head: head}}
	return w, w.line(head)
}

// Add writes one znode.
func (w *Writer) Add(z Znode) error {
	w.whole.Znodes++
	if z.Unreadable != "" {
		w.whole.Unreadable++
	}
	if err := w.line(z); err != nil {
		return err
	}
	if w.lines.Len() < fill {
		return nil
	}
	return w.block()
}

// Finish writes the tail, whose counts it fills in, and the end. Without it the
// file is not whole and every reader says so.
func (w *Writer) Finish(t Tail) (Summary, error) {
	t.End, t.Znodes, t.Unreadable = true, w.whole.Znodes, w.whole.Unreadable
	w.whole.Tail = t
	if err := w.line(t); err != nil {
		return w.whole, err
	}
	if err := w.block(); err != nil {
		return w.whole, err
	}
	copy(w.end.sum[:], w.sum.Sum(nil))
	w.whole.SHA256 = fmt.Sprintf("%x", w.end.sum)
	err := w.write(w.end.encode())
	w.whole.Bytes = int64(w.end.size)
	return w.whole, err
}

func (w *Writer) line(v any) error {
	w.end.lines++
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	w.lines.Write(text)
	w.lines.WriteByte('\n')
	return nil
}

func (w *Writer) block() error {
	packed := w.zip.EncodeAll(w.lines.Bytes(), nil)
	w.lines.Reset()
	head := blockFrame{number: w.end.blocks, length: uint32(len(packed)), crc: crc32.Checksum(packed, table())}
	w.end.blocks++
	if err := w.write(head.encode()); err != nil {
		return err
	}
	return w.write(packed)
}

func (w *Writer) write(b []byte) error {
	w.sum.Write(b)
	w.end.size += uint64(len(b))
	if _, err := w.out.Write(b); err != nil {
		return fmt.Errorf("write a backup: %w", err)
	}
	return nil
}
