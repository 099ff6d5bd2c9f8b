package orchestrate_test

import (
	"os"
	"runtime/debug"
	"testing"
)

// Thousands of short lives leave garbage and keep nothing.
func TestMain(m *testing.M) {
	debug.SetGCPercent(800)
	os.Exit(m.Run())
}
