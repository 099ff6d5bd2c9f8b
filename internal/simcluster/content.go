package simcluster

import (
	"migrator/internal/cluster"
	"migrator/internal/configgen"
)

// content is a properties file as a node reads it, parsed once. Nobody changes
// it: a write puts another one in its place.
type content struct {
	data  []byte
	sha   string
	mode  cluster.Mode
	level int16 // of the inter.broker.protocol.version; 0 where the file has none
	bad   error // why no process starts with it
}

func newContent(data []byte, role cluster.Role) *content {
	f := &content{data: data, sha: sum(data)}
	f.mode, f.bad = configgen.Mode(data, role)
	if role == cluster.Broker && f.mode != cluster.KRaft && f.bad == nil {
		if v, err := configgen.EffectiveIBP(data, kafkaVersion); err == nil {
			f.level, _ = configgen.FeatureLevel(v)
		}
	}
	return f
}
