package gates

import (
	"strings"
	"testing"
	"time"
)

// row is one story: a healthy cluster, one change, and what the gate says.
type row struct {
	name   string
	from   func(time.Time) View
	edit   func(*View)
	gate   string
	want   Result
	says   string // part of the evidence
	doing  string // part of what to do
	before func(time.Time) View
}

func run(t *testing.T, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var views []View
			if r.before != nil {
				views = append(views, r.before(moment))
			}
			v := r.from(moment)
			if r.edit != nil {
				r.edit(&v)
			}
			r.check(t, judged(t, r.gate, append(views, v)...))
		})
	}
}

func (r row) check(t *testing.T, got Judged) {
	t.Helper()
	if got.Result != r.want || !strings.Contains(got.Evidence, r.says) || !strings.Contains(got.ToDo, r.doing) {
		t.Errorf("%s: %s: %s\n  to do: %s\nwant %s with %q and %q", got.Gate, got.Result, got.Evidence, got.ToDo, r.want, r.says, r.doing)
	}
	if got.Result != Pass && got.ToDo == "" {
		t.Error("nothing says what to do")
	}
}
