package survey

import (
	"context"
	"fmt"
	"sync"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/facts"
	"migrator/internal/findings"
	"migrator/internal/kafkaread"
)

// askLimit bounds one question to one broker.
const askLimit = 5 * time.Second

// brokers asks every broker of the inventory, all at once, what it runs with.
func brokers(ctx context.Context, m config.Migration, s *findings.Survey) {
	s.Effective, s.LogDirs, s.Releases = map[int32]facts.Fact[[]facts.Setting]{}, map[int32]facts.Fact[[]findings.LogDir]{}, map[int32]facts.Fact[string]{}
	client, err := connect.Brokers(m.Kafka)
	if err != nil {
		return // config has judged the addresses; without a client every fact stays unknown
	}
	defer client.Close()
	at := map[int32]facts.MetadataBroker{}
	md, known := s.Snapshot.Metadata.Get()
	for _, b := range md.Brokers {
		at[b.ID] = b
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	for _, n := range m.Inventory().Brokers {
		wg.Go(func() {
			b, live := at[n.ID]
			a := answers{}
			switch {
			case !known:
				a.none("Metadata through brokers: " + s.Snapshot.Metadata.Cause())
			case !live:
				a.none(n.Name() + " is not among the brokers that Metadata names")
			default:
				a.ask(ctx, client, b)
			}
			mu.Lock()
			defer mu.Unlock()
			s.Effective[n.ID], s.LogDirs[n.ID], s.Releases[n.ID] = a.settings, a.dirs, a.release
		})
	}
	wg.Wait()
}

// answers is what one broker said.
type answers struct {
	settings facts.Fact[[]facts.Setting]
	dirs     facts.Fact[[]findings.LogDir]
	release  facts.Fact[string]
}

func (a *answers) none(cause string) {
	begun := time.Now()
	a.settings = facts.Unknown[[]facts.Setting](cause, "DescribeConfigs", begun)
	a.dirs = facts.Unknown[[]findings.LogDir](cause, "DescribeLogDirs", begun)
	a.release = facts.Unknown[string](cause, "ApiVersions", begun)
}

// Settings leaves out what a broker says of secrets, were it to say anything.
func Settings(list []kafkaread.Setting) []facts.Setting {
	out := make([]facts.Setting, 0, len(list))
	for _, s := range list {
		one := facts.Setting{Name: s.Name, Null: s.Value == nil, Sensitive: s.Sensitive, Source: s.Source}
		if s.Value != nil && !s.Sensitive {
			one.Value = *s.Value
		}
		out = append(out, one)
	}
	return out
}

func (a *answers) ask(ctx context.Context, client *kafkaread.Brokers, b facts.MetadataBroker) {
	a.settings = answer(ctx, "DescribeConfigs", b, func(ctx context.Context) ([]facts.Setting, error) {
		list, err := client.Settings(ctx, b.Host, b.Port, b.ID)
		return Settings(list), err
	})
	a.dirs = answer(ctx, "DescribeLogDirs", b, func(ctx context.Context) ([]findings.LogDir, error) {
		list, err := client.LogDirs(ctx, b.Host, b.Port)
		out := make([]findings.LogDir, 0, len(list))
		for _, d := range list {
			one := findings.LogDir{Path: d.Path, Offline: d.Err != nil}
			if d.Err != nil {
				one.Error = d.Err.Error()
			}
			out = append(out, one)
		}
		return out, err
	})
	a.release = answer(ctx, "ApiVersions", b, func(ctx context.Context) (string, error) {
		api, err := client.API(ctx, b.Host, b.Port)
		return api.Release, err
	})
}

// answer is one question with its time limit, as a fact.
func answer[T any](ctx context.Context, what string, b facts.MetadataBroker, ask func(context.Context) (T, error)) facts.Fact[T] {
	source := fmt.Sprintf("%s of broker %d", what, b.ID)
	begun := time.Now()
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	v, err := ask(ctx)
	if err != nil {
		return facts.Unknown[T](findings.Bounded(err.Error()), source, begun)
	}
	return facts.Known(v, source, begun)
}
