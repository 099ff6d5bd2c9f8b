package gates

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	maxListed = 10  // of a list in evidence
	maxText   = 300 // bytes of text that a node, a log or a znode wrote
)

// listed joins the first items and counts the rest.
func listed(items []string, sep string) string {
	if len(items) <= maxListed {
		return strings.Join(items, sep)
	}
	return strings.Join(items[:maxListed], sep) + sep + fmt.Sprintf("and %d more", len(items)-maxListed)
}

// cut bounds foreign text and keeps it on one line.
func cut(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, text)
}

// span writes a duration as a person would say it.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	default:
		return d.Round(time.Second).String()
	}
}

func idList(ids []int32) string {
	ids = slices.Sorted(slices.Values(ids))
	out := make([]string, 0, len(ids))
	for _, id := range ids {
		out = append(out, strconv.Itoa(int(id)))
	}
	if len(out) == 0 {
		return "none"
	}
	return listed(out, ", ")
}

// partitionName is how the plan, acceptances and View.Short name a partition.
func partitionName(topic string, number int32) string {
	return cut(topic) + "-" + strconv.Itoa(int(number))
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

func short(hash string) string {
	if len(hash) > 12 {
		return hash[:12]
	}
	if hash == "" {
		return "no file"
	}
	return hash
}
