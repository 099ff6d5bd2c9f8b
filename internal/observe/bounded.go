package observe

import "strings"

// bounded cuts text of a node to a number of bytes, at a character, on one line.
func bounded(text string, limit int) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(text), " "), "?")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + "..."
}
