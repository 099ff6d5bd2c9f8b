package phases

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"migrator/internal/cluster"
	"migrator/internal/configgen"
)

// dynamicLevel is the first level of metadata.version that knows kraft.version
// 1, which `format --initial-controllers` sets (KIP-853: 3.9-IV0).
const dynamicLevel = "3.9-IV0"

// initialControllers is what every controller of a dynamic quorum is formatted
// with, id@host:port:directory of each. The directory ids follow from the
// cluster, the node and the attempt: each format command of a plan must say the
// same, and a folder of an earlier attempt must not pass for a voter of this one.
func initialControllers(clusterID string, attempt int, controllers []cluster.Node) string {
	out := make([]string, 0, len(controllers))
	for _, n := range controllers {
		out = append(out, fmt.Sprintf("%d@%s:%s", n.ID, configgen.HostPort(n), directoryID(clusterID, attempt, n.ID)))
	}
	return strings.Join(out, ",")
}

// directoryID is a uuid as Kafka writes it: 16 bytes in base64 of the URL kind,
// of version 4, so that none of Kafka's reserved ones comes out.
func directoryID(clusterID string, attempt int, id int32) string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s/%d/%d", clusterID, attempt, id))
	uuid := sum[:16]
	uuid[0] &= 0x7f // no text that begins with a dash, which a tool takes for an option
	uuid[6] = uuid[6]&0x0f | 0x40
	uuid[8] = uuid[8]&0x3f | 0x80
	return base64.RawURLEncoding.EncodeToString(uuid)
}

// formatValues replaces what the format command is told only now.
func (b *builder) formatValues(metadataVersion string) (*strings.Replacer, error) {
	m := b.in.Migration
	values := []string{"{cluster_id}", b.in.ClusterID, "{metadata_version}", metadataVersion}
	if m.Quorum.Mode == configgen.DynamicQuorum {
		have, err := configgen.FeatureLevel(metadataVersion)
		if err != nil {
			return nil, err
		}
		need, err := configgen.FeatureLevel(dynamicLevel)
		if err != nil {
			return nil, err
		}
		if have < need {
			return nil, fmt.Errorf("a dynamic quorum needs metadata version %s, and the brokers' inter.broker.protocol.version is %s: raise it to 3.9 first, or say quorum.mode: static", dynamicLevel, metadataVersion)
		}
		values = append(values, "{initial_controllers}", initialControllers(b.in.ClusterID, b.in.Attempt, m.Inventory().Controllers))
	}
	return strings.NewReplacer(values...), nil
}
