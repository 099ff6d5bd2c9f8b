package configgen

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

var errUnicodeEscape = errors.New(`malformed \u escape: Java refuses the whole file`)

// unescape decodes Latin-1 text with backslash escapes. \u escapes are UTF-16
// units: two of them may make one character, and one alone may make none.
func unescape(chars []byte) (string, error) {
	units := make([]uint16, 0, len(chars))
	for i := 0; i < len(chars); i++ {
		c := chars[i]
		if c != '\\' || i+1 == len(chars) {
			units = append(units, uint16(c))
			continue
		}
		i++
		if chars[i] != 'u' {
			units = append(units, uint16(unescapeByte(chars[i])))
			continue
		}
		if i+4 >= len(chars) {
			return "", errUnicodeEscape
		}
		unit, err := strconv.ParseUint(string(chars[i+1:i+5]), 16, 16)
		if err != nil {
			// The cause would quote a piece of what may be a secret.
			return "", errUnicodeEscape
		}
		units = append(units, uint16(unit))
		i += 4
	}
	return fromUnits(units), nil
}

func unescapeByte(c byte) byte {
	switch c {
	case 't':
		return '\t'
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 'f':
		return '\f'
	}
	return c
}

// fromUnits is the text of UTF-16 units. Java holds half a surrogate pair where
// UTF-8 has no place for it: such a half takes three bytes here (WTF-8), so that
// two keys which differ in Java differ here.
func fromUnits(units []uint16) string {
	var b []byte
	for i := 0; i < len(units); i++ {
		unit := rune(units[i])
		if i+1 < len(units) {
			if r := utf16.DecodeRune(unit, rune(units[i+1])); r != utf8.RuneError {
				b = utf8.AppendRune(b, r)
				i++
				continue
			}
		}
		if utf16.IsSurrogate(unit) {
			b = append(b, 0xed, byte(0x80|unit>>6&0x3f), byte(0x80|unit&0x3f))
			continue
		}
		b = utf8.AppendRune(b, unit)
	}
	return string(b)
}

// units undoes fromUnits.
func units(text string) []uint16 {
	var out []uint16
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if size == 1 && r == utf8.RuneError && len(text) > 2 && text[0] == 0xed {
			out = append(out, 0xd000|uint16(text[1]&0x3f)<<6|uint16(text[2]&0x3f))
			text = text[3:]
			continue
		}
		out = utf16.AppendRune(out, r)
		text = text[size:]
	}
	return out
}

// escapeValue writes a value so that Java reads it back. Everything outside
// printable ASCII becomes \u, which means the same to a person who takes the
// file for UTF-8. guard protects a first = or : where the separator is a blank.
func escapeValue(value string, guard bool) string {
	var b strings.Builder
	for i, unit := range units(value) {
		if i == 0 && (unit == ' ' || guard && (unit == '=' || unit == ':')) {
			b.WriteByte('\\')
		}
		escapeUnit(&b, unit)
	}
	return b.String()
}

func escapeKey(key string) string {
	var b strings.Builder
	for i, unit := range units(key) {
		if unit == ' ' || unit == '=' || unit == ':' || i == 0 && (unit == '#' || unit == '!') {
			b.WriteByte('\\')
		}
		escapeUnit(&b, unit)
	}
	return b.String()
}

func escapeUnit(b *strings.Builder, unit uint16) {
	switch {
	case unit == '\\':
		b.WriteString(`\\`)
	case unit == '\t':
		b.WriteString(`\t`)
	case unit == '\n':
		b.WriteString(`\n`)
	case unit == '\r':
		b.WriteString(`\r`)
	case unit == '\f':
		b.WriteString(`\f`)
	case unit >= 0x20 && unit < 0x7f:
		b.WriteByte(byte(unit))
	default:
		fmt.Fprintf(b, `\u%04x`, unit)
	}
}
