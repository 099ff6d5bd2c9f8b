package connect

import (
	"context"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"strings"

	"migrator/internal/config"
)

// Subject is the subject of the certificate that this program shows, written as
// Java does (RFC 2253), which is how Kafka names whom it belongs to. It is empty
// when none is shown.
func Subject(ctx context.Context, t *config.TLS) (string, error) {
	if t == nil {
		return "", nil
	}
	pair, err := own(ctx, t)
	if err != nil || pair == nil {
		return "", err
	}
	cert, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return "", err
	}
	return subject(cert.RawSubject)
}

// attribute is one part of a name, with its value as it was encoded.
type attribute struct {
	Type  asn1.ObjectIdentifier
	Value asn1.RawValue
}

type attributeSET []attribute

// subject follows javax.security.auth.x500.X500Principal.getName: parts in
// reverse, without blanks, unknown ones by number and in hex.
func subject(raw []byte) (string, error) {
	var name []attributeSET
	if _, err := asn1.Unmarshal(raw, &name); err != nil {
		return "", err
	}
	var parts []string
	for i := len(name) - 1; i >= 0; i-- {
		var values []string
		for _, a := range name[i] {
			values = append(values, a.String())
		}
		parts = append(parts, strings.Join(values, "+"))
	}
	return strings.Join(parts, ","), nil
}

func (a attribute) String() string {
	keyword, known := map[string]string{"2.5.4.3": "CN", "2.5.4.6": "C", "2.5.4.7": "L", "2.5.4.8": "ST", "2.5.4.9": "STREET", "2.5.4.10": "O", "2.5.4.11": "OU",
		"0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID"}[a.Type.String()]
	var text string
	if _, err := asn1.Unmarshal(a.Value.FullBytes, &text); err != nil || !known {
		if !known {
			keyword = a.Type.String()
		}
		return keyword + "=#" + hex.EncodeToString(a.Value.FullBytes)
	}
	return keyword + "=" + escaped(text)
}

func escaped(text string) string {
	var b strings.Builder
	for i, r := range text {
		edge := r == ' ' && (i == 0 || i == len(text)-1) || r == '#' && i == 0
		if edge || strings.ContainsRune(`,+"\<>;`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}
