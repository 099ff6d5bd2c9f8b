package remote

import (
	"os/exec"
	"testing"
)

func TestWrapper(t *testing.T) {
	t.Run("env", func(t *testing.T) { testNode(t, NewWrapper([]string{"env"})) })
	t.Run("busybox", func(t *testing.T) {
		busybox, err := exec.LookPath("busybox")
		if err != nil {
			t.Skip("busybox is not installed")
		}
		testNode(t, NewWrapper([]string{busybox}))
	})
}
