package configgen

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

var errUnicodeEscape = errors.New(`malformed \u escape: Java refuses the whole file`)

// unescape decodes Latin-1 text with backslash escapes. \u escapes are UTF-16
// units, so two of them may make one character.
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
	return string(utf16.Decode(units)), nil
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

// escapeValue writes a value so that Java reads it back. Everything outside
// printable ASCII becomes \u, which means the same to a person who takes the
// file for UTF-8. guard protects a first = or : where the separator is a blank.
func escapeValue(value string, guard bool) string {
	var b strings.Builder
	for i, r := range value {
		if i == 0 && (r == ' ' || guard && (r == '=' || r == ':')) {
			b.WriteByte('\\')
		}
		escapeRune(&b, r)
	}
	return b.String()
}

func escapeKey(key string) string {
	var b strings.Builder
	for i, r := range key {
		if strings.ContainsRune(" =:", r) || i == 0 && (r == '#' || r == '!') {
			b.WriteByte('\\')
		}
		escapeRune(&b, r)
	}
	return b.String()
}

func escapeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\\':
		b.WriteString(`\\`)
	case r == '\t':
		b.WriteString(`\t`)
	case r == '\n':
		b.WriteString(`\n`)
	case r == '\r':
		b.WriteString(`\r`)
	case r == '\f':
		b.WriteString(`\f`)
	case r >= 0x20 && r < 0x7f:
		b.WriteRune(r)
	default:
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	}
}
