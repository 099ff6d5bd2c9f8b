// Package lab runs real clusters on this machine: ZooKeeper, brokers and
// controllers as local processes, from jars. It serves tests and rehearsals.
//
// A process of its own, the supervisor (`migrator lab supervise`), owns the
// nodes. So they outlive a service that is killed while it migrates them, and
// never outlive the cluster's owner: the supervisor ends when the pipe from the
// owner closes, and the kernel kills the nodes when the supervisor dies. What
// migrates a cluster reaches its nodes as it would anybody's, through commands
// (`migrator lab ctl`) that ask the supervisor over a unix socket.
package lab
