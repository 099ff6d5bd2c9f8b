package survey

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/draft"
	"migrator/internal/zkread"
)

// Discover looks at a cluster of which nothing but its ZooKeeper, and how to get
// in, is known. A tree without a cluster is zkread.ErrNoClusterID, which names where one was found.
func Discover(ctx context.Context, z config.ZooKeeper, k config.Kafka) (draft.Cluster, error) {
	c := draft.Cluster{Connect: z.Connect, Bootstrap: k.Bootstrap, ZooKeeper: z, Kafka: k}
	zk, err := connect.Reader(z, session)
	if err != nil {
		return c, err
	}
	defer zk.Close()
	if c.ID, err = zk.ClusterID(ctx); err != nil {
		return c, err
	}
	holder, err := zk.Controller(ctx)
	c.Holder = holding(holder, err)
	list, err := zk.Brokers(ctx)
	if err != nil && len(list) == 0 {
		return c, err
	}
	if err != nil {
		c.Notes = append(c.Notes, "not every registration can be read: "+err.Error())
	}
	if len(list) == 0 {
		return c, fmt.Errorf("no broker is registered below /brokers/ids of %s: either none runs, or all run in KRaft mode already", z.Connect)
	}
	for _, b := range list {
		c.Brokers = append(c.Brokers, brokerOf(b))
	}
	if len(c.Bootstrap) == 0 {
		c.Bootstrap = bootstrapOf(c.Brokers, k.Protocol())
	}
	k.Bootstrap = c.Bootstrap
	c.Release = release(ctx, k, &c.Notes)
	return c, nil
}

func holding(c zkread.Controller, err error) string {
	switch {
	case err != nil:
		return "who is the controller cannot be read: " + err.Error()
	case !c.Present:
		return "nobody is the controller now"
	case c.HeldByKRaft():
		return fmt.Sprintf("KRaft controller %d holds /controller: a migration has begun", c.BrokerID)
	}
	return fmt.Sprintf("broker %d is the controller now", c.BrokerID)
}

func brokerOf(b zkread.BrokerRegistration) draft.Broker {
	out := draft.Broker{ID: b.ID, Host: b.Host}
	if b.Rack != nil {
		out.Rack = *b.Rack
	}
	for _, e := range b.Endpoints {
		name, address, _ := strings.Cut(e, "://")
		out.Listeners = append(out.Listeners, draft.Listener{Name: name, Protocol: b.ListenerMap[name], Address: address})
		if host, _, err := net.SplitHostPort(address); err == nil && out.Host == "" {
			out.Host = host // a broker without a PLAINTEXT endpoint
		}
	}
	return out
}

// bootstrapOf prefers the listeners that this program was told to speak to.
func bootstrapOf(list []draft.Broker, protocol string) []string {
	var spoken, other []string
	for _, b := range list {
		for _, l := range b.Listeners {
			if _, _, err := net.SplitHostPort(l.Address); err != nil {
				continue
			}
			if l.Protocol == protocol {
				spoken = append(spoken, l.Address)
			} else {
				other = append(other, l.Address)
			}
		}
	}
	if len(spoken) == 0 {
		spoken = other
	}
	return spoken[:min(len(spoken), 3)]
}

// release asks the brokers what they run; they tell no patch level.
func release(ctx context.Context, k config.Kafka, notes *[]string) string {
	ctx, cancel := context.WithTimeout(ctx, 3*askLimit)
	defer cancel()
	client, err := connect.Brokers(k)
	if err == nil {
		defer client.Close()
	}
	for _, address := range k.Bootstrap {
		host, port, splitErr := net.SplitHostPort(address)
		n, numErr := strconv.Atoi(port)
		if err != nil || splitErr != nil || numErr != nil {
			continue
		}
		one, cancel := context.WithTimeout(ctx, askLimit)
		api, askErr := client.API(one, host, n)
		cancel()
		if askErr == nil {
			return api.Release
		}
		*notes = append(*notes, fmt.Sprintf("broker at %s did not tell its release: %s", address, askErr))
	}
	return ""
}

// DiscoverLimit is how long a discovery may take.
const DiscoverLimit = 45 * time.Second
