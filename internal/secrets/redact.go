package secrets

import (
	"strings"
	"sync"

	"migrator/internal/config"
	"migrator/internal/configgen"
)

// leastKnown is the shortest value in bytes that is looked for in text: what is
// shorter would cover half of every page and protects nothing.
const leastKnown = 4

// given are the secrets that this process has read, to be covered wherever they
// come back, such as in the output of a command that prints its arguments.
var given struct {
	sync.Mutex
	values map[string]bool
}

func remember(s config.Secret) {
	if len(s.Reveal()) < leastKnown {
		return
	}
	given.Lock()
	defer given.Unlock()
	if given.values == nil {
		given.values = map[string]bool{}
	}
	given.values[s.Reveal()] = true
}

// Redact covers secrets in text from outside: those that were read by this
// process, and lines that look as if they held one.
func Redact(text string) string {
	given.Lock()
	for value := range given.values {
		text = strings.ReplaceAll(text, value, "[redacted]")
	}
	given.Unlock()
	return configgen.RedactText(text)
}
