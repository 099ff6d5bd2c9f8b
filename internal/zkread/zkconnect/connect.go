// Package zkconnect reads ZooKeeper connect strings. It is pure, so that the
// configuration can be judged without a client.
package zkconnect

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// DefaultPort is where a member without a port listens.
const DefaultPort = "2181"

// maxLength bounds a connect string; real ones have a few dozen characters per member.
const maxLength = 4096

// Address is a parsed connect string.
type Address struct {
	Servers []string // host:port, in the order given
	Chroot  string   // "" or a path that begins with / and does not end in one
}

// Parse splits "zk1:2181,zk2:2181/kafka" at the first slash after the host
// list, as Kafka does. A chroot after each host is refused with the corrected
// string, because Kafka would take it for a part of the path.
func Parse(s string) (Address, error) {
	if s == "" {
		return Address{}, fmt.Errorf("empty connect string: say host:port,host:port with an optional /chroot at its end")
	}
	if len(s) > maxLength {
		return Address{}, fmt.Errorf("connect string has %d characters, more than %d", len(s), maxLength)
	}
	if i := strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f }); i >= 0 {
		return Address{}, fmt.Errorf("connect string %q has a blank or control character at position %d", s, i+1)
	}
	if strings.Contains(s, "://") {
		return Address{}, fmt.Errorf("connect string %q is a url: say host:port without a scheme", s)
	}
	hosts, path, _ := strings.Cut(s, "/")
	if fixed, ok := perHostChroot(s); ok {
		return Address{}, fmt.Errorf("the chroot stands once, after the last host: say %s", fixed)
	}
	chroot, err := parseChroot(path)
	if err != nil {
		return Address{}, err
	}
	var servers []string
	for _, h := range strings.Split(hosts, ",") {
		server, err := parseServer(h)
		if err != nil {
			return Address{}, err
		}
		if slices.Contains(servers, server) {
			return Address{}, fmt.Errorf("server %s is named twice", server)
		}
		servers = append(servers, server)
	}
	return Address{Servers: servers, Chroot: chroot}, nil
}

// Overlaps says whether two addresses reach the same tree: one common member
// and the same chroot. Two names of one host are not recognised.
func (a Address) Overlaps(b Address) bool {
	if a.Chroot != b.Chroot {
		return false
	}
	return slices.ContainsFunc(a.Servers, func(s string) bool { return slices.Contains(b.Servers, s) })
}

var perHost = regexp.MustCompile(`^[^/,]+(/[^,]*),`)

func perHostChroot(s string) (string, bool) {
	m := perHost.FindStringSubmatch(s)
	if m == nil {
		return "", false
	}
	var hosts []string
	for _, part := range strings.Split(s, ",") {
		host, _, _ := strings.Cut(part, "/")
		hosts = append(hosts, host)
	}
	return strings.Join(hosts, ",") + strings.TrimSuffix(m[1], "/"), true
}

// parseChroot takes the text after the first slash. One trailing slash is
// dropped, a doubled one is refused: ZooKeeper knows no empty name.
func parseChroot(path string) (string, error) {
	path = strings.TrimSuffix(path, "/")
	if path == "" {
		return "", nil
	}
	for _, name := range strings.Split(path, "/") {
		if name == "" || name == "." || name == ".." {
			return "", fmt.Errorf("chroot /%s has an empty or relative name in it", path)
		}
	}
	return "/" + path, nil
}

func parseServer(h string) (string, error) {
	if h == "" {
		return "", fmt.Errorf("empty host between commas")
	}
	host, port := h, DefaultPort
	switch {
	case strings.HasPrefix(h, "["):
		end := strings.Index(h, "]")
		if end < 0 {
			return "", fmt.Errorf("server %q: the bracket of an IPv6 address is not closed", h)
		}
		host = h[:end+1]
		if rest := h[end+1:]; rest != "" {
			if !strings.HasPrefix(rest, ":") {
				return "", fmt.Errorf("server %q: text after the IPv6 address is not :port", h)
			}
			port = rest[1:]
		}
	case strings.Count(h, ":") > 1:
		return "", fmt.Errorf("server %q: put an IPv6 address into brackets", h)
	case strings.Contains(h, ":"):
		host, port, _ = strings.Cut(h, ":")
	}
	if host == "" || host == "[]" {
		return "", fmt.Errorf("server %q has no host", h)
	}
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 {
		return "", fmt.Errorf("server %q: port is not a number from 1 to 65535", h)
	}
	return host + ":" + strconv.Itoa(n), nil
}
