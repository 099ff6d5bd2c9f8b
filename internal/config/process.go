package config

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"
)

// Process is what one process of migrator needs besides migrations.yaml.
type Process struct {
	Listen   string // host:port of the API and the page
	DataDir  string // the store; empty when the command has none
	LogLevel slog.Level
	Server   string // base URL that commands talk to
	Token    Secret // empty: no token
}

// Secret is text that prints redacted in every format.
type Secret struct{ text string }

// NewSecret wraps text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal gives the text to the one place that needs it.
func (s Secret) Reveal() string { return s.text }

// Empty says whether there is no secret.
func (s Secret) Empty() bool { return s.text == "" }

const redacted = "[redacted]"

// String hides the text.
func (s Secret) String() string { return redacted }

// Format hides the text from every verb, %#v and %x included.
func (s Secret) Format(f fmt.State, _ rune) { fmt.Fprint(f, redacted) }

// LogValue hides the text from slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText hides the text from JSON and YAML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// LoadProcess reads the flags listen, data, log-level and server where the
// command has them, else MIGRATOR_LISTEN, MIGRATOR_DATA and so on, else the
// defaults. The token comes from MIGRATOR_TOKEN only: an argument is visible to
// every user of the machine.
func LoadProcess(flags *pflag.FlagSet) (Process, error) {
	v := viper.NewWithOptions(viper.KeyDelimiter("::"))
	v.SetEnvPrefix("MIGRATOR")
	v.SetEnvKeyReplacer(strings.NewReplacer("-", "_"))
	v.AutomaticEnv()
	for key, value := range map[string]string{"listen": "127.0.0.1:8420", "data": "", "log-level": "info",
		"server": "http://127.0.0.1:8420", "token": ""} {
		v.SetDefault(key, value)
		if flags == nil || key == "token" || flags.Lookup(key) == nil {
			continue
		}
		if err := v.BindPFlag(key, flags.Lookup(key)); err != nil {
			return Process{}, fmt.Errorf("bind flag --%s: %w", key, err)
		}
	}
	p := Process{
		Listen:  v.GetString("listen"),
		DataDir: v.GetString("data"),
		Server:  strings.TrimSuffix(v.GetString("server"), "/"),
		Token:   NewSecret(strings.TrimSpace(v.GetString("token"))),
	}
	return p, p.judge(v.GetString("log-level"))
}

func (p *Process) judge(level string) error {
	if _, port, err := net.SplitHostPort(p.Listen); err != nil {
		return fmt.Errorf("listen address %q: say host:port: %w", p.Listen, err)
	} else if !validPort(port) && port != "0" {
		return fmt.Errorf("listen address %q: port is not a number from 0 to 65535", p.Listen)
	}
	u, err := url.Parse(p.Server)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil {
		return fmt.Errorf("server must be a URL such as http://127.0.0.1:8420, without a user or password")
	}
	switch level {
	case "debug", "info", "warn", "error":
		return p.LogLevel.UnmarshalText([]byte(level))
	}
	return fmt.Errorf("log level %q: say debug, info, warn or error", level)
}
