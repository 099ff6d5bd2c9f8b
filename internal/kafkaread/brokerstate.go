package kafkaread

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	"github.com/twmb/franz-go/pkg/kmsg"
	"github.com/twmb/franz-go/pkg/kversion"
)

// Setting is one setting a broker runs with. Value is nil for a sensitive one
// and for null.
type Setting struct {
	Name      string
	Value     *string
	Sensitive bool
	// Source is where the value in force comes from: dynamic-broker,
	// dynamic-default, static, default, or other.
	Source string
}

// Settings asks one broker for everything it runs with.
func (b *Brokers) Settings(ctx context.Context, host string, port int, id int32) ([]Setting, error) {
	n, err := b.node(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeConfigsRequest()
	resource := kmsg.NewDescribeConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeBroker, strconv.Itoa(int(id))
	req.Resources = append(req.Resources, resource)
	resp, err := ask[*kmsg.DescribeConfigsResponse](ctx, n, req)
	if err != nil {
		return nil, err
	}
	if len(resp.Resources) != 1 {
		return nil, fmt.Errorf("DescribeConfigs at %s: %d answers to one question", n.addr, len(resp.Resources))
	}
	answer := resp.Resources[0]
	if err := codeErr(answer.ErrorCode); err != nil {
		return nil, fmt.Errorf("DescribeConfigs of broker %d at %s: %w", id, n.addr, err)
	}
	out := make([]Setting, 0, len(answer.Configs))
	for _, c := range answer.Configs {
		out = append(out, Setting{Name: c.Name, Value: c.Value, Sensitive: c.IsSensitive, Source: sourceOf(c.Source)})
	}
	return out, nil
}

func sourceOf(s kmsg.ConfigSource) string {
	switch s {
	case kmsg.ConfigSourceDynamicBrokerConfig:
		return "dynamic-broker"
	case kmsg.ConfigSourceDynamicDefaultBrokerConfig:
		return "dynamic-default"
	case kmsg.ConfigSourceStaticBrokerConfig:
		return "static"
	case kmsg.ConfigSourceDefaultConfig:
		return "default"
	}
	return "other"
}

// LogDir is one log directory as its broker sees it; Err is why it cannot use it.
type LogDir struct {
	Path string
	Err  error
}

// LogDirs asks one broker for its log directories, without their contents.
func (b *Brokers) LogDirs(ctx context.Context, host string, port int) ([]LogDir, error) {
	n, err := b.node(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	req := kmsg.NewPtrDescribeLogDirsRequest()
	req.Topics = []kmsg.DescribeLogDirsRequestTopic{} // null would list every partition
	resp, err := ask[*kmsg.DescribeLogDirsResponse](ctx, n, req)
	if err != nil {
		return nil, err
	}
	if err := codeErr(resp.ErrorCode); err != nil {
		return nil, fmt.Errorf("DescribeLogDirs at %s: %w", n.addr, err)
	}
	if len(resp.Dirs) == 0 {
		// Before version 3 a refusal is an empty answer.
		return nil, fmt.Errorf("DescribeLogDirs at %s names no directory", n.addr)
	}
	out := make([]LogDir, 0, len(resp.Dirs))
	for _, d := range resp.Dirs {
		out = append(out, LogDir{Path: d.Dir, Err: codeErr(d.ErrorCode)})
	}
	return out, nil
}

// releaseOf is the minor release that offers exactly these requests, such as
// "3.9"; empty when none does. A patch release cannot be told from outside.
func releaseOf(resp *kmsg.ApiVersionsResponse) string {
	guess := kversion.FromApiVersionsResponse(resp).VersionGuess()
	release, ok := strings.CutPrefix(guess, "v")
	if !ok || strings.ContainsAny(release, " ") {
		return ""
	}
	return release
}
