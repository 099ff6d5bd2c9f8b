package kafkaread

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"
)

// Named asks one broker several times whom it takes for the controller. A
// broker led by KRaft answers with a random live broker each time (3.4 to 3.9),
// so only equal answers mean anything. An answer that names nobody is an error.
func (b *Brokers) Named(ctx context.Context, host string, port, times int) ([]int32, error) {
	n, err := b.node(net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return nil, err
	}
	var out []int32
	for range times {
		req := kmsg.NewPtrMetadataRequest()
		req.Topics = []kmsg.MetadataRequestTopic{}
		resp, err := ask[*kmsg.MetadataResponse](ctx, n, req)
		if err != nil {
			return nil, err
		}
		if resp.ControllerID < 0 {
			return nil, fmt.Errorf("Metadata at %s names no controller", n.addr)
		}
		out = append(out, resp.ControllerID)
	}
	return out, nil
}
