package service

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"migrator/internal/config"
	"migrator/internal/connect"
	"migrator/internal/znodebackup"
)

// keepZnodes takes a backup of all znodes into the data folder, before a plan:
// what `migrator backup verify` and `backup restore` read.
func keepZnodes(ctx context.Context, m config.Migration, data, plan string) (string, error) {
	dir := filepath.Join(data, "backups", m.Name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", fmt.Errorf("keep znodes: %w", err)
	}
	zk, err := connect.Reader(m.ZooKeeper, 10*time.Second)
	if err != nil {
		return "", fmt.Errorf("keep znodes: %w", err)
	}
	defer zk.Close()
	file := filepath.Join(dir, time.Now().UTC().Format("20060102-150405")+"-"+plan+".znodes")
	if _, err := znodebackup.TakeFile(ctx, file, nil, zk, nil); err != nil {
		return "", fmt.Errorf("keep znodes: %w", err)
	}
	return file, nil
}
