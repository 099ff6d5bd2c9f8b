package config_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"migrator/internal/config"
)

func TestAFlagWinsOverTheEnvironmentWhichWinsOverTheDefault(t *testing.T) {
	t.Setenv("MIGRATOR_LISTEN", "127.0.0.1:1")
	t.Setenv("MIGRATOR_LOG_LEVEL", "debug")
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.String("listen", "127.0.0.1:8420", "")
	flags.String("data", "", "")
	if err := flags.Parse([]string{"--data", "/var/lib/migrator"}); err != nil {
		t.Fatal(err)
	}
	p, err := config.LoadProcess(flags)
	if err != nil {
		t.Fatal(err)
	}
	if p.Listen != "127.0.0.1:1" || p.DataDir != "/var/lib/migrator" || p.LogLevel != slog.LevelDebug || p.Server != "http://127.0.0.1:8420" {
		t.Errorf("got %+v", p)
	}
	if err := flags.Set("listen", "127.0.0.1:2"); err != nil {
		t.Fatal(err)
	}
	if p, err = config.LoadProcess(flags); err != nil || p.Listen != "127.0.0.1:2" {
		t.Errorf("got %q, %v", p.Listen, err)
	}
}

func TestBadProcessSettingsAreRefused(t *testing.T) {
	for name, value := range map[string]string{
		"MIGRATOR_LISTEN": "8420", "MIGRATOR_LOG_LEVEL": "loud", "MIGRATOR_SERVER": "localhost:8420",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			if _, err := config.LoadProcess(nil); err == nil {
				t.Errorf("%s=%s was accepted", name, value)
			}
		})
	}
}

func TestATokenNeverPrints(t *testing.T) {
	t.Setenv("MIGRATOR_TOKEN", "s3cret")
	p, err := config.LoadProcess(nil)
	if err != nil {
		t.Fatal(err)
	}
	if p.Token.Reveal() != "s3cret" {
		t.Error("the token is not the one of the environment")
	}
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("p", "token", p.Token, "all", p)
	js, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{fmt.Sprintf("%v %+v %#v %s %q %x", p, p, p, p.Token, p.Token, p.Token), log.String(), string(js)} {
		if strings.Contains(out, "s3cret") || strings.Contains(out, fmt.Sprintf("%x", "s3cret")) {
			t.Errorf("the token shows: %s", out)
		}
	}
}
