package configgen

// lineReader cuts a file into logical lines by the rules of
// java.util.Properties.load: \n, \r and \r\n end a line, an odd number of
// backslashes continues it, and comments never continue.
type lineReader struct {
	raw []byte
	off int
}

// logicalLine is one entry's text without terminators, continuation
// backslashes and leading blanks, with the raw offset of each character.
type logicalLine struct {
	chars []byte
	at    []int
	start int // of the first physical line
	stop  int // where the content ends
	end   int // after the terminator
	open  int // a backslash that continues into nothing
}

func (l *logicalLine) add(c byte, at int) {
	l.chars = append(l.chars, c)
	l.at = append(l.at, at)
}

// drop removes the trailing backslash and answers where it was.
func (l *logicalLine) drop() int {
	last := len(l.chars) - 1
	at := l.at[last]
	l.chars, l.at = l.chars[:last], l.at[:last]
	return at
}

func (r *lineReader) next() (logicalLine, bool) {
	l := logicalLine{open: noBackslash}
	skipBlanks, continued, backslash := true, false, false
	lineStart, cut := r.off, noBackslash
	for r.off < len(r.raw) {
		pos, c := r.off, r.raw[r.off]
		r.off++
		if skipBlanks {
			if isBlank(c) {
				continue
			}
			if !continued && isEOL(c) {
				lineStart = r.off
				continue
			}
			skipBlanks, continued = false, false
		}
		if len(l.chars) == 0 && (c == '#' || c == '!') {
			r.skipComment()
			skipBlanks, lineStart = true, r.off
			continue
		}
		if !isEOL(c) {
			if len(l.chars) == 0 {
				l.start = lineStart
			}
			l.add(c, pos)
			backslash = c == '\\' && !backslash
			continue
		}
		if len(l.chars) == 0 {
			// After a line that was only a backslash Java again accepts
			// blank lines and comments.
			skipBlanks, lineStart = true, r.off
			continue
		}
		last := r.off == len(r.raw)
		if c == '\r' && r.off < len(r.raw) && r.raw[r.off] == '\n' {
			r.off++
		}
		if !backslash || last {
			return r.finish(l, pos, backslash), true
		}
		cut = l.drop()
		skipBlanks, continued, backslash = true, true, false
		if r.off == len(r.raw) && len(l.chars) > 0 {
			l.open, l.stop, l.end = cut, cut+1, r.off
			return l, true
		}
	}
	if len(l.chars) == 0 {
		return logicalLine{}, false
	}
	return r.finish(l, len(r.raw), backslash), true
}

func (r *lineReader) finish(l logicalLine, stop int, backslash bool) logicalLine {
	if backslash {
		l.open = l.drop()
	}
	l.stop, l.end = stop, r.off
	return l
}

func (r *lineReader) skipComment() {
	for r.off < len(r.raw) {
		r.off++
		if isEOL(r.raw[r.off-1]) {
			return
		}
	}
}

// entry splits a logical line into key and value: the first unescaped =, : or
// blank ends the key, blanks around one = or : are skipped.
func (l logicalLine) entry() (Entry, error) {
	keyLen, backslash := 0, false
	for keyLen < len(l.chars) {
		c := l.chars[keyLen]
		if !backslash && (isSeparator(c) || isBlank(c)) {
			break
		}
		backslash = c == '\\' && !backslash
		keyLen++
	}
	valueAt, equals := keyLen, false
	for valueAt < len(l.chars) {
		c := l.chars[valueAt]
		if !isBlank(c) {
			if equals || !isSeparator(c) {
				break
			}
			equals = true
		}
		valueAt++
	}
	e := Entry{span: l.span(keyLen, valueAt)}
	e.span.equals = equals
	key, err := unescape(l.chars[:keyLen])
	if err != nil {
		return e, err
	}
	value, err := unescape(l.chars[valueAt:])
	if err != nil {
		return e, err
	}
	e.Key, e.Value = key, value
	return e, nil
}

func (l logicalLine) span(keyLen, valueAt int) span {
	content := l.stop
	if l.open != noBackslash {
		content = l.open
	}
	s := span{start: l.start, end: l.end, keyStart: content, keyEnd: content, valueStart: content, valueEnd: l.stop, open: l.open}
	if len(l.chars) > 0 {
		s.keyStart = l.at[0]
	}
	if keyLen > 0 {
		s.keyEnd = l.at[keyLen-1] + 1
	}
	if keyLen == 0 {
		s.keyEnd = s.keyStart
	}
	if valueAt < len(l.chars) {
		s.valueStart = l.at[valueAt]
	}
	s.bare = keyLen == len(l.chars)
	return s
}

// lineCounter turns rising offsets into 1-based line numbers.
type lineCounter struct {
	raw  []byte
	off  int
	line int
}

func (c *lineCounter) at(off int) int {
	for ; c.off < off; c.off++ {
		if endsLine(c.raw, c.off) {
			c.line++
		}
	}
	return c.line
}

// endsLine says whether the byte at off is the last of a terminator.
func endsLine(raw []byte, off int) bool {
	if raw[off] == '\n' {
		return true
	}
	return raw[off] == '\r' && (off+1 == len(raw) || raw[off+1] != '\n')
}

func isBlank(c byte) bool     { return c == ' ' || c == '\t' || c == '\f' }
func isEOL(c byte) bool       { return c == '\n' || c == '\r' }
func isSeparator(c byte) bool { return c == '=' || c == ':' }
