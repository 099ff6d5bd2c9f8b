package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// configure gives out the reserved ports and writes what ZooKeeper, brokers
// and every node's logging need. Controllers get no properties.
func (c *Cluster) configure() error {
	var ports []int
	if err := readJSON(portsPath(c.dir), &ports); err != nil {
		return err
	}
	peers := peerPorts(c.giveOut(ports))
	for _, m := range c.members {
		if err := c.writeFiles(m, peers); err != nil {
			return fmt.Errorf("configure node %s: %w", m.Name, err)
		}
	}
	return nil
}

// giveOut gives each member its ports and returns the rest.
func (c *Cluster) giveOut(ports []int) (rest []int) {
	take := func() (port int) { port, ports = ports[0], ports[1:]; return port }
	for i := range c.members {
		c.members[i].port = take()
	}
	for i := range c.members {
		for range c.options.MorePorts {
			if c.members[i].Kind == brokerKind {
				c.members[i].more = append(c.members[i].more, take())
			}
		}
	}
	return ports
}

func peerPorts(ports []int) [][2]int {
	var peers [][2]int
	for i := 0; i+1 < len(ports); i += 2 {
		peers = append(peers, [2]int{ports[i], ports[i+1]})
	}
	return peers
}

func (c *Cluster) writeFiles(m member, peers [][2]int) error {
	home := nodeDir(c.dir, m.Name)
	files := map[string]string{
		nodeLogging + ".log4j.properties":  log4jProperties,
		nodeLogging + ".log4j2.properties": log4j2Properties,
		toolLogging + ".log4j.properties":  toolLog4jProperties,
		toolLogging + ".log4j2.properties": toolLog4j2Properties,
	}
	switch m.Kind {
	case zookeeperKind:
		files[m.Config] = zooCfg(c.dir, m, c.options.ZooKeeper, peers)
		files[filepath.Join("data", "myid")] = strconv.Itoa(int(m.id)) + "\n"
	case brokerKind:
		files[m.Config] = serverProperties(c.dir, m, c.options, c.ZooKeeperConnect())
	case controllerKind:
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// startAll starts every node of a kind at once and waits for all of them.
func (c *Cluster) startAll(ctx context.Context, k kind) error {
	for _, m := range c.members {
		if m.Kind != k {
			continue
		}
		if err := c.Start(ctx, m.Name); err != nil {
			return err
		}
	}
	for _, m := range c.members {
		if m.Kind != k {
			continue
		}
		if err := c.ready(ctx, m); err != nil {
			return err
		}
	}
	return nil
}

// readyLimit is how long a node may take to be ready; the slowest broker start
// seen on two busy cores was 12 s.
const readyLimit = 2 * time.Minute

// ready waits for the lines with which a node says that it serves, and fails
// at once when its process ends.
func (c *Cluster) ready(ctx context.Context, m member) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	var lines []*regexp.Regexp
	switch m.Kind {
	case zookeeperKind:
		lines = []*regexp.Regexp{literal(fmt.Sprintf("binding to port /%s:%d", host, m.port))}
	case brokerKind:
		lines = []*regexp.Regexp{regexp.MustCompile(fmt.Sprintf(
			`Registered broker %[1]d at path |Successfully registered broker %[1]d `, m.id)), startedLine(m.id)}
	case controllerKind:
		lines = []*regexp.Regexp{startedLine(m.id)}
	}
	for _, line := range lines {
		if _, err := c.waitLog(ctx, m.Name, "server.log", line, c.mustRun); err != nil {
			said, _ := os.ReadFile(stdoutPath(c.dir, m.Name))
			return fmt.Errorf("node %s is not ready: %w; its last output: %s", m.Name, err, bounded(said))
		}
	}
	if m.Kind == zookeeperKind {
		return c.zooKeeperServes(ctx, m)
	}
	return nil
}

// startedLine is a broker in ZooKeeper mode, or any node with a KRaft role.
func startedLine(id int32) *regexp.Regexp {
	return regexp.MustCompile(fmt.Sprintf(`\[KafkaServer id=%[1]d\] started|\[KafkaRaftServer nodeId=%[1]d\] Kafka Server started`, id))
}

// zooKeeperServes asks `srvr` until the server has a mode: one of an ensemble
// binds its port before there is a leader.
func (c *Cluster) zooKeeperServes(ctx context.Context, m member) error {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		said, err := c.fourLetterWord(ctx, m.port, "srvr")
		if err == nil && strings.Contains(said, "Mode:") {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("node %s does not serve: %w", m.Name, errors.Join(context.Cause(ctx), err))
		}
	}
}

func (c *Cluster) fourLetterWord(ctx context.Context, port int, word string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	dial := (&net.Dialer{}).DialContext
	if c.options.ZooKeeper.TLS != nil {
		dial = (&tls.Dialer{Config: c.options.ZooKeeper.TLS}).DialContext
	}
	conn, err := dial(ctx, "tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(2 * time.Second)); err != nil {
		return "", err
	}
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	said, err := io.ReadAll(io.LimitReader(conn, 64<<10))
	return string(said), err
}
