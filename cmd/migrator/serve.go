package main

import (
	"github.com/spf13/cobra"

	"migrator/internal/service"
	"migrator/internal/serving"
)

func newServeCommand() *cobra.Command {
	var path string
	cmd := &cobra.Command{
		Use:   "serve --config FILE --data DIR [--listen HOST:PORT]",
		Short: "run the service: API, page, and one loop per migration",
		Long: `serve observes every cluster of migrations.yaml and carries out approved plans.

SIGTERM or Ctrl-C finishes bringing the open batch's nodes back and then ends; a
second one ends at once. Killed at any instant, it goes on correctly when it is
started again with the same data folder.`,
		Example: `  migrator serve --config migrations.yaml --data /var/lib/migrator
  MIGRATOR_TOKEN=... migrator serve --config migrations.yaml --data ./data --listen 0.0.0.0:8420`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p, err := process(cmd)
			if err != nil {
				return err
			}
			if p.DataDir == "" {
				return usagef("serve needs --data DIR (or MIGRATOR_DATA)")
			}
			file, err := loadFileToRender(cmd.Context(), path)
			if err != nil {
				return err
			}
			log := newLog(cmd, p.LogLevel)
			svc, err := service.Open(service.Options{File: file, DataDir: p.DataDir, Log: log})
			if err != nil {
				return err
			}
			return serving.Run(cmd.Context(), svc, serving.Options{Listen: p.Listen, Token: p.Token, Log: log, Listening: func(url string) {
				log.Info("serving", "url", url, "data", p.DataDir, "migrations", len(svc.Names()))
			}})
		},
	}
	configFlag(cmd, &path)
	cmd.Flags().String("data", "", "the data folder: journal and file contents (MIGRATOR_DATA)")
	cmd.Flags().String("listen", "127.0.0.1:8420", "address of the API and the page; others than loopback need MIGRATOR_TOKEN (MIGRATOR_LISTEN)")
	return cmd
}
