package configgen

import "strings"

const redactedText = "[redacted]"

// Redact returns the value as it may be shown: secrets, by key or by the shape
// of the value, become [redacted].
func Redact(key, value string) string {
	if value != "" && (Secret(key) || secretShape(value)) {
		return redactedText
	}
	return value
}

// RedactText covers the lines of any text, a command's output or a log's, that
// look as if they held a secret, and PEM blocks as a whole. A key at the
// beginning of such a line stays.
func RedactText(text string) string {
	var b strings.Builder
	inPEM := false
	for line := range strings.Lines(text) {
		body := strings.TrimRight(line, "\r\n")
		lower := strings.ToLower(body)
		begins := strings.Contains(lower, "-----begin")
		switch {
		case inPEM || begins:
			b.WriteString(redactedText)
			inPEM = (inPEM || begins) && !strings.Contains(lower, "-----end")
		case LooksSecret(strings.TrimLeft(body, "#! \t")):
			trimmed := strings.TrimLeft(body, "#! \t")
			b.WriteString(body[:len(body)-len(trimmed)] + keyPart(trimmed) + redactedText)
		default:
			b.WriteString(body)
		}
		b.WriteString(line[len(body):])
	}
	return b.String()
}

// LooksSecret says whether one line, or one argument of a command, looks as if it
// held a secret: by its shape, or since it gives a value to a secret key. The
// name of a file in a folder of secrets is none.
func LooksSecret(line string) bool {
	if secretShape(line) {
		return true
	}
	key, value, assigned := strings.Cut(line, "=")
	key = strings.TrimLeft(strings.TrimSpace(key), "-")
	return assigned && strings.TrimSpace(value) != "" && !strings.ContainsAny(key, "/ ") && Secret(key) && !strings.HasPrefix(value, "/")
}

// Secret says whether a key holds a secret. When in doubt it says yes: a key
// of the sasl family is public only if it is known to be.
func Secret(key string) bool {
	key = strings.ToLower(key)
	for _, word := range []string{"secret", "credential", "jaas", "passwd", "passphrase", "user.info", "apikey", "api.key", "private.key", "license"} {
		if strings.Contains(key, word) && !publicEncoder(key) {
			return true
		}
	}
	if strings.Contains(key, "password") {
		return !publicEncoder(key)
	}
	if at := strings.LastIndex(key, "sasl."); at >= 0 && (at == 0 || key[at-1] == '.') {
		return !publicSASL(key[at:])
	}
	last := key[strings.LastIndexByte(key, '.')+1:]
	switch last {
	case "key", "token":
		return true
	}
	// PEM text in the file itself (KIP-651).
	return strings.HasSuffix(key, "ssl.keystore.certificate.chain") || strings.HasSuffix(key, "ssl.truststore.certificates")
}

// publicEncoder: only the secrets of password.encoder.* are secret.
func publicEncoder(key string) bool {
	return strings.HasPrefix(key, "password.encoder.") && !strings.HasSuffix(key, "secret")
}

func publicSASL(key string) bool {
	for _, prefix := range []string{"sasl.mechanism", "sasl.enabled.mechanisms", "sasl.kerberos.", "sasl.login.refresh.", "sasl.server."} {
		if strings.HasPrefix(key, prefix) {
			return true
		}
	}
	for _, suffix := range []string{".class", ".ms", ".seconds", ".name", ".audience", ".issuer"} {
		if strings.HasSuffix(key, suffix) {
			return true
		}
	}
	return false
}

// secretShape knows secrets by their looks, whatever the key is called.
func secretShape(value string) bool {
	v := strings.ToLower(value)
	for _, mark := range []string{"-----begin", "loginmodule", "password=", "password =", "password:", "secret=", "secret:", "stored_key=", "server_key="} {
		if strings.Contains(v, mark) {
			return true
		}
	}
	_, rest, isURL := strings.Cut(v, "://")
	if !isURL {
		return false
	}
	authority, _, _ := strings.Cut(rest, "/")
	user, _, hasUser := strings.Cut(authority, "@")
	return hasUser && strings.Contains(user, ":")
}
