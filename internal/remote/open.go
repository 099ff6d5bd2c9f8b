package remote

import (
	"fmt"

	"migrator/internal/config"
	"migrator/internal/secrets"
)

// Open gives the node that an access describes.
func Open(access config.Access) (Node, error) {
	switch access.Kind {
	case "local":
		return &Local{Redact: secrets.Redact}, nil
	case "wrapper":
		if len(access.Argv) == 0 {
			return nil, errNoPrefix
		}
		return NewWrapper(access.Argv, secrets.Redact), nil
	case "ssh":
		node := NewSSH(access)
		node.Redact, node.on.redact = secrets.Redact, secrets.Redact
		return node, nil
	case "manual":
		return NewManual(access.Files), nil
	default:
		return nil, fmt.Errorf("access kind %q is unknown: want local, ssh, wrapper or manual", access.Kind)
	}
}
