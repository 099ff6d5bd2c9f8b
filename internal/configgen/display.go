package configgen

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// display is the file as it may be shown: physical lines stay, secrets are
// redacted, line ends become \n and Latin-1 becomes UTF-8. Against an older
// document a secret with another value says that it changed.
func display(d, older *Document) string {
	hidden := hide(d, older)
	var b strings.Builder
	at := 0
	for _, e := range d.entries {
		b.WriteString(outside(string(d.raw[at:e.span.start])))
		text := hidden(e)
		b.WriteString(string(d.raw[e.span.start:e.span.valueStart]))
		b.WriteString(text)
		b.WriteString(string(d.raw[e.span.valueEnd:e.span.end]))
		at = e.span.end
	}
	b.WriteString(outside(string(d.raw[at:])))
	return printable(b.String())
}

// hide answers how an entry's raw value is shown.
func hide(d, older *Document) func(Entry) string {
	seen := map[string]int{}
	return func(e Entry) string {
		raw := string(d.raw[e.span.valueStart:e.span.valueEnd])
		n := seen[e.Key]
		seen[e.Key]++
		if Redact(e.Key, e.Value) == e.Value {
			return raw
		}
		if older == nil {
			return cover(raw, redactedText)
		}
		was := values(older, e.Key)
		if n < len(was) && was[n] != e.Value {
			return cover(raw, "[redacted, changed]")
		}
		return cover(raw, redactedText)
	}
}

func values(d *Document, key string) []string {
	var out []string
	for _, e := range d.entries {
		if e.Key == key {
			out = append(out, e.Value)
		}
	}
	return out
}

// cover replaces the text of each physical line and keeps the line ends, so
// that line numbers stay those of the file.
func cover(raw, word string) string {
	var b strings.Builder
	for i, line := range splitLines(raw) {
		text := strings.TrimRight(line, "\r\n")
		if i > 0 {
			word = redactedText
		}
		b.WriteString(word)
		if text != line {
			b.WriteString(`\` + line[len(text):])
		}
	}
	return b.String()
}

// outside redacts secrets in comments: a setting that somebody commented out,
// with its continuation lines, which often follow as comments too.
func outside(text string) string {
	var b strings.Builder
	open := false
	for _, line := range splitLines(text) {
		content := strings.TrimRight(line, "\r\n")
		body := strings.TrimLeft(content, "#! \t\f")
		mark := content[:len(content)-len(body)]
		switch {
		case body == "" || !strings.ContainsAny(mark, "#!"):
			open = false
			b.WriteString(line)
			continue
		case open:
			b.WriteString(mark + redactedText)
		case commentedSecret(body):
			b.WriteString(mark + keyPart(body) + redactedText)
		default:
			b.WriteString(line)
			continue
		}
		open = strings.HasSuffix(content, `\`)
		b.WriteString(line[len(content):])
	}
	return b.String()
}

// commentedSecret is generous: a comment that begins with a secret's dotted key
// is covered even if it is a sentence.
func commentedSecret(body string) bool {
	word := body
	if at := strings.IndexAny(body, "=: \t\f"); at >= 0 {
		word = body[:at]
	}
	assigned := strings.HasPrefix(strings.TrimLeft(body[len(word):], " \t\f"), "=")
	return secretShape(body) || Secret(word) && (assigned || strings.Contains(word, "."))
}

// keyPart keeps the key of a covered setting, so that a reader knows which.
func keyPart(body string) string {
	at := strings.IndexAny(body, "=: \t\f")
	if at < 0 || secretShape(body[:at]) {
		return ""
	}
	return body[:at+1]
}

// splitLines cuts after each line end, as Java sees them.
func splitLines(text string) []string {
	var lines []string
	raw, from := []byte(text), 0
	for i := range raw {
		if isEOL(raw[i]) && endsLine(raw, i) {
			lines = append(lines, text[from:i+1])
			from = i + 1
		}
	}
	if from < len(text) {
		lines = append(lines, text[from:])
	}
	return slices.Clip(lines)
}

// printable reads Latin-1, or UTF-8 where the bytes are that, and shows what a
// terminal might obey as \x escapes.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n")
	if strings.ToValidUTF8(text, "") != text {
		var b strings.Builder
		for i := range len(text) {
			b.WriteRune(rune(text[i]))
		}
		text = b.String()
	}
	var b strings.Builder
	for _, r := range text {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		fmt.Fprintf(&b, `\x%02x`, r)
	}
	return b.String()
}
