package lab

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Options describe a cluster; the zero value is a whole one of Kafka 3.9.2
// with one ZooKeeper server, three brokers and three controllers to be.
type Options struct {
	Dir            string // its folder: absent or empty; "" = a new one below the system's temporary folder
	Version        string // "" = DefaultVersion; 3.x, which alone has a ZooKeeper mode
	Brokers        int    // 0 = 3
	Controllers    int    // 0 = 3
	BrokersPerRack int    // 0 = 1
	FirstBroker    int    // id of the first one, 0 = 1
	// Binary is the executable whose `lab supervise` and `lab ctl` are used;
	// "" = this program itself.
	Binary string
	Chroot string // path of the cluster within ZooKeeper, "" = none
	// ExtraBroker are lines of server.properties, in place of the line with
	// the same key. {id}, {port}, {rack} and {dir} (the node's folder) are replaced.
	ExtraBroker []string
	// ExtraController are lines for the settings of controllers.
	ExtraController []string
	// BrokerSettings are lines for the settings of brokers in migrations.yaml.
	BrokerSettings []string
	// MorePorts is how many further ports each broker has, for more listeners:
	// {port1}, {port2} and on in ExtraBroker.
	MorePorts        int
	Keep             bool   // Close leaves the folder
	ZooKeeperServers int    // 0 = 1; 1 or 3
	Heap             string // -Xmx of every node, "" = 256m
	// JVM are further arguments of every Kafka node's Java and of the tools that
	// run with its software, such as a JAAS file.
	JVM []string
	// ZooKeeper is what its servers have beyond the lab's own; nil is nothing.
	ZooKeeper *ZooKeeperOptions
	// BeforeBrokers runs when ZooKeeper serves and no broker was started yet,
	// for what a secure cluster needs to find there.
	BeforeBrokers func(context.Context, *Cluster) error
}

// ZooKeeperOptions make the ZooKeeper servers secure.
type ZooKeeperOptions struct {
	// TLS is with what the lab itself asks a server whether it serves. With it
	// servers have no port without TLS.
	TLS *tls.Config
	// Extra are lines of zoo.cfg, such as the servers' key store.
	Extra []string
	JVM   []string // as Options.JVM
}

func (o Options) withDefaults() (Options, error) {
	o.Version = or(o.Version, DefaultVersion)
	o.Heap = or(o.Heap, "256m")
	o.Brokers, o.Controllers = or(o.Brokers, 3), or(o.Controllers, 3)
	o.BrokersPerRack, o.ZooKeeperServers = or(o.BrokersPerRack, 1), or(o.ZooKeeperServers, 1)
	o.FirstBroker = or(o.FirstBroker, 1)
	if !strings.HasPrefix(o.Version, "3.") {
		return o, fmt.Errorf("kafka %s has no ZooKeeper mode (KIP-833): start with 3.x", o.Version)
	}
	if o.Brokers < 0 || o.Controllers < 0 || o.BrokersPerRack < 0 || o.MorePorts < 0 {
		return o, errors.New("a number of nodes is negative")
	}
	if o.ZooKeeperServers != 1 && o.ZooKeeperServers != 3 {
		return o, fmt.Errorf("%d ZooKeeper servers: want 1 or 3", o.ZooKeeperServers)
	}
	if o.Chroot != "" && (!strings.HasPrefix(o.Chroot, "/") || strings.HasSuffix(o.Chroot, "/")) {
		return o, fmt.Errorf("chroot %q: want a path such as /kafka", o.Chroot)
	}
	if o.ZooKeeper == nil {
		o.ZooKeeper = &ZooKeeperOptions{}
	}
	if o.ZooKeeper.TLS != nil && o.ZooKeeperServers > 1 {
		return o, errors.New("several ZooKeeper servers with TLS: the lab has one")
	}
	if o.Binary == "" {
		self, err := os.Executable()
		if err != nil {
			return o, fmt.Errorf("find this program: %w", err)
		}
		o.Binary = self
	}
	return o, nil
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func newMembers(o Options) []member {
	var members []member
	add := func(k kind, name, config string, id, index, perRack int) {
		rack := ""
		if perRack > 0 {
			rack = rackName(index / perRack)
		}
		members = append(members, member{nodeSpec: nodeSpec{Name: name, Kind: k, Config: config}, id: int32(id), rack: rack})
	}
	for i := range o.ZooKeeperServers {
		add(zookeeperKind, "zk"+strconv.Itoa(i+1), "zoo.cfg", i+1, i, 0)
	}
	for i := range o.Brokers {
		add(brokerKind, strconv.Itoa(o.FirstBroker+i), "server.properties", o.FirstBroker+i, i, o.BrokersPerRack)
	}
	for i := range o.Controllers {
		add(controllerKind, strconv.Itoa(3001+i), "controller.properties", 3001+i, i, 1)
	}
	return members
}

// rackName is a, b, ... z, r26, r27 and on.
func rackName(i int) string {
	if i < 26 {
		return string(rune('a' + i))
	}
	return "r" + strconv.Itoa(i)
}
