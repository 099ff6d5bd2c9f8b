package service

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/execute"
	"migrator/internal/facts"
)

// driverSession is how long ZooKeeper keeps our lock after we are gone.
const driverSession = 10 * time.Second

// driver keeps the lock that lets one service alone drive a cluster. It is
// taken as soon as ZooKeeper answers and tried again in each round.
type driver struct {
	zk    config.ZooKeeper
	store string

	mu     sync.Mutex
	znodes *execute.ZNodes
}

func newDriver(zk config.ZooKeeper, store string) *driver { return &driver{zk: zk, store: store} }

func owner() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s pid %d", host, os.Getpid())
}

// session opens the znode session once, and anew after the lock was lost.
func (d *driver) session() (*execute.ZNodes, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.znodes != nil {
		select {
		case <-d.znodes.Lost():
			d.znodes.Close()
			d.znodes = nil
		default:
			return d.znodes, nil
		}
	}
	z, err := execute.OpenZNodes(d.zk.Connect, driverSession, connect.ZooKeeper(d.zk), d.store)
	if err != nil {
		return nil, err
	}
	d.znodes = z
	return z, nil
}

// Driver says who drives the cluster; it takes the lock when it is free.
func (d *driver) Driver(ctx context.Context) (facts.Driver, error) {
	z, err := d.session()
	if err != nil {
		return facts.Driver{}, err
	}
	if z.Held() {
		return facts.Driver{Held: true, Owner: owner()}, nil
	}
	err = z.Acquire(ctx, owner())
	var held *execute.HeldError
	switch {
	case errors.As(err, &held):
		return facts.Driver{Owner: held.Owner}, nil
	case err != nil:
		return facts.Driver{}, err
	default:
		return facts.Driver{Held: true, Owner: owner()}, nil
	}
}

// Writable proves a ZooKeeper majority by a write of our own znode.
func (d *driver) Writable(ctx context.Context) (bool, error) {
	z, err := d.session()
	if err != nil {
		return false, err
	}
	if err := z.Writable(ctx); err != nil {
		return false, err
	}
	return true, nil
}

// Close gives the lock up.
func (d *driver) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.znodes != nil {
		d.znodes.Close()
	}
}
