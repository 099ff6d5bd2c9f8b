package zkread

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ErrUnreachable is the kind of every error that says nothing about the tree:
// no member answered in time, or the connection went away under the question.
var ErrUnreachable = errors.New("zookeeper does not answer")

// ErrNoClusterID is the kind of error for a tree without a Kafka cluster.
var ErrNoClusterID = errors.New("no kafka cluster id")

// NoClusterIDError says where the id was expected and what to do.
type NoClusterIDError struct {
	Path   string // as ZooKeeper knows it, chroot included
	Advice string
}

// Error names the path and the advice.
func (e *NoClusterIDError) Error() string {
	return fmt.Sprintf("%s at %s: %s", ErrNoClusterID, e.Path, e.Advice)
}

// Is makes the error an ErrNoClusterID.
func (e *NoClusterIDError) Is(target error) bool { return target == ErrNoClusterID }

// NodeError is one znode that exists but cannot be understood or read.
type NodeError struct {
	Path       string // below the chroot
	Reason     string
	NotAllowed bool // its ACL keeps us out; nothing is known of its content
}

// Error names the znode and the reason.
func (e *NodeError) Error() string { return e.Path + ": " + e.Reason }

// PartialError lists the znodes that a scan could not use. What the scan
// returned beside it is right but not all, so it proves no absence.
type PartialError struct {
	Nodes []*NodeError // the first hundred, sorted by path
	Total int
}

// Error shows the first few.
func (e *PartialError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d znodes cannot be used", e.Total)
	for i, n := range e.Nodes {
		if i == 3 {
			fmt.Fprintf(&b, "; and %d more", e.Total-i)
			break
		}
		b.WriteString("; " + n.Error())
	}
	return b.String()
}

// Unwrap gives the single faults.
func (e *PartialError) Unwrap() []error {
	out := make([]error, 0, len(e.Nodes))
	for _, n := range e.Nodes {
		out = append(out, n)
	}
	return out
}

// NotAllowed says whether an error means that the ACL of a znode, or of one of
// those scanned, keeps us out.
func NotAllowed(err error) bool {
	var partial *PartialError
	if errors.As(err, &partial) {
		return slices.ContainsFunc(partial.Nodes, func(n *NodeError) bool { return n.NotAllowed })
	}
	var fault *NodeError
	return errors.As(err, &fault) && fault.NotAllowed
}
