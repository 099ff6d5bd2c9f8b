package remote

// Local is this machine. The zero Local is ready to use.
type Local struct {
	operations[osFiles]
	// Dir holds the output of commands while something still writes to it;
	// empty means a folder of this user's own in the system's temporary folder.
	Dir string
	// Redact replaces secrets in output and in the argv of errors; nil keeps all.
	Redact func(string) string
}

// NewLocal returns this machine as a node.
func NewLocal() *Local { return &Local{} }

var _ Node = (*Local)(nil)
