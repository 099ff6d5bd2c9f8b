// Package znodebackup is the file in which a ZooKeeper tree is kept: how it is
// written, proven whole, read again, and what a restore of it would change.
//
// The file is a valid zstd stream of JSON lines (zstd -dc FILE | less): a Head,
// one Znode a line, parents first, and a Tail. It is cut into blocks; before
// each stands a skippable frame with the block's number, length and CRC, and the
// last frame holds the SHA-256 of all before it. So a missing end or a changed
// bit is noticed wherever it is, and named by its place.
package znodebackup

import (
	"time"

	"migrator/internal/zkread"
)

// Format is the name and version in a Head.
const Format = "migrator-znodes-1"

// Head begins a backup.
type Head struct {
	Format    string    `json:"format"`
	ClusterID string    `json:"cluster_id"`
	Begun     time.Time `json:"begun"`
	Tool      string    `json:"tool"`
}

// Znode is one line of a backup. Data null is not the same as empty.
type Znode struct {
	Path           string `json:"path"` // below the chroot
	Unreadable     string `json:"unreadable,omitempty"`
	Data           []byte `json:"data"` // base64
	Version        int32  `json:"version"`
	Children       int    `json:"children"`
	EphemeralOwner int64  `json:"ephemeral_owner,omitempty"`
	CreatedMs      int64  `json:"created_ms"`
	ModifiedMs     int64  `json:"modified_ms"`
	Czxid          int64  `json:"czxid"`
	Mzxid          int64  `json:"mzxid"`
	ACL            []ACL  `json:"acl"` // null: it could not be read
}

// ACL is one entry of a znode's access list; perms as ZooKeeper's bits.
type ACL struct {
	Perms  int32  `json:"perms"`
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
}

// Tail ends a backup: what was read, and whether it is one moment.
type Tail struct {
	End        bool     `json:"end"`
	Znodes     int      `json:"znodes"`
	Unreadable int      `json:"unreadable"`
	FromZxid   int64    `json:"from_zxid"`
	ToZxid     int64    `json:"to_zxid"`
	Moved      int      `json:"moved"` // znodes that changed or went away while they were read
	Moving     []string `json:"moving,omitempty"`
}

// FromTree turns what was read into a line.
func FromTree(z zkread.Znode) Znode {
	out := Znode{Path: z.Path, Data: z.Data, Version: z.Version, Children: z.Children, EphemeralOwner: z.EphemeralOwner,
		CreatedMs: z.CreatedMs, ModifiedMs: z.ModifiedMs, Czxid: z.Czxid, Mzxid: z.Mzxid}
	if !z.Readable {
		out.Unreadable = z.Why
	}
	for _, e := range z.ACL {
		out.ACL = append(out.ACL, ACL{Perms: e.Perms, Scheme: e.Scheme, ID: e.ID})
	}
	return out
}

// Summary is what a whole file holds.
type Summary struct {
	Head
	Tail
	SHA256    string // of the content: the file up to its end frame, before encryption
	Bytes     int64  // before encryption
	Encrypted bool   // as ReadFile found it
}
