package lab

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
)

// DefaultVersion is the Kafka version of a cluster that asks for none.
const DefaultVersion = "3.9.2"

// jarsEnv names a folder that holds kafka-VERSION folders.
const jarsEnv = "MIGRATOR_LAB_JARS"

// jarsScript is the script behind `make jars`, carried along so that a binary
// without its source tree can get the jars too.
//
//go:embed jars.sh
var jarsScript []byte

// ErrNoJars says that the jars of a Kafka version are not on this machine.
var ErrNoJars = errors.New("jars are not there")

// Jars is the software of one Kafka version on this machine.
type Jars struct {
	Version string
	Home    string // folder whose libs holds every jar
}

func jarsHome(root, version string) string { return filepath.Join(root, "kafka-"+version) }

// FindJars looks for the jars of a Kafka version ("" = DefaultVersion): in the
// folder that MIGRATOR_LAB_JARS names, else in .lab beside the go.mod above the
// working directory, else in the user's cache. The error is ErrNoJars when
// there are none.
func FindJars(version string) (Jars, error) {
	if version == "" {
		version = DefaultVersion
	}
	root, err := jarsRoot()
	if err != nil {
		return Jars{}, err
	}
	home := jarsHome(root, version)
	if _, err := os.Stat(filepath.Join(home, "complete")); err != nil {
		if !errors.Is(err, fs.ErrNotExist) {
			return Jars{}, fmt.Errorf("look for the jars of Kafka %s: %w", version, err)
		}
		return Jars{}, fmt.Errorf("kafka %s in %s: %w; get them with: make jars KAFKA_VERSION=%s", version, home, ErrNoJars, version)
	}
	return Jars{Version: version, Home: home}, nil
}

// EnsureJars finds the jars of a Kafka version and gets them through Maven
// when they are absent, which needs a network; progress goes to stderr.
func EnsureJars(ctx context.Context, version string, stderr io.Writer) (Jars, error) {
	found, err := FindJars(version)
	if !errors.Is(err, ErrNoJars) {
		return found, err
	}
	if version == "" {
		version = DefaultVersion
	}
	root, err := jarsRoot()
	if err != nil {
		return Jars{}, err
	}
	if err := runJarsScript(ctx, version, jarsHome(root, version), stderr); err != nil {
		return Jars{}, fmt.Errorf("get the jars of Kafka %s: %w", version, err)
	}
	return FindJars(version)
}

func runJarsScript(ctx context.Context, version, home string, stderr io.Writer) error {
	script, err := os.CreateTemp("", "jars-*.sh")
	if err != nil {
		return err
	}
	defer os.Remove(script.Name())
	_, err = script.Write(jarsScript)
	if err := errors.Join(err, script.Close()); err != nil {
		return fmt.Errorf("write %s: %w", script.Name(), err)
	}
	cmd := exec.CommandContext(ctx, "sh", script.Name(), version, home)
	cmd.Stdout, cmd.Stderr = stderr, stderr
	return cmd.Run()
}

// jarsRoot is the folder that holds, or will hold, the kafka-VERSION folders.
func jarsRoot() (string, error) {
	if root := os.Getenv(jarsEnv); root != "" {
		return filepath.Abs(root)
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("look for .lab: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return filepath.Join(dir, ".lab"), nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no go.mod above the working directory, %s is not set and there is no cache folder: %w", jarsEnv, err)
	}
	return filepath.Join(cache, "migrator", "lab"), nil
}

// oldestJava is the Java that Kafka 4 brokers need; 3.x is content with it.
const oldestJava = 17

// FindJava returns the path of a java of version 17 or later, from JAVA_HOME or PATH.
func FindJava(ctx context.Context) (string, error) {
	java := "java"
	if home := os.Getenv("JAVA_HOME"); home != "" {
		java = filepath.Join(home, "bin", "java")
	}
	path, err := exec.LookPath(java)
	if err != nil {
		return "", fmt.Errorf("java %d or later is missing (Debian, Ubuntu: openjdk-%d-jdk-headless; `make jars` as root installs it): %w", oldestJava, oldestJava, err)
	}
	said, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("run %s -version: %w: %s", path, err, bounded(said))
	}
	match := regexp.MustCompile(`version "(\d+)`).FindSubmatch(said)
	if match == nil {
		return "", fmt.Errorf("%s -version names no version: %s", path, bounded(said))
	}
	if major, err := strconv.Atoi(string(match[1])); err != nil || major < oldestJava {
		return "", fmt.Errorf("%s is Java %s, the lab needs %d or later", path, match[1], oldestJava)
	}
	return path, nil
}

// bounded cuts what a process said for use in an error.
func bounded(text []byte) string {
	const limit = 2000
	if len(text) > limit {
		text = text[len(text)-limit:]
	}
	return string(text)
}
