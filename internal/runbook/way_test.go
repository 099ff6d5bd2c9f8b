package runbook

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"migrator/internal/config"
)

// A command typed on the wrong machine restarts the wrong node, or none.
func TestCommandsOfANodeGoItsWay(t *testing.T) {
	ways := []struct {
		id     int32
		access config.Access
		begins string
	}{
		{1, config.Access{Kind: "wrapper", Argv: []string{"docker", "exec", "-i", "kafka-1"}}, "docker exec -i kafka-1 "},
		{2, config.Access{Kind: "ssh", Host: "b2", SSH: config.SSH{User: "ops", Port: 2222, KeyFile: "/keys/id", Become: []string{"sudo", "-n"}}}, "ssh -i /keys/id -p 2222 ops@b2 'sudo -n "},
		{3002, config.Access{Kind: "wrapper", Argv: []string{"lxc-attach", "-n", "c2", "--"}}, "lxc-attach -n c2 -- "},
	}
	theirs := func(id string) *regexp.Regexp {
		return regexp.MustCompile(`kafka@` + id + `\b|/etc/kafka/\w+-` + id + `\.properties|/var/log/kafka-` + id + `/|/meta/` + id + `\b`)
	}
	for _, s := range scenes() {
		t.Run(s.name, func(t *testing.T) {
			in := s.input(t, "/root/files")
			in.Migration.Nodes = slices.Clone(in.Migration.Nodes)
			seen := 0
			for _, way := range ways {
				at := slices.IndexFunc(in.Migration.Nodes, func(n config.Node) bool { return n.ID == way.id })
				in.Migration.Nodes[at].Access = way.access
			}
			page := Render(in)
			for _, way := range ways {
				mine := theirs(map[int32]string{1: "1", 2: "2", 3002: "3002"}[way.id])
				for _, line := range commandLines(page) {
					if !mine.MatchString(line) || strings.HasPrefix(line, "The ") {
						continue // a sentence
					}
					seen++
					if !strings.HasPrefix(line, way.begins) {
						t.Errorf("node %d is not reached by %q", way.id, line)
					}
				}
			}
			if seen == 0 {
				t.Error("no line concerns one of these nodes: this test proves nothing")
			}
		})
	}
}

// commandLines are the lines of code blocks that are no diff.
func commandLines(page string) []string {
	var out []string
	for i, block := range strings.Split(page, "\n```\n") {
		if i%2 == 1 && !strings.HasPrefix(block, "--- ") {
			out = append(out, strings.Split(block, "\n")...)
		}
	}
	return out
}
