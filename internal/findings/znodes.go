package findings

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// object reads a znode's JSON object with names in their own case, as Kafka
// does; fault says why there is none, and never shows content.
func object(data []byte) (fields map[string]json.RawMessage, fault string) {
	switch {
	case data == nil:
		return nil, "it has no data (null)"
	case len(data) == 0:
		return nil, "its data is empty"
	case !utf8.Valid(data):
		return nil, fmt.Sprintf("%d bytes that are no UTF-8, beginning with % x", len(data), data[:min(len(data), 8)])
	}
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, fmt.Sprintf("%d bytes that are no JSON object, beginning with % x", len(data), data[:min(len(data), 8)])
	}
	return fields, ""
}

// below hands every child of a path to visit, in order. A parent or a child
// that cannot be read is noted and not handed on.
func (l *look) below(path string, visit func(name string, z Znode)) {
	if _, _, ok := l.znode(path); !ok {
		return
	}
	t, _ := l.tree()
	for _, name := range t.Children(path) {
		if z, present, ok := l.znode(path + "/" + name); present && ok {
			visit(name, z)
		}
	}
}

// plainID reads the decimal name of a broker or partition.
func plainID(text string) (int32, bool) {
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, false
	}
	return int32(n), true
}

// liveIDs are the brokers registered in ZooKeeper.
func (l *look) liveIDs() (map[int32]bool, bool) {
	if _, _, ok := l.znode("/brokers/ids"); !ok {
		return nil, false
	}
	t, _ := l.tree()
	out := map[int32]bool{}
	for _, name := range t.Children("/brokers/ids") {
		if id, ok := plainID(name); ok {
			out[id] = true
		}
	}
	return out, true
}

const shownNames = 5

// some names the first few of a list, and how many more there are.
func some[T any](list []T) string {
	var out []string
	for _, v := range list[:min(len(list), shownNames)] {
		out = append(out, fmt.Sprint(v))
	}
	text := strings.Join(out, ", ")
	if more := len(list) - shownNames; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// sortedKeys are a map's keys in order.
func sortedKeys[K interface{ ~int32 | ~string }, V any](m map[K]V) []K {
	out := make([]K, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
