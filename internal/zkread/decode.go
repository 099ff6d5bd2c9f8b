package zkread

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// maxJSON bounds the text of one znode; the server's own limit is usually 1 MiB.
const maxJSON = 16 << 20

// decode reads JSON and names the path in its fault. The first bytes are
// shown, so it must not be used where a znode can hold a secret.
func decode(path string, data []byte, into any) *NodeError {
	switch {
	case data == nil:
		return &NodeError{Path: path, Reason: "exists without data (null)"}
	case len(data) == 0:
		return &NodeError{Path: path, Reason: "exists with empty data"}
	case len(data) > maxJSON:
		return &NodeError{Path: path, Reason: fmt.Sprintf("%d bytes, more than %d", len(data), maxJSON)}
	case !utf8.Valid(data):
		return &NodeError{Path: path, Reason: "not utf-8; " + head(data)}
	}
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return &NodeError{Path: path, Reason: "not a json object; " + head(data)}
	}
	if err := json.Unmarshal(data, into); err != nil {
		return &NodeError{Path: path, Reason: fmt.Sprintf("%s; %s", bounded(err.Error()), head(data))}
	}
	return nil
}

func head(data []byte) string {
	return fmt.Sprintf("%d bytes that begin with % x", len(data), data[:min(len(data), 16)])
}

// bounded keeps hostile text short and printable.
func bounded(s string) string {
	if len(s) > 200 {
		s = s[:200] + "..."
	}
	q := strconv.Quote(s)
	return q[1 : len(q)-1]
}

func missing(path, field string) *NodeError {
	return &NodeError{Path: path, Reason: "field " + field + " is missing"}
}

// number reads the plain decimal name of a broker or partition znode.
func number(s string) (int32, bool) {
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != s {
		return 0, false
	}
	return int32(n), true
}

// isUUID accepts Kafka's text form of an id: 16 bytes in url-safe base64
// without padding, 22 characters.
func isUUID(s string) bool {
	b, err := base64.RawURLEncoding.DecodeString(s)
	return err == nil && len(b) == 16 && len(s) == 22
}
