package canary

import (
	"errors"
	"testing"
)

func TestTopicIsMadeAndDeletedOnce(t *testing.T) {
	cluster := fakeCluster(t)
	own := Cluster{Bootstrap: cluster.ListenAddrs()}
	for range 2 {
		if err := CreateTopic(t.Context(), own, topic, 3, 3, 2); err != nil {
			t.Fatal(err)
		}
	}
	if exists, ours, err := TopicExists(t.Context(), own, topic); !exists || !ours || err != nil {
		t.Errorf("after creation: exists %v, ours %v, %v", exists, ours, err)
	}
	if n := len(cluster.PartitionInfos(topic)); n != 3 {
		t.Errorf("%d partitions", n)
	}
	if _, _, err := ElectPreferred(t.Context(), own, nil); err != nil {
		t.Error(err)
	}
	for range 2 {
		if err := DeleteTopic(t.Context(), own, topic); err != nil {
			t.Fatal(err)
		}
	}
	if exists, _, err := TopicExists(t.Context(), own, topic); exists || err != nil {
		t.Errorf("after deletion: exists %v, %v", exists, err)
	}
}

func TestAnothersTopicIsNeitherUsedNorDeleted(t *testing.T) {
	cluster := fakeCluster(t)
	own := Cluster{Bootstrap: cluster.ListenAddrs()}
	// One of the two marks may be there by chance.
	if err := cluster.CreateTopic(topic, 1, map[string]string{"retention.ms": markRetention}); err != nil {
		t.Fatal(err)
	}
	_, startErr := Start(t.Context(), Options{Cluster: own, Topic: topic})
	for deed, err := range map[string]error{
		"create": CreateTopic(t.Context(), own, topic, 3, 3, 2),
		"delete": DeleteTopic(t.Context(), own, topic),
		"start":  startErr,
	} {
		if !errors.Is(err, ErrForeignTopic) {
			t.Errorf("%s: %v", deed, err)
		}
	}
	if cluster.TopicInfo(topic) == nil {
		t.Error("the topic is gone")
	}
}
