package execute

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-zookeeper/zk"

	"migrator/internal/zkread/zkfake"
	"migrator/internal/znodebackup"
)

func restoreWorld(t *testing.T) (*zkfake.Server, *ZNodes) {
	t.Helper()
	s := server(t)
	s.Put("/kafka/controller_epoch", []byte("5"))
	s.Put("/kafka/config/topics/orders", []byte("{}"))
	z := open(t, s.Addr()+"/kafka", "store-a")
	acquire(t, z, "me")
	return s, z
}

func change(version int32) znodebackup.RestoreStep {
	return znodebackup.RestoreStep{Path: "/config/topics/orders", Deed: znodebackup.Change, Version: version, Data: []byte(`{"version":1}`),
		Notice: &znodebackup.Notice{Prefix: "/config/changes/config_change_", Data: "told"}}
}

func TestAChangeAndItsNotificationAreWrittenTogether(t *testing.T) {
	s, z := restoreWorld(t)
	done := 0
	if err := z.Restore(t.Context(), 0, []znodebackup.RestoreStep{change(0), {Path: "/config/brokers", Deed: znodebackup.Leave}}, func(n int) { done = n }); err != nil {
		t.Fatal(err)
	}
	data, _ := s.Data("/kafka/config/topics/orders")
	told := s.Children("/kafka/config/changes")
	if string(data) != `{"version":1}` || len(told) != 1 || !strings.HasPrefix(told[0], "config_change_") || done != 1 {
		t.Errorf("data %s, notifications %v, %d done", data, told, done)
	}
}

func TestARestoreWritesNothingOverWhatChangedSinceThePlan(t *testing.T) {
	for _, row := range []struct {
		name         string
		epochVersion int32
		step         znodebackup.RestoreStep
		want         error
	}{
		{"the znode was changed", 0, change(4), zk.ErrBadVersion},
		{"the znode was made meanwhile", 0, znodebackup.RestoreStep{Path: "/config/topics/orders", Deed: znodebackup.Create, Data: []byte("x")}, zk.ErrNodeExists},
		{"another controller took over", 3, change(0), zk.ErrBadVersion},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, z := restoreWorld(t)
			err := z.Restore(t.Context(), row.epochVersion, []znodebackup.RestoreStep{row.step}, func(int) { t.Error("done") })
			if data, _ := s.Data("/kafka/config/topics/orders"); !errors.Is(err, row.want) || string(data) != "{}" {
				t.Errorf("got %v; the znode is %s", err, data)
			}
		})
	}
}

func TestARestoreNeverTouchesWhatIsNotItsOwn(t *testing.T) {
	s, z := restoreWorld(t)
	for _, path := range []string{"/controller", "/controller_epoch", "/migration", "/brokers/ids/1", "/cluster/id", "/brokers/topics/orders/partitions/0/state"} {
		before := s.Writes()
		err := z.Restore(t.Context(), 0, []znodebackup.RestoreStep{{Path: path, Deed: znodebackup.Create, Data: []byte("x")}}, func(int) {})
		if err == nil || s.Writes() != before {
			t.Errorf("%s: %v after %d writes", path, err, s.Writes()-before)
		}
	}
	z2 := open(t, s.Addr()+"/kafka", "store-b")
	if err := z2.Restore(t.Context(), 0, []znodebackup.RestoreStep{change(0)}, func(int) {}); !errors.Is(err, ErrNotHeld) {
		t.Errorf("without the lock: %v", err)
	}
}
