package kafkaread

import (
	"context"
	"fmt"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// API is what one process says of itself in ApiVersions.
type API struct {
	// HasDescribeQuorum is true for KRaft brokers and controllers only,
	// HasUpdateMetadata for brokers in ZooKeeper mode only, migrating or not.
	HasDescribeQuorum bool
	HasUpdateMetadata bool
	// ZkMigrationReady repeats the process's own zookeeper.metadata.migration.enable.
	ZkMigrationReady bool
	// Finalized are feature levels in force, such as metadata.version; empty
	// for brokers in ZooKeeper mode.
	Finalized map[string]int16
	Supported map[string]Levels
	// Release is the minor release, such as "3.9", told by the requests it
	// serves; empty when they fit none.
	Release string
}

// Levels is the range of levels of a feature that a process supports.
type Levels struct {
	Min int16
	Max int16
}

// api asks one node. The software name and version must not be empty: Kafka
// then answers with an error code and no flags, which reads like a missing flag.
func (n *node) api(ctx context.Context) (API, error) {
	req := kmsg.NewPtrApiVersionsRequest()
	req.ClientSoftwareName, req.ClientSoftwareVersion = "migrator", "1"
	resp, err := ask[*kmsg.ApiVersionsResponse](ctx, n, req)
	if err != nil {
		return API{}, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return API{}, fmt.Errorf("ApiVersions at %s: %w", n.addr, err)
	}
	// Below version 3 the answer has no room for flags and features.
	if resp.Version < 3 || len(resp.ApiKeys) == 0 {
		return API{}, fmt.Errorf("ApiVersions at %s: version %d with %d keys tells no features", n.addr, resp.Version, len(resp.ApiKeys))
	}
	return apiOf(resp), nil
}

func apiOf(resp *kmsg.ApiVersionsResponse) API {
	api := API{ZkMigrationReady: resp.ZkMigrationReady, Release: releaseOf(resp), Finalized: map[string]int16{}, Supported: map[string]Levels{}}
	for _, key := range resp.ApiKeys {
		switch key.ApiKey {
		case keyDescribeQuorum:
			api.HasDescribeQuorum = true
		case keyUpdateMetadata:
			api.HasUpdateMetadata = true
		}
	}
	for _, f := range resp.FinalizedFeatures {
		api.Finalized[f.Name] = f.MaxVersionLevel
	}
	for _, f := range resp.SupportedFeatures {
		api.Supported[f.Name] = Levels{Min: f.MinVersion, Max: f.MaxVersion}
	}
	return api
}
