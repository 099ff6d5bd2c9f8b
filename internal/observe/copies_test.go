package observe

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"migrator/internal/config"
	"migrator/internal/remote"
)

// shelf is a machine whose folder can be listed, or not.
type shelf struct {
	machine
	names []string
	err   error
}

func (s shelf) Run(_ context.Context, argv []string) (remote.Result, error) {
	switch argv[0] {
	case "readlink":
		return remote.Result{Stdout: argv[len(argv)-1] + "\n"}, nil
	case "ls":
		return remote.Result{Stdout: strings.Join(s.names, "\n") + "\n"}, s.err
	default:
		return s.machine.Run(context.Background(), argv)
	}
}

func TestCopiesOfEarlierFilesAreReadWhereTheyAreWanted(t *testing.T) {
	const content = "broker.id=1\n"
	at := remote.BackupPath("/etc/kafka.properties", remote.Sum([]byte(content)))
	s := healthy()
	here := &shelf{machine: machine{files: map[string]string{"/etc/kafka.properties": "node.id=1\n", at: content}}, names: []string{"kafka.properties", strings.TrimPrefix(at, "/etc/")}}
	s.nodes.open = func(config.Access) (remote.Node, error) { return here, nil }
	o := newObserver(threeAndThree(), Deps{}, s)
	defer closed(t, o)
	snap := o.Round(t.Context(), Want{Kept: []int32{2}, Machines: []int32{3}})
	got, ok := snap.Kept[2].Get()
	if !ok || len(got) != 1 || got[0].Path != at || !slices.Equal(got[0].Content, []byte(content)) || got[0].Mode != "zk" {
		t.Errorf("broker 2 has %+v, want the copy %s", got, at)
	}
	if !snap.Kept[1].Begun().IsZero() {
		t.Error("broker 1 was looked at, though nobody asked")
	}
	here.err = errors.New("connection refused")
	if f := o.Round(t.Context(), Want{Kept: []int32{2}}).Kept[2]; f.Known() || !strings.Contains(f.Cause(), "connection refused") {
		t.Errorf("known %t, cause %q: a folder that cannot be read is not an empty one", f.Known(), f.Cause())
	}
}
