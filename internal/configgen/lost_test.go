package configgen

import (
	"slices"
	"strings"
	"testing"
)

func TestWhatGoesWithAnEditWhenTheOriginalComesBack(t *testing.T) {
	const was = "a=1\nb=2\nours=x\nssl.keystore.password=hunter2\n"
	const next = "a=1\nb=2\nssl.keystore.password=hunter2\n"
	tests := []struct {
		name, edited string
		added, back  []string
	}{
		{"a line that somebody added", was + "num.io.threads=9\n", []string{"num.io.threads=9"}, nil},
		{"a line that somebody changed", strings.Replace(was, "b=2", "b=3", 1), []string{"b=3"}, []string{"b=2"}},
		{"a line of ours that somebody took out", strings.Replace(was, "ours=x\n", "", 1), nil, nil},
		{"a comment", was + "# tuned by bob\n", []string{"# tuned by bob"}, nil},
		{"only the order", "b=2\na=1\nours=x\nssl.keystore.password=hunter2\n", nil, nil},
		{"a password", strings.Replace(was, "hunter2", "hunter3", 1), []string{"ssl.keystore.password=[redacted, changed]"}, []string{"ssl.keystore.password=[redacted]"}},
		{"a password in a comment", was + "# ssl.key.password=hunter4\n", []string{"# ssl.key.password=[redacted]"}, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			added, back, err := LostEdit([]byte(was), []byte(tt.edited), []byte(next))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(added, tt.added) || !slices.Equal(back, tt.back) {
				t.Errorf("lost %q, back %q; want %q, %q", added, back, tt.added, tt.back)
			}
			if text := strings.Join(append(added, back...), "\n"); strings.Contains(text, "hunter") {
				t.Errorf("a password is shown: %s", text)
			}
		})
	}
}
