package main

import (
	"fmt"
	"strings"

	"migrator/internal/status"
)

// writeErrands prints what a person is to do by hand, in order.
func writeErrands(b *strings.Builder, s status.Status) {
	for _, e := range s.Manual {
		when := "next"
		if e.Now {
			when = "NOW"
		}
		fmt.Fprintf(b, "  by hand, %s: %s\n", when, e.Do)
		if len(e.Argv) > 0 {
			fmt.Fprintf(b, "    command: %s\n", quoted(e.Argv))
		}
		if e.File != "" {
			fmt.Fprintf(b, "    file: `migrator file %s --node %d` (sha256 %s) to %s; folder of the node here: %s\n", s.Name, e.Node, e.SHA256, e.Path, e.Folder)
		}
		if e.Seen != "" {
			fmt.Fprintf(b, "    seen: %s\n", e.Seen)
		}
	}
}
