package findings

import "strings"

// listener is one entry of listeners or advertised.listeners, NAME://host:port.
type listener struct{ name, host, port string }

func listenersOf(text string) []listener {
	var out []listener
	for _, item := range items(text) {
		name, address, ok := strings.Cut(item, "://")
		if !ok {
			continue // Kafka refuses it
		}
		l := listener{name: name, host: address}
		if at := strings.LastIndexByte(address, ':'); at >= 0 {
			l.host, l.port = strings.Trim(address[:at], "[]"), address[at+1:]
		}
		out = append(out, l)
	}
	return out
}

func listenerNames(text string) []string {
	var out []string
	for _, l := range listenersOf(text) {
		out = append(out, l.name)
	}
	return out
}
