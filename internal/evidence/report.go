package evidence

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"time"
)

//go:embed report.html.tmpl
var reportText string

// Report is the pack as one page that needs nothing else and prints well.
func Report(p Pack) ([]byte, error) {
	set, err := template.New("report").Funcs(template.FuncMap{"at": moment, "when": when, "took": took, "ms": ms, "epochs": epochs, "result": result}).Parse(reportText)
	if err != nil {
		return nil, fmt.Errorf("parse the report's template: %w", err)
	}
	var out bytes.Buffer
	if err := set.Execute(&out, p); err != nil {
		return nil, fmt.Errorf("render the report: %w", err)
	}
	return out.Bytes(), nil
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") + " UTC" }

func when(t *time.Time) string {
	if t == nil {
		return "—"
	}
	return moment(*t)
}

func took(from time.Time, to *time.Time) string {
	if to == nil {
		return "not ended"
	}
	return to.Sub(from).Round(100 * time.Millisecond).String()
}

func ms(v *int64) string {
	if v == nil {
		return "—"
	}
	return fmt.Sprintf("%d ms", *v)
}

func epochs(before, after *int32) string {
	if before == nil || after == nil {
		return "—"
	}
	return fmt.Sprintf("%d to %d", *before, *after)
}

func result(ok *bool) string {
	switch {
	case ok == nil:
		return "in doubt"
	case *ok:
		return "done"
	default:
		return "failed"
	}
}
