// Package configgen renders the properties file of a node for a wanted mode.
//
// It edits, it does not print: a file is a lossless document in which comments,
// order, separators, escapes and line ends survive wherever nothing changes.
package configgen

import (
	"bytes"
	"fmt"
	"slices"
)

// maxFile bounds what is parsed, in bytes. Kafka's own sample file has 7 KiB.
const maxFile = 256 << 10

// Document is one .properties file, read as java.util.Properties reads it and
// kept byte for byte. The zero Document is an empty file.
type Document struct {
	raw     []byte
	entries []Entry
	last    map[string]int // the entry that wins, by key
}

// Entry is one key with its value, in file order; duplicates are all present.
type Entry struct {
	Key   string
	Value string
	Line  int // 1-based, of the key's first character
	span  span
}

// span holds offsets into the raw bytes.
type span struct {
	start, end           int // the whole logical line with its terminator
	keyStart, keyEnd     int
	valueStart, valueEnd int
	bare                 bool // nothing between key and value
	equals               bool // the separator has a = or :
	open                 int  // offset of a backslash that continues into nothing, or noBackslash
}

const noBackslash = -1

// Parse reads a file. It refuses what Java refuses, a malformed \u escape, with
// the line; it never quotes values, which may be secrets.
func Parse(file []byte) (*Document, error) {
	if len(file) > maxFile {
		return nil, fmt.Errorf("properties file has %d bytes, more than the %d this program reads", len(file), maxFile)
	}
	d := &Document{raw: bytes.Clone(file), last: map[string]int{}}
	r := lineReader{raw: d.raw}
	lines := lineCounter{raw: d.raw, line: 1}
	for {
		l, ok := r.next()
		if !ok {
			return d, nil
		}
		e, err := l.entry()
		e.Line = lines.at(e.span.keyStart)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", e.Line, err)
		}
		d.last[e.Key] = len(d.entries)
		d.entries = append(d.entries, e)
	}
}

// Bytes returns the file exactly as read, plus the edits made.
func (d *Document) Bytes() []byte { return bytes.Clone(d.raw) }

// clone shares what edits never change in place.
func (d *Document) clone() *Document {
	c := *d
	return &c
}

// Value is what Java would answer: the last duplicate wins.
func (d *Document) Value(key string) (string, bool) {
	e, ok := d.winner(key)
	return e.Value, ok
}

// Line is the 1-based line of the entry that wins.
func (d *Document) Line(key string) (int, bool) {
	e, ok := d.winner(key)
	return e.Line, ok
}

// Keys returns each key once, in order of first appearance.
func (d *Document) Keys() []string {
	var keys []string
	seen := map[string]bool{}
	for _, e := range d.entries {
		if !seen[e.Key] {
			seen[e.Key] = true
			keys = append(keys, e.Key)
		}
	}
	return keys
}

// Entries returns all entries in file order, duplicates included.
func (d *Document) Entries() []Entry { return slices.Clone(d.entries) }

// Lines returns the lines of every entry of a key, in file order.
func (d *Document) Lines(key string) []int {
	var lines []int
	for _, e := range d.entries {
		if e.Key == key {
			lines = append(lines, e.Line)
		}
	}
	return lines
}

// HasBOM says whether the file begins with a UTF-8 byte order mark, which Java
// takes as part of the first key.
func (d *Document) HasBOM() bool { return bytes.HasPrefix(d.raw, []byte("\xef\xbb\xbf")) }

func (d *Document) winner(key string) (Entry, bool) {
	i, ok := d.last[key]
	if !ok {
		return Entry{}, false
	}
	return d.entries[i], true
}
