package configgen

import (
	"fmt"
	"slices"
	"strings"
)

// defaultLogDir is Kafka's own default of log.dir.
const defaultLogDir = "/tmp/kafka-logs"

// LogDirs lists the folders that a node with this file writes a
// meta.properties to: log.dirs before log.dir, and metadata.log.dir, each once.
func LogDirs(file []byte) ([]string, error) {
	doc, err := Parse(file)
	if err != nil {
		return nil, err
	}
	dirs := defaultLogDir
	for _, key := range []string{"log.dirs", "log.dir"} {
		if v, ok := doc.Value(key); ok && strings.TrimSpace(v) != "" {
			dirs = v
			break
		}
	}
	metadata, _ := doc.Value("metadata.log.dir")
	var out []string
	for _, dir := range append(strings.Split(dirs, ","), metadata) {
		dir = strings.TrimSpace(dir)
		if strings.Contains(dir, "${") {
			return nil, fmt.Errorf("%s has a placeholder that something else replaces: write the folder itself into the file", bounded(dir))
		}
		if dir != "" && !slices.Contains(out, dir) {
			out = append(out, dir)
		}
	}
	return out, nil
}
