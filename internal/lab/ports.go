package lab

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// Ports of a cluster are reserved for its whole life: a broker that is down
// for a restart must find its port free again. So they lie below the kernel's
// ephemeral range, where no outgoing connection ever takes one, and a lock
// file for each keeps a second cluster away while nothing listens.

const (
	lowestPort    = 10240
	ephemeralFrom = 32768 // Linux' default
	portSpan      = 12000
)

// reservation holds ports until release.
type reservation struct {
	ports []int
	locks []*os.File
}

// locksFolder is one for all clusters of this machine, so it does not follow
// TMPDIR.
const locksFolder = "/tmp/migrator-lab-ports"

// reserve takes n free ports and locks them in folder.
func reserve(folder string, n int) (*reservation, error) {
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return nil, fmt.Errorf("reserve ports: %w", err)
	}
	// The umask may have cut the mode, and the folder may be another user's.
	_ = os.Chmod(folder, 0o777|os.ModeSticky)
	high := ephemeralStart()
	low := max(lowestPort, high-portSpan)
	if high-low < n {
		return nil, fmt.Errorf("reserve %d ports: the kernel's ephemeral range starts at %d and leaves no room above %d", n, high, low)
	}
	r := &reservation{}
	start := rand.IntN(high - low)
	for i := 0; i < high-low && len(r.ports) < n; i++ {
		port := low + (start+i)%(high-low)
		if lock, ok := take(folder, port); ok {
			r.ports = append(r.ports, port)
			r.locks = append(r.locks, lock)
		}
	}
	if len(r.ports) < n {
		return nil, errors.Join(fmt.Errorf("reserve ports: %d of %d free between %d and %d", len(r.ports), n, low, high), r.release())
	}
	return r, nil
}

// release gives the ports back. The lock files stay: removing one while
// another process opens it would let two hold "the" lock.
func (r *reservation) release() error {
	var errs []error
	for _, lock := range r.locks {
		errs = append(errs, lock.Close())
	}
	r.locks = nil
	return errors.Join(errs...)
}

// take locks one port if no other cluster has it and nothing listens on it.
func take(folder string, port int) (*os.File, bool) {
	name := filepath.Join(folder, strconv.Itoa(port)+".lock")
	lock, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o666)
	if err != nil {
		return nil, false
	}
	_ = os.Chmod(name, 0o666) // another user's clusters lock it as well
	if syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil || !bindable(port) {
		_ = lock.Close()
		return nil, false
	}
	return lock, true
}

func bindable(port int) bool {
	for _, host := range []string{"127.0.0.1", ""} {
		listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
		if err != nil {
			return false
		}
		_ = listener.Close()
	}
	return true
}

// ephemeralStart is where the kernel begins to hand out ports by itself.
func ephemeralStart() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return ephemeralFrom
	}
	fields := strings.Fields(string(text))
	if len(fields) != 2 {
		return ephemeralFrom
	}
	start, err := strconv.Atoi(fields[0])
	if err != nil {
		return ephemeralFrom
	}
	return min(start, ephemeralFrom)
}
