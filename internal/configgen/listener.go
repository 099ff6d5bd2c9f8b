package configgen

import (
	"fmt"
	"strconv"
	"strings"

	"migrator/internal/cluster"
)

// protocolMap is listener.security.protocol.map in order. Kafka folds the
// names to upper case.
type protocolMap []mapEntry

type mapEntry struct{ name, protocol string }

// defaultMap is Kafka's own when the key is absent. Writing the key at all
// switches it off, so its names must then be written too.
const defaultMap = "PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"

func parseMap(text string) (protocolMap, error) {
	var m protocolMap
	for _, item := range list(text) {
		at := strings.LastIndexByte(item, ':')
		if at <= 0 {
			return nil, fmt.Errorf("listener.security.protocol.map: entry %q is not NAME:PROTOCOL", bounded(item))
		}
		m = append(m, mapEntry{strings.TrimSpace(item[:at]), strings.TrimSpace(item[at+1:])})
	}
	return m, nil
}

func (m protocolMap) protocol(name string) (string, bool) {
	for _, e := range m {
		if strings.EqualFold(e.name, name) {
			return e.protocol, true
		}
	}
	return "", false
}

// withEntry returns the map's text with name:protocol in it. Text that says so
// already stays as it is, and a missing entry goes to the end.
func withEntry(text, name, protocol string) (string, error) {
	m, err := parseMap(text)
	if err != nil {
		return "", err
	}
	now, ok := m.protocol(name)
	if !ok && strings.TrimSpace(text) == "" {
		return name + ":" + protocol, nil
	}
	if !ok {
		return strings.TrimRight(text, " ,") + "," + name + ":" + protocol, nil
	}
	if strings.EqualFold(now, protocol) {
		return text, nil
	}
	var items []string
	for _, e := range m {
		if strings.EqualFold(e.name, name) {
			e.protocol = protocol
		}
		items = append(items, e.name+":"+e.protocol)
	}
	return strings.Join(items, ","), nil
}

// mapText is the map in force: the file's, else Kafka's default.
func mapText(doc *Document) (string, error) {
	text, _, err := plain(doc, "listener.security.protocol.map")
	if err != nil {
		return "", err
	}
	if strings.TrimSpace(text) == "" {
		return defaultMap, nil
	}
	return text, nil
}

// listenerNames are the names in listeners or advertised.listeners. Hosts and
// ports may be placeholders, names may not.
func listenerNames(doc *Document, key string) ([]string, error) {
	text, _ := doc.Value(key)
	var names []string
	for _, item := range list(text) {
		name, _, _ := strings.Cut(item, "://")
		if strings.Contains(name, "${") {
			return nil, fmt.Errorf("%s has a placeholder for a listener's name: write the name itself into the file", key)
		}
		names = append(names, name)
	}
	return names, nil
}

// list splits as Kafka's list type does.
func list(text string) []string {
	var items []string
	for item := range strings.SplitSeq(text, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}

// HostPort is where a node is reached as host:port; it puts an IPv6 address in brackets.
func HostPort(n cluster.Node) string {
	host := n.Host
	if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(n.Port)
}

func voters(nodes []cluster.Node) string {
	var items []string
	for _, n := range nodes {
		items = append(items, strconv.Itoa(int(n.ID))+"@"+HostPort(n))
	}
	return strings.Join(items, ",")
}

func bootstrapServers(nodes []cluster.Node) string {
	var items []string
	for _, n := range nodes {
		items = append(items, HostPort(n))
	}
	return strings.Join(items, ",")
}
