package observe

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"migrator/internal/config"
	"migrator/internal/remote"
)

// counting is a machine that counts how often its commands run.
type counting struct {
	machine
	runs *int
}

func (c counting) Run(ctx context.Context, argv []string) (remote.Result, error) {
	*c.runs++
	return c.machine.Run(ctx, argv)
}

func TestAMachineThatIsNotLookedAtKeepsWhatWasSeenAndItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := healthy()
		s.nodes.open = func(config.Access) (remote.Node, error) {
			return counting{machine{files: map[string]string{"/etc/kafka.properties": "node.id=1\n"}}, &runs}, nil
		}
		o := newObserver(threeAndThree(), Deps{}, s)
		first := o.Round(t.Context(), Want{Files: true, Meta: true})
		if runs != 6 {
			t.Fatalf("a whole round ran %d commands, want one for each of 6 nodes", runs)
		}
		time.Sleep(3 * time.Second)
		second := o.Round(t.Context(), Want{Files: true, Meta: true, Machines: []int32{2}})
		if runs != 7 {
			t.Errorf("a round that looks at one machine ran %d commands", runs-6)
		}
		if got := second.Running[1]; !got.Known() || !got.Begun().Equal(first.Running[1].Begun()) {
			t.Errorf("broker 1 was not asked: known %t, begun %s, want the first round's %s", got.Known(), got.Begun(), first.Running[1].Begun())
		}
		if got := second.Files[2]; !got.Begun().After(first.Files[2].Begun()) {
			t.Errorf("broker 2 was looked at again, but its file is from %s", got.Begun())
		}
		closed(t, o)
	})
}
