package rehearse

import (
	"errors"
	"strings"

	"migrator/internal/evidence"
	"migrator/internal/gates"
)

// RefusedError is a pack that cannot be registered.
type RefusedError struct{ Why string }

func (e *RefusedError) Error() string { return "refused: " + e.Why }

// ExitCode is that of a refusal by a gate.
func (e *RefusedError) ExitCode() int { return 3 }

// Registration makes of a pack's folder what is registered with a migration.
// *RefusedError: it was altered, or it shows no green rehearsal of the whole.
func Registration(dir string) (gates.Rehearsal, error) {
	var r gates.Rehearsal
	pack, err := evidence.Read(dir)
	var altered *evidence.AlteredError
	switch {
	case errors.As(err, &altered):
		return r, &RefusedError{altered.Error()}
	case err != nil:
		return r, usage("%v", err)
	}
	if broken := Broken(Whole(pack)); len(broken) > 0 {
		return r, &RefusedError{"the pack shows no green rehearsal of the whole procedure:\n" + strings.TrimSuffix(Promises(broken), "\n")}
	}
	sum, err := evidence.Checksum(dir)
	if err != nil {
		return r, err
	}
	ended := pack.Plans[len(pack.Plans)-1].Ended
	if ended == nil {
		return r, &RefusedError{"the last plan of the pack did not end"}
	}
	return gates.Rehearsal{Pack: sum, Name: pack.Name, ClusterID: pack.ClusterID, Ended: *ended, Shape: pack.Shape}, nil
}
