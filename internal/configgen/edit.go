package configgen

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Set replaces the value of the entry that wins and nothing else of its line,
// where that means what is meant; else all after the key. It is an error when
// the key is absent.
func (d *Document) Set(key, value string) error {
	e, ok := d.winner(key)
	if !ok {
		return fmt.Errorf("set %s: the file has no such key", key)
	}
	if e.Value == value {
		return nil
	}
	if d.extend(e, value) {
		return nil
	}
	text := escapeValue(value, !e.span.equals && !e.span.bare)
	if e.span.bare {
		text = "=" + text
	}
	next := d.clone()
	if err := next.splice(e.span.valueStart, e.span.valueEnd, text); err != nil {
		return err
	}
	if got, _ := next.Value(key); got == value && len(next.entries) == len(d.entries) {
		*d = *next
		return nil
	}
	// The separator runs over a lone CR, and the LF after the value makes one
	// line end of both: the next line would become the value.
	return d.splice(e.span.keyEnd, e.span.valueEnd, "="+escapeValue(value, false))
}

// extend appends to a value that only grows, so that a list spread over
// several lines keeps its shape. It answers false where Java would read
// something else.
func (d *Document) extend(e Entry, value string) bool {
	tail, ok := strings.CutPrefix(value, e.Value)
	if !ok || e.Value == "" || e.span.open != noBackslash {
		return false
	}
	next := d.clone()
	if err := next.splice(e.span.valueEnd, e.span.valueEnd, escapeValue(tail, false)); err != nil {
		return false
	}
	if got, _ := next.Value(e.Key); got != value {
		return false
	}
	*d = *next
	return true
}

// Rename changes the key of the entry that wins; separator and value stay.
func (d *Document) Rename(key, to string) error {
	e, ok := d.winner(key)
	if !ok {
		return fmt.Errorf("rename %s: the file has no such key", key)
	}
	if to == "" {
		return fmt.Errorf("rename %s: the new key has no name", key)
	}
	return d.splice(e.span.keyStart, e.span.keyEnd, escapeKey(to))
}

// Remove deletes every entry of a key with its continuation lines; comments
// stay. It answers how many entries went.
func (d *Document) Remove(key string) (int, error) {
	var raw []byte
	n, kept := 0, 0
	for _, e := range d.entries {
		if e.Key == key {
			raw = append(raw, d.raw[kept:e.span.start]...)
			kept = e.span.end
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, d.replace(append(raw, d.raw[kept:]...))
}

// Append adds an entry at the end, with the line end the file mostly uses. It
// ends an unterminated last line first.
func (d *Document) Append(key, value string) error {
	nl := d.terminator()
	if err := d.closeLast(); err != nil {
		return err
	}
	raw := bytes.Clone(d.raw)
	if n := len(raw); n > 0 && !isEOL(raw[n-1]) {
		raw = append(raw, nl...)
	}
	raw = append(raw, escapeKey(key)+"="+escapeValue(value, false)+nl...)
	return d.replace(raw)
}

// closeLast drops backslashes that continue into nothing: the last line would
// swallow what is appended. Java drops them as well.
func (d *Document) closeLast() error {
	for len(d.entries) > 0 {
		at := d.entries[len(d.entries)-1].span.open
		if at == noBackslash {
			return nil
		}
		if err := d.splice(at, at+1, ""); err != nil {
			return err
		}
	}
	return nil
}

// terminator is the most frequent line end; \n when there is none or a tie.
func (d *Document) terminator() string {
	crlf := bytes.Count(d.raw, []byte("\r\n"))
	lf := bytes.Count(d.raw, []byte("\n")) - crlf
	cr := bytes.Count(d.raw, []byte("\r")) - crlf
	switch {
	case crlf > lf && crlf >= cr:
		return "\r\n"
	case cr > lf:
		return "\r"
	}
	return "\n"
}

func (d *Document) splice(start, end int, text string) error {
	return d.replace(slices.Concat(d.raw[:start], []byte(text), d.raw[end:]))
}

// replace parses anew: files are small, and offsets never go stale.
func (d *Document) replace(raw []byte) error {
	next, err := Parse(raw)
	if err != nil {
		return fmt.Errorf("edit properties: %w", err)
	}
	*d = *next
	return nil
}
