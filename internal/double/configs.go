package double

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"migrator/internal/znodebackup"
)

// machine are words in the keys of dynamic broker settings that speak of
// another machine's files, addresses or secrets: a local broker would not start.
var machine = []string{"ssl.", "sasl.", "password", "keystore", "truststore", "jaas", "listener", "log.dir", "principal", "metric.reporters", "class"}

// brokerConfig keeps the cluster's default, and of the brokers that share a
// local one the settings of the first.
func (f *folder) brokerConfig(z znodebackup.Znode) {
	name := strings.TrimPrefix(z.Path, "/config/brokers/")
	if name == "<default>" {
		f.keep(z.Path, f.settings(z.Data))
		return
	}
	id, err := strconv.ParseInt(name, 10, 32)
	to, known := f.to[int32(id)]
	switch {
	case err != nil || !known:
		f.note("settings of brokers left out that the tree does not name")
	case f.configs[to]:
		f.note("settings of brokers left out that share a local broker with another one's")
	default:
		if f.configs == nil {
			f.configs = map[int32]bool{}
		}
		f.configs[to] = true
		f.keep("/config/brokers/"+strconv.Itoa(int(to)), f.settings(z.Data))
	}
}

func (f *folder) settings(data []byte) []byte {
	return f.config(data, func(key, value string) (string, bool) {
		if slices.ContainsFunc(machine, func(word string) bool { return strings.Contains(key, word) }) {
			f.note("dynamic broker settings left out: files, addresses or secrets of other machines")
			return "", false
		}
		return value, true
	})
}

// credentials replaces SCRAM credentials by random ones of the same form.
func (f *folder) credentials(data []byte) []byte {
	return f.config(data, func(key, value string) (string, bool) {
		if !strings.HasPrefix(key, "SCRAM-") {
			return value, true
		}
		f.note("SCRAM credentials replaced by random ones")
		return f.scram(value), true
	})
}

// scram keeps what is no base64 as it is: a broken credential must be seen.
func (f *folder) scram(value string) string {
	parts := strings.Split(value, ",")
	for i, part := range parts {
		name, text, _ := strings.Cut(part, "=")
		if name != "salt" && name != "stored_key" && name != "server_key" {
			continue
		}
		if old, err := base64.StdEncoding.DecodeString(text); err == nil && len(old) > 0 {
			parts[i] = name + "=" + base64.StdEncoding.EncodeToString(f.random(len(old)))
		}
	}
	return strings.Join(parts, ",")
}

// config edits the entries of a configuration; what cannot be understood stays.
func (f *folder) config(data []byte, edit func(key, value string) (string, bool)) []byte {
	var doc map[string]json.RawMessage
	var entries map[string]string
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(doc["config"], &entries) != nil {
		return data
	}
	out := map[string]string{}
	for key, value := range entries {
		if value, ok := edit(key, value); ok {
			out[key] = value
		}
	}
	raw, err := json.Marshal(out)
	if err != nil {
		return data
	}
	doc["config"] = raw
	if edited, err := json.Marshal(doc); err == nil {
		return edited
	}
	return data
}

// producerIDs gives the block to a local broker.
func (f *folder) producerIDs(data []byte) []byte {
	var doc map[string]json.RawMessage
	var v struct {
		Broker *int32 `json:"broker"`
	}
	if json.Unmarshal(data, &doc) != nil || json.Unmarshal(data, &v) != nil || v.Broker == nil {
		return data
	}
	to, ok := f.to[*v.Broker]
	if !ok {
		to = f.local[0]
	}
	doc["broker"] = json.RawMessage(strconv.Itoa(int(to)))
	if edited, err := json.Marshal(doc); err == nil {
		return edited
	}
	return data
}
