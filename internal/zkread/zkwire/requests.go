package zkwire

import "fmt"

// Operations of the protocol (org.apache.zookeeper.ZooDefs.OpCode). None of
// them changes a znode.
const (
	opGetData     = 4
	opGetACL      = 6
	opGetChildren = 8
	opSync        = 9
	opPing        = 11
	opMultiRead   = 22 // since 3.6
	opAuth        = 100
	opSASL        = 102
	opClose       = -11
)

// Codes of the protocol (org.apache.zookeeper.KeeperException.Code).
const (
	codeMarshalling   = -5
	codeUnimplemented = -6
	codeNoNode        = -101
	codeNoAuth        = -102
	codeAuthFailed    = -115
)

// Kind says what is asked of a znode.
type Kind int32

const (
	Data     Kind = opGetData     // data and stat
	Children Kind = opGetChildren // names of its children
	Access   Kind = opGetACL      // its ACL and stat; one request each, since ZooKeeper takes none into a multi-read
)

// Op is one question. Path is below the chroot.
type Op struct {
	Kind Kind
	Path string
}

// Outcome says what became of an Op.
type Outcome string

const (
	Unanswered Outcome = ""
	Found      Outcome = "found"
	Absent     Outcome = "absent"
	NotAllowed Outcome = "not-allowed" // it exists, and its ACL keeps us out
	TooLarge   Outcome = "too-large"   // it exists, and its answer is over Options.MaxAnswer
)

// Result answers one Op. Data shares the memory of its whole batch's answer.
type Result struct {
	Outcome  Outcome
	Data     []byte // nil: null, which is not the same as empty
	Stat     Stat   // not with Children
	Children []string
	ACL      []ACL
}

// Stat is ZooKeeper's record of a znode; times are in ms since 1970.
type Stat struct {
	Czxid          int64
	Mzxid          int64
	Ctime          int64
	Mtime          int64
	Version        int32
	Cversion       int32
	Aversion       int32
	EphemeralOwner int64
	DataLength     int32
	NumChildren    int32
	Pzxid          int64
}

// ACL is one entry of a znode's access list.
type ACL struct {
	Perms  int32
	Scheme string
	ID     string
}

// encodeMulti writes the body of a multi-read: a header and a question for
// each, then the closing header (MultiOperationRecord).
func encodeMulti(e *encoder, chroot string, ops []Op) {
	for _, op := range ops {
		e.int32(int32(op.Kind))
		e.bool(false)
		e.int32(-1)
		encodeOp(e, chroot, op)
	}
	e.int32(-1)
	e.bool(true)
	e.int32(-1)
}

func encodeOp(e *encoder, chroot string, op Op) {
	e.string(full(chroot, op.Path))
	if op.Kind != Access {
		e.bool(false) // no watch
	}
}

func full(chroot, path string) string {
	if chroot != "" && path == "/" {
		return chroot
	}
	return chroot + path
}

// decodeMulti reads the answers of a multi-read. Each fails by itself: one
// missing znode leaves the others as they are.
func decodeMulti(body []byte, ops []Op) ([]Result, error) {
	d := &decoder{b: body}
	out := make([]Result, len(ops))
	for i, op := range ops {
		kind, done := d.int32(), d.bool()
		d.int32()
		switch {
		case d.err != nil:
			return nil, fmt.Errorf("answer %d of %d: %w", i+1, len(ops), d.err)
		case done:
			return nil, fmt.Errorf("%d answers to %d questions", i, len(ops))
		case kind == -1:
			code := d.int32()
			if out[i].Outcome = outcome(code); out[i].Outcome == Unanswered {
				return nil, fmt.Errorf("read %s: %w", op.Path, &CodeError{code})
			}
		case kind != int32(op.Kind):
			return nil, fmt.Errorf("read %s: answer of kind %d to a question of kind %d", op.Path, kind, op.Kind)
		default:
			decodeOne(d, op.Kind, &out[i])
		}
	}
	return out, d.err
}

func decodeSingle(body []byte, kind Kind) (Result, error) {
	d, r := &decoder{b: body}, Result{}
	decodeOne(d, kind, &r)
	return r, d.err
}

func decodeOne(d *decoder, kind Kind, r *Result) {
	r.Outcome = Found
	switch kind {
	case Data:
		r.Data, r.Stat = d.buffer(), d.stat()
	case Children:
		r.Children = d.strings()
	case Access:
		r.ACL, r.Stat = d.acl(), d.stat()
	}
}

func outcome(code int32) Outcome {
	switch code {
	case 0:
		return Found
	case codeNoNode:
		return Absent
	case codeNoAuth:
		return NotAllowed
	}
	return Unanswered
}

// CodeError is an error code that says nothing about a single znode.
type CodeError struct{ Code int32 }

// Error names the code as ZooKeeper's source numbers it.
func (e *CodeError) Error() string { return fmt.Sprintf("zookeeper answers with error %d", e.Code) }
