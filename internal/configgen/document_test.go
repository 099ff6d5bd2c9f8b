package configgen

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

type pair struct{ Key, Value string }

func pairs(d *Document) []pair {
	var out []pair
	for _, e := range d.Entries() {
		out = append(out, pair{e.Key, e.Value})
	}
	return out
}

func TestFilesAreReadAsJavaReadsThem(t *testing.T) {
	cases := []struct {
		name string
		file string
		want []pair
	}{
		{"an empty file has no entries", "", nil},
		{"comments and blank lines are no entries", "# a=1\n\n ! b=2\n\t\n", nil},
		{"equals, colon and blank separate", "a=1\nb:2\nc 3\nd\t4\ne\f5\n", []pair{{"a", "1"}, {"b", "2"}, {"c", "3"}, {"d", "4"}, {"e", "5"}}},
		{"only one separator is eaten", "a==1\nb = :2\nc := 3\n", []pair{{"a", "=1"}, {"b", ":2"}, {"c", "= 3"}}},
		{"trailing blanks belong to the value", "a=true \nb=x\t\n", []pair{{"a", "true "}, {"b", "x\t"}}},
		{"a key without separator is empty", "a\nb=\nc \n", []pair{{"a", ""}, {"b", ""}, {"c", ""}}},
		{"a key may be empty", "=d\n", []pair{{"", "d"}}},
		{"separators are escaped in keys", "a\\=b=1\na\\ b=2\na\\:b=3\n", []pair{{"a=b", "1"}, {"a b", "2"}, {"a:b", "3"}}},
		{"an odd number of backslashes continues", "a=1\\\n   2\nb=1\\\\\nc=3\n", []pair{{"a", "12"}, {"b", "1\\"}, {"c", "3"}}},
		{"a comment never continues", "#a=1\\\nb=2\n", []pair{{"b", "2"}}},
		{"a hash after a continuation is data", "a=1,\\\n#2\n", []pair{{"a", "1,#2"}}},
		{"a blank continuation line ends the value", "a=1\\\n\nb=2\n", []pair{{"a", "1"}, {"b", "2"}}},
		{"a lone backslash leaves the line empty, so a comment may follow", "\\\n# c\nb=2\n", []pair{{"b", "2"}}},
		{"a backslash at the end of the file is dropped", "a=1\\", []pair{{"a", "1"}}},
		{"CR LF and lone CR end lines", "a=1\r\nb=2\rc=3", []pair{{"a", "1"}, {"b", "2"}, {"c", "3"}}},
		{"a continuation over CR LF", "a=1\\\r\n 2\r\n", []pair{{"a", "12"}}},
		{"bytes are Latin-1", "a=\xe9\n", []pair{{"a", "é"}}},
		{"unicode escapes may be surrogates", `a=\u00e9\ud83d\ude00`, []pair{{"a", "é😀"}}},
		{"other escapes are the letter itself", `a=\t\q\\\:`, []pair{{"a", "\tq\\:"}}},
		{"a byte order mark is part of the key", "\xef\xbb\xbfa=1\n", []pair{{"ï»¿a", "1"}}},
		{"nothing is expanded", "a=${b}\nb=$${a}\n", []pair{{"a", "${b}"}, {"b", "$${a}"}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := parsed(t, c.file)
			if diff := cmp.Diff(c.want, pairs(d)); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if got := string(d.Bytes()); got != c.file {
				t.Errorf("bytes changed: %q, want %q", got, c.file)
			}
		})
	}
}

func parsed(t *testing.T, file string) *Document {
	t.Helper()
	d, err := Parse([]byte(file))
	if err != nil {
		t.Fatalf("parse %q: %v", file, err)
	}
	return d
}

func TestWhatJavaRefusesIsRefusedWithItsLineAndWithoutTheValue(t *testing.T) {
	for _, file := range []string{"a=1\nb=\\\n  s3cr\\u12\n", "a=1\nb=s3cr\\u12g4\n", "a=1\ns3cr\\u+123=1\n"} {
		_, err := Parse([]byte(file))
		if err == nil || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("parse %q: %v, want an error that names line 2", file, err)
			continue
		}
		if strings.Contains(err.Error(), "s3cr") {
			t.Errorf("the error quotes the file: %v", err)
		}
	}
	if _, err := Parse(bytes.Repeat([]byte("a"), maxFile+1)); err == nil {
		t.Error("a file above the limit was read")
	}
}

func TestTheLastDuplicateWinsAndLinesCountPhysically(t *testing.T) {
	d := parsed(t, "# c\r\na=1\\\r\n  2\r\nb=x\ra=9\n")
	if v, ok := d.Value("a"); !ok || v != "9" {
		t.Errorf("a = %q, %v", v, ok)
	}
	if line, ok := d.Line("a"); !ok || line != 5 {
		t.Errorf("line of a = %d, %v; want 5", line, ok)
	}
	if diff := cmp.Diff([]int{2, 5}, d.Lines("a")); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"a", "b"}, d.Keys()); diff != "" {
		t.Error(diff)
	}
	if _, ok := d.Value("absent"); ok {
		t.Error("an absent key has a value")
	}
}

func TestAnEditTouchesNothingElse(t *testing.T) {
	set := func(key, value string) func(*Document) error {
		return func(d *Document) error { return d.Set(key, value) }
	}
	add := func(key, value string) func(*Document) error {
		return func(d *Document) error { return d.Append(key, value) }
	}
	rename := func(key, to string) func(*Document) error {
		return func(d *Document) error { return d.Rename(key, to) }
	}
	remove := func(key string) func(*Document) error {
		return func(d *Document) error { _, err := d.Remove(key); return err }
	}
	cases := []struct {
		name string
		file string
		edit func(*Document) error
		want string
	}{
		{"set keeps indentation, separator and line end", "  a \t:  1\r\nb=2\r\n", set("a", "9"), "  a \t:  9\r\nb=2\r\n"},
		{"set changes the duplicate that wins", "a=1\na=2\n", set("a", "3"), "a=1\na=3\n"},
		{"set replaces a value of several lines", "a=1,\\\n  2\nb=3\n", set("a", "7"), "a=7\nb=3\n"},
		{"a list that grows keeps its lines", "a=1,\\\n  2\nb=3\n", set("a", "1,2,3"), "a=1,\\\n  2,3\nb=3\n"},
		{"set gives a bare key a separator", "a\nb=2\n", set("a", "1"), "a=1\nb=2\n"},
		{"set after a blank separator escapes an equals sign", "a 1\n", set("a", "=x"), "a \\=x\n"},
		{"set escapes what Java would swallow", "a=1\n", set("a", " x\\y\tz\nä😀"), "a=\\ x\\\\y\\tz\\n\\u00e4\\ud83d\\ude00\n"},
		{"set on a last line that continues into nothing", "a=1\\", set("a", "2"), "a=2"},
		{"set to nothing after a lone CR before an LF", "a \\\r1\nb=2\n", set("a", ""), "a=\nb=2\n"},
		{"set to nothing", "a=1\n", set("a", ""), "a=\n"},
		{"rename keeps everything but the key", "  broker.id : 1 \nx=y\n", rename("broker.id", "node.id"), "  node.id : 1 \nx=y\n"},
		{"rename of a key over two lines", "bro\\\n  ker.id=1\n", rename("broker.id", "node.id"), "node.id=1\n"},
		{"remove takes all duplicates and continuations, not comments", "# a\na=1\\\n  2\n#a=3\nb=1\na:4\n", remove("a"), "# a\n#a=3\nb=1\n"},
		{"remove of the last line without end", "b=1\na=2", remove("a"), "b=1\n"},
		{"append uses the line end of the file", "a=1\r\nb=2\r\n", add("c", "3"), "a=1\r\nb=2\r\nc=3\r\n"},
		{"append ends an unfinished line first", "a=1\nb=2", add("c", "3"), "a=1\nb=2\nc=3\n"},
		{"append after lone CRs", "a=1\rb=2\r", add("c", "3"), "a=1\rb=2\rc=3\r"},
		{"append after a backslash that continues into nothing", "a=1\\\n", add("c", "3"), "a=1\nc=3\n"},
		{"append after the same over CR LF", "a=1\\\r\n", add("c", "3"), "a=1\r\nc=3\r\n"},
		{"append to nothing", "", add("c d", "3"), "c\\ d=3\n"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			d := parsed(t, c.file)
			if err := c.edit(d); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(d.Bytes())); diff != "" {
				t.Errorf("file (-want +got):\n%s", diff)
			}
		})
	}
	if err := parsed(t, "a=1\n").Set("b", "2"); err == nil {
		t.Error("setting an absent key succeeded")
	}
	if err := parsed(t, "a=1\n").Rename("b", "c"); err == nil {
		t.Error("renaming an absent key succeeded")
	}
	if err := parsed(t, "a 1\n").Rename("a", ""); err == nil {
		t.Error("a key lost its name: Java would read the value as one")
	}
}

// FuzzEdits: whatever the file, an edit gives the wanted value back and leaves
// the other entries as they were.
func FuzzEdits(f *testing.F) {
	for _, file := range []string{"a=1\n", "a\\\n=b\\\r\n", "\\\n#x\na:1", "a b\\", "\\\n", "a=\\u00e9\r\rb", "key \\\n  v\nk=1", "a=1\\\n\\", "=\\\n\\"} {
		f.Add([]byte(file), "a", " =\\é")
	}
	f.Fuzz(func(t *testing.T, file []byte, key, value string) {
		if len(file) > 2048 {
			return // every key is edited in turn, which takes the square
		}
		d, err := Parse(file)
		if err != nil {
			return
		}
		if !bytes.Equal(d.Bytes(), file) {
			t.Fatalf("bytes of %q changed", file)
		}
		key, value = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(value, "?")
		checkAppend(t, file, key, value)
		for _, k := range d.Keys() {
			checkSet(t, file, k, value)
			checkRemove(t, file, k)
		}
		_ = Diff("f", file, nil)
	})
}

func checkAppend(t *testing.T, file []byte, key, value string) {
	t.Helper()
	d, _ := Parse(file)
	before := pairs(d)
	if n := len(before); n > 0 && before[n-1] == (pair{}) {
		before = before[:n-1] // a lone backslash at the end is an entry of nothing
	}
	if err := d.Append(key, value); err != nil {
		t.Fatalf("append to %q: %v", file, err)
	}
	got := pairs(d)
	if n := len(got) - 1; n > 0 && n > len(before) {
		before = append(before, pair{})
	}
	if diff := cmp.Diff(append(before, pair{key, value}), got); diff != "" {
		t.Fatalf("append %q=%q to %q:\n%s", key, value, file, diff)
	}
}

func checkSet(t *testing.T, file []byte, key, value string) {
	t.Helper()
	d, _ := Parse(file)
	want := pairs(d)
	for i := len(want) - 1; i >= 0; i-- {
		if want[i].Key == key {
			want[i].Value = value
			break
		}
	}
	if err := d.Set(key, value); err != nil {
		t.Fatalf("set %q in %q: %v", key, file, err)
	}
	if diff := cmp.Diff(want, pairs(d)); diff != "" {
		t.Fatalf("set %q=%q in %q gave %q:\n%s", key, value, file, d.Bytes(), diff)
	}
}

func checkRemove(t *testing.T, file []byte, key string) {
	t.Helper()
	d, _ := Parse(file)
	var want []pair
	for _, p := range pairs(d) {
		if p.Key != key {
			want = append(want, p)
		}
	}
	if _, err := d.Remove(key); err != nil {
		t.Fatalf("remove %q from %q: %v", key, file, err)
	}
	if diff := cmp.Diff(want, pairs(d)); diff != "" {
		t.Fatalf("remove %q from %q gave %q:\n%s", key, file, d.Bytes(), diff)
	}
}
