package execute

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/go-zookeeper/zk"

	"migrator/internal/znodebackup"
)

// Restore does the steps of a restore that change something, each with its
// notification in one multi. It needs the driver lock. epochVersion is the
// version of /controller_epoch that the plan was made under: once another
// controller has taken over, nothing more is written. done counts the steps.
func (z *ZNodes) Restore(ctx context.Context, epochVersion int32, steps []znodebackup.RestoreStep, done func(n int)) error {
	made := map[string]bool{}
	for i, step := range steps {
		if step.Deed == znodebackup.Leave {
			continue
		}
		if !z.Held() {
			return fmt.Errorf("restore %s: %w", step.Path, ErrNotHeld)
		}
		if _, ok := znodebackup.PartOf(step.Path); !ok {
			return fmt.Errorf("restore %s: a restore never writes it", step.Path)
		}
		if parent := noticeParent(step); parent != "" && !made[parent] {
			if err := z.create(ctx, parent); err != nil {
				return err
			}
			made[parent] = true
		}
		if err := z.restoreOne(ctx, epochVersion, step); err != nil {
			return err
		}
		done(i + 1)
	}
	return nil
}

func noticeParent(step znodebackup.RestoreStep) string {
	if step.Notice == nil {
		return ""
	}
	return path.Dir(step.Notice.Prefix)
}

func (z *ZNodes) restoreOne(ctx context.Context, epochVersion int32, step znodebackup.RestoreStep) error {
	ops := []any{&zk.CheckVersionRequest{Path: z.full("/controller_epoch"), Version: epochVersion}}
	if step.Deed == znodebackup.Create {
		ops = append(ops, &zk.CreateRequest{Path: z.full(step.Path), Data: step.Data, Acl: zkACL(step.ACL)})
	} else {
		ops = append(ops, &zk.SetDataRequest{Path: z.full(step.Path), Data: step.Data, Version: step.Version})
	}
	if step.Notice != nil {
		ops = append(ops, &zk.CreateRequest{Path: z.full(step.Notice.Prefix), Data: []byte(step.Notice.Data), Acl: zk.WorldACL(zk.PermAll), Flags: zk.FlagSequence})
	}
	var err error
	for range 3 {
		_, err = call(ctx, func() ([]zk.MultiResponse, error) { return z.conn.Multi(ops...) })
		if err == nil || !again(err) {
			break
		}
		// The answer got lost; if the multi was done, the znode has our content.
		data, readErr := call(ctx, func() ([]byte, error) {
			data, _, err := z.conn.Get(z.full(step.Path))
			return data, err
		})
		if readErr == nil && bytes.Equal(data, step.Data) {
			return nil
		}
	}
	switch {
	case err == nil:
		return nil
	case again(err) || ctx.Err() != nil:
		return z.failed(fmt.Sprintf("restore %s (whether it was written is not known: make a new plan)", step.Path), err)
	}
	return z.failed(fmt.Sprintf("restore %s (it is as it was; what the plan listed before it is restored)", step.Path), err)
}

func (z *ZNodes) create(ctx context.Context, path string) error {
	for range 3 {
		_, err := call(ctx, func() (string, error) {
			return z.conn.Create(z.full(path), []byte{}, 0, zk.WorldACL(zk.PermAll))
		})
		if err == nil || errors.Is(err, zk.ErrNodeExists) {
			return nil
		}
		if !again(err) {
			return z.failed("create "+path, err)
		}
	}
	return z.failed("create "+path, zk.ErrConnectionClosed)
}

func zkACL(list []znodebackup.ACL) []zk.ACL {
	out := make([]zk.ACL, 0, len(list))
	for _, e := range list {
		out = append(out, zk.ACL{Perms: e.Perms, Scheme: e.Scheme, ID: e.ID})
	}
	return slices.Clip(out)
}
