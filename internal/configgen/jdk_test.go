package configgen

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"

	"migrator/internal/lab"
)

// seedEnv repeats one run of the random files.
const seedEnv = "CONFIGGEN_SEED"

// TestTheJDKReadsWhatThisPackageReads asks the real java.util.Properties, one
// process for all files: every file of a few telling characters, random ones
// of everything that has a meaning, and files after an edit.
func TestTheJDKReadsWhatThisPackageReads(t *testing.T) {
	j := startJDK(t)
	short, long := 6, 8000
	if testing.Short() {
		short, long = 4, 1000
	}
	every(`\=# a`+"\n\r", short, j.reads)
	seed := randomSeed(t)
	r := rand.New(rand.NewPCG(seed, 0))
	for i := range long {
		file := randomFile(r, 1+r.IntN(40))
		if i%100 == 0 {
			// Java reads 8192 bytes at once: what lies across that is the same.
			file = append(bytes.Repeat([]byte("#"+strings.Repeat("c", 62)+"\n"), 128), file...)
			file = file[r.IntN(60):]
		}
		j.reads(file)
		j.readsEdited(r, file)
	}
	j.finish()
}

func randomSeed(t *testing.T) uint64 {
	t.Helper()
	seed := rand.Uint64()
	if text := os.Getenv(seedEnv); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", seedEnv, seed)
	return seed
}

// every calls use with each text of up to n characters of the alphabet.
func every(alphabet string, n int, use func([]byte)) {
	var grow func(text []byte)
	grow = func(text []byte) {
		use(bytes.Clone(text))
		if len(text) == n {
			return
		}
		for i := range alphabet {
			grow(append(text, alphabet[i]))
		}
	}
	grow(nil)
}

// randomFile strings together what has a meaning to Java, or once had in a
// report: separators, escapes, surrogates, line ends, noise.
func randomFile(r *rand.Rand, tokens int) []byte {
	words := []string{"a", "b", "=", ":", " ", "\t", "\f", "\n", "\n", "\r", "\r\n", "\\", "\\\n", "\\\r\n", "\\\r", "#", "!", "\\\\", "\\:", "\\=", "\\ ",
		"\\u00e9", "\\uD83D", "\\uDE00", "\\uD83D\\uDE00", "\\u12g4", "\\u", "\\u+123", "\\u0020", "\\u005c", "\\u000a", "\\t", "\\q", "\\#", "\x00", "\x0b", "\x1f", "\x7f", "\x85",
		"\xe9", "\xff", "é", "😀", "\xef\xbb\xbf", "key=value\n", "zookeeper.connect", "${file:/k:p}", "a = b \n"}
	var b []byte
	for range tokens {
		b = append(b, words[r.IntN(len(words))]...)
	}
	return b
}

// jdk collects files with what Java must make of them.
type jdk struct {
	t     *testing.T
	java  string
	files [][]byte
	wants []want
}

// want is the settings a file must have; nil when Java must refuse it.
type want struct {
	settings map[string]string
	made     string // how the file came about
}

func startJDK(t *testing.T) *jdk {
	t.Helper()
	java, err := lab.FindJava(t.Context())
	if err != nil && testing.Short() {
		t.Skipf("the JDK is missing: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return &jdk{t: t, java: java}
}

func (j *jdk) reads(file []byte) {
	w := want{made: "read"}
	if d, err := Parse(file); err == nil {
		w.settings = lastOf(pairs(d))
	}
	j.files, j.wants = append(j.files, file), append(j.wants, w)
}

// lastOf is a file's settings: of duplicates the last wins.
func lastOf(pairs []pair) map[string]string {
	settings := map[string]string{}
	for _, p := range pairs {
		settings[p.Key] = p.Value
	}
	return settings
}

// readsEdited edits a file and wants from Java what was meant.
func (j *jdk) readsEdited(r *rand.Rand, file []byte) {
	d, err := Parse(file)
	if err != nil {
		return
	}
	now := pairs(d)
	key, value := randomText(r), randomText(r)
	w := want{}
	if len(now) == 0 || r.IntN(4) == 0 {
		w.made, err = fmt.Sprintf("%q with %q=%q appended", file, key, value), d.Append(key, value)
		now = append(withoutLoneBackslash(now, file), pair{key, value})
	} else {
		now, w.made, err = editOne(r, d, file, now, key, value)
	}
	if err != nil {
		j.t.Errorf("%s: %v", w.made, err)
		return
	}
	w.settings = lastOf(now)
	j.files, j.wants = append(j.files, d.Bytes()), append(j.wants, w)
}

// withoutLoneBackslash leaves out the entry of nothing that a backslash at the
// end of a file makes: what is appended takes its place.
func withoutLoneBackslash(now []pair, file []byte) []pair {
	d, err := Parse(file)
	n := len(now) - 1
	if err == nil && n >= 0 && now[n] == (pair{}) && d.entries[n].span.bare && d.entries[n].span.open != noBackslash {
		return now[:n]
	}
	return now
}

// editOne sets, renames or removes a key that is there.
func editOne(r *rand.Rand, d *Document, file []byte, now []pair, key, value string) ([]pair, string, error) {
	old := now[r.IntN(len(now))].Key
	var out []pair
	kind := r.IntN(3)
	if kind == 2 && key == "" {
		kind = 0
	}
	switch kind {
	case 0:
		_, err := d.Remove(old)
		for _, p := range now {
			if p.Key != old {
				out = append(out, p)
			}
		}
		return out, fmt.Sprintf("%q without %q", file, old), err
	case 1:
		out = append(out, now...)
		out[winnerOf(now, old)].Value = value
		return out, fmt.Sprintf("%q with %q=%q", file, old, value), d.Set(old, value)
	default:
		out = append(out, now...)
		out[winnerOf(now, old)].Key = key
		return out, fmt.Sprintf("%q with %q named %q", file, old, key), d.Rename(old, key)
	}
}

func winnerOf(pairs []pair, key string) int {
	found := -1
	for i, p := range pairs {
		if p.Key == key {
			found = i
		}
	}
	return found
}

// randomText is any text that Java can hold, halves of surrogate pairs included.
func randomText(r *rand.Rand) string {
	words := []string{"a", " ", "=", ":", "#", "!", "\\", "\n", "\r", "\t", "\f", "\x00", "\x7f", "\u0085", "é", "😀", "\xed\xa0\xbd", "\xed\xb8\x80", "${x}", "\u2028"}
	var b strings.Builder
	for range r.IntN(5) {
		b.WriteString(words[r.IntN(len(words))])
	}
	return fromUnits(units(b.String()))
}

func (j *jdk) finish() {
	j.t.Helper()
	cmd := exec.CommandContext(j.t.Context(), j.java, "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "testdata/LoadProperties.java")
	cmd.Stderr = os.Stderr
	in := bytes.Buffer{}
	for _, file := range j.files {
		in.Write(binary.BigEndian.AppendUint32(nil, uint32(len(file))))
		in.Write(file)
	}
	in.Write([]byte{0xff, 0xff, 0xff, 0xff})
	cmd.Stdin = &in
	said, err := cmd.Output()
	if err != nil {
		j.t.Fatalf("run java: %v", err)
	}
	answers := bufio.NewReader(bytes.NewReader(said))
	wrong := 0
	for i, w := range j.wants {
		got, err := readAnswer(answers)
		if err != nil {
			j.t.Fatalf("answer %d of %d: %v", i, len(j.wants), err)
		}
		if !same(w.settings, got) {
			j.t.Errorf("%q (%s): (-this package +the JDK)\n%s", j.files[i], w.made, cmp.Diff(w.settings, got))
			wrong++
		}
		if wrong == 10 {
			j.t.Fatal("and more")
		}
	}
	j.t.Logf("%d files", len(j.wants))
}

func same(a, b map[string]string) bool { return (a == nil) == (b == nil) && maps.Equal(a, b) }

func readAnswer(r io.Reader) (map[string]string, error) {
	n, err := readInt(r)
	if err != nil || n < 0 {
		return nil, err
	}
	settings := map[string]string{}
	for range n {
		key, err := readText(r)
		if err != nil {
			return nil, err
		}
		if settings[key], err = readText(r); err != nil {
			return nil, err
		}
	}
	return settings, nil
}

func readInt(r io.Reader) (int32, error) {
	var n int32
	err := binary.Read(r, binary.BigEndian, &n)
	return n, err
}

// readText joins Java's UTF-16 units as fromUnits must, by a way of its own.
func readText(r io.Reader) (string, error) {
	n, err := readInt(r)
	if err != nil {
		return "", err
	}
	text := make([]uint16, n)
	if err := binary.Read(r, binary.BigEndian, text); err != nil {
		return "", err
	}
	var b []byte
	for i := 0; i < len(text); i++ {
		u := rune(text[i])
		if i+1 < len(text) {
			if pair := utf16.DecodeRune(u, rune(text[i+1])); pair != '\ufffd' {
				b = append(b, string(pair)...)
				i++
				continue
			}
		}
		if utf16.IsSurrogate(u) {
			b = append(b, 0xe0|byte(u>>12), 0x80|byte(u>>6&0x3f), 0x80|byte(u&0x3f))
			continue
		}
		b = append(b, string(u)...)
	}
	return string(b), nil
}
