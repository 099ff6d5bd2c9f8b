package secrets_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"migrator/internal/cluster"
	"migrator/internal/config"
	"migrator/internal/secrets"
)

func TestEachSourceGivesItsSecretAndNoLineEnd(t *testing.T) {
	t.Setenv("A_SECRET", "from env")
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte("from file\r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, source := range map[string]*config.SecretSource{
		"from env":     {Env: "A_SECRET"},
		"from file":    {File: file},
		"from command": {Command: []string{"echo", "from command"}},
		"":             nil,
	} {
		got, err := secrets.Read(t.Context(), source)
		if err != nil || got.Reveal() != want {
			t.Errorf("%v: got %q, %v", source, got.Reveal(), err)
		}
	}
}

func TestAnErrorNamesTheSourceAndNeverWhatItSaid(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("EMPTY", "")
	big := filepath.Join(dir, "big")
	if err := os.WriteFile(big, []byte(strings.Repeat("hush", 20_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for says, source := range map[string]*config.SecretSource{
		"variable NOWHERE: it is not set": {Env: "NOWHERE"},
		"variable EMPTY: it is empty":     {Env: "EMPTY"},
		"absent: no such file":            {File: filepath.Join(dir, "absent")},
		"not a regular file":              {File: dir},
		"more than 65536 bytes":           {File: big},
		"command sh: it ended with exit":  {Command: []string{"sh", "-c", "echo hush; echo hush >&2; exit 3"}},
		"command no-such-program":         {Command: []string{"no-such-program", "hush"}},
		"command true: it is empty":       {Command: []string{"true"}},
		"command head: more than 65536":   {Command: []string{"head", "-c", "100000", "/dev/zero"}},
	} {
		_, err := secrets.Read(t.Context(), source)
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "hush") {
			t.Errorf("want an error with %q and without the secret, got %v", says, err)
		}
	}
}

func TestSettingsAreFilledAndOneThatFailsIsNamed(t *testing.T) {
	t.Setenv("JAAS", "x required password=p;")
	m := config.Migration{Nodes: []config.Node{{Node: cluster.Node{ID: 3001, Role: cluster.Controller},
		Settings: []config.Setting{{Key: "a", Value: "1"}, {Key: "sasl.jaas.config", Secret: &config.SecretSource{Env: "JAAS"}}}}}}
	if err := secrets.Fill(t.Context(), &m); err != nil || m.Nodes[0].Settings[1].Value != "x required password=p;" {
		t.Errorf("got %v, %v", m.Nodes[0].Settings, err)
	}
	shown := config.Migration{Nodes: []config.Node{{Settings: []config.Setting{{Key: "log.dirs", Secret: &config.SecretSource{Env: "JAAS"}}}}}}
	if err := secrets.Fill(t.Context(), &shown); err == nil || !strings.Contains(err.Error(), "no key of this name is hidden") {
		t.Errorf("a secret under a key that is shown: %v", err)
	}
	t.Setenv("JAAS", "two\nlines")
	err := secrets.Fill(context.Background(), &m)
	if err == nil || !strings.Contains(err.Error(), "setting sasl.jaas.config of controller 3001") || strings.Contains(fmt.Sprint(err), "two") {
		t.Errorf("got %v", err)
	}
}

func TestWhatWasReadIsCoveredWhereverItComesBack(t *testing.T) {
	t.Setenv("PLANTED", "tr0ub4dor&3")
	if _, err := secrets.Read(t.Context(), &config.SecretSource{Env: "PLANTED"}); err != nil {
		t.Fatal(err)
	}
	text := "starting with tr0ub4dor&3\nssl.keystore.password=changeit\nLoginModule required username=a password=\"b\";\nuser https://me:pass@host/x\n" +
		"key -----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49\n-----END PRIVATE KEY-----\nexit 1: no such host\n"
	got := secrets.Redact(text)
	for _, hush := range []string{"tr0ub4dor", "changeit", `"b"`, "me:pass", "MIGHAgE"} {
		if strings.Contains(got, hush) {
			t.Errorf("%q is still in:\n%s", hush, got)
		}
	}
	for _, kept := range []string{"starting with [redacted]", "ssl.keystore.password=", "exit 1: no such host"} {
		if !strings.Contains(got, kept) {
			t.Errorf("%q is gone from:\n%s", kept, got)
		}
	}
}
