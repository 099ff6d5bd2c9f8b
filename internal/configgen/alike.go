package configgen

import (
	"slices"
	"strings"
)

// Alike compares two values of a setting as Kafka reads: blanks around values and commas do not count,
// nor the case of a flag.
func Alike(a, b string) bool {
	if strings.EqualFold(strings.TrimSpace(a), strings.TrimSpace(b)) {
		return true
	}
	as, bs := list(a), list(b)
	if slices.Equal(as, bs) {
		return true
	}
	// The shorter spelling of a version, and of a number.
	return bare(a) != "" && bare(a) == bare(b)
}

// bare is a number without what its spelling adds; "" when it is none.
func bare(text string) string {
	text = strings.TrimSpace(text)
	if text == "" || strings.Trim(text, "0123456789.-+eE") != "" {
		return ""
	}
	if !strings.ContainsAny(text, ".eE") {
		return strings.TrimLeft(strings.TrimPrefix(text, "+"), "0") + "n"
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".") + "n"
}
