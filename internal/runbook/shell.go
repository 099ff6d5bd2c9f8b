package runbook

import (
	"fmt"
	"strings"
	"unicode"
)

// Shell quotes an argument list for a person who types it into bash.
func Shell(argv []string) string {
	out := make([]string, 0, len(argv))
	for _, a := range argv {
		out = append(out, word(a))
	}
	return strings.Join(out, " ")
}

// word quotes one argument; one with control characters needs bash's $'...',
// so that it stays on its line.
func word(a string) string {
	control := strings.ContainsFunc(a, func(r rune) bool { return !unicode.IsPrint(r) })
	switch {
	case control:
		return "$'" + escaped(a) + "'"
	case a == "" || strings.ContainsFunc(a, special):
		return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
	default:
		return a
	}
}

func special(r rune) bool {
	return !(unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("-_./:=,@%+", r))
}

func escaped(a string) string {
	var b strings.Builder
	for i := range len(a) {
		switch c := a[i]; {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c < ' ' || c > '~':
			fmt.Fprintf(&b, `\x%02x`, c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
