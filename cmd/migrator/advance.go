package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"migrator/internal/client"
	"migrator/internal/cluster"
	"migrator/internal/status"
)

type advanceFlags struct {
	order client.Command
	wait  bool
	json  bool
}

func newAdvanceCommand() *cobra.Command {
	var f advanceFlags
	cmd := &cobra.Command{
		Use:   "advance NAME",
		Short: "approve the plan that status shows, and start it",
		Long: `advance approves one plan by its digest. At a terminal it prints the plan and asks;
elsewhere it needs --digest, and without it prints plan and digest and exits 4.
When it returns 0 the plan runs. finalize cannot be taken back: its approval needs
the migration's name, typed or as --confirm.

--accept names a failing availability gate that a person takes upon himself; it
covers exactly the partitions or nodes that the gate names now. --accept broker-3
accepts that broker 3 is lost: until it runs again no plan waits for it, forward
or back, and its replicas are not missed.`,
		Example: `  migrator advance payments
  migrator advance payments --digest 3f2a... --wait
  migrator advance payments --digest 9c1b... --confirm payments
  migrator advance payments --accept isr-full --reason "topic scratch is unused"
  migrator advance payments --accept broker-3 --reason "its machine burnt down"`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return advance(cmd, args[0], f) },
	}
	serverFlag(cmd)
	jsonFlag(cmd, &f.json)
	cmd.Flags().StringVar(&f.order.Digest, "digest", "", "digest of the plan that was read")
	cmd.Flags().StringVar(&f.order.Confirm, "confirm", "", "the migration's name, for a plan that cannot be taken back")
	cmd.Flags().StringVar(&f.order.Accept, "accept", "", "a failing availability gate, or a lost broker such as broker-3, to accept")
	cmd.Flags().StringVar(&f.order.Reason, "reason", "", "why it is accepted; goes into the journal and the evidence")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "follow until a person is needed again or it is finished (exit 0), or blocked (exit 3)")
	return cmd
}

func advance(cmd *cobra.Command, name string, f advanceFlags) error {
	if f.order.Accept != "" && strings.TrimSpace(f.order.Reason) == "" {
		return usagef("--accept needs --reason: it goes into the journal and the evidence")
	}
	if f.order.Reason != "" && f.order.Accept == "" {
		return usagef("--reason belongs to --accept")
	}
	c, err := newClient(cmd)
	if err != nil {
		return err
	}
	if f.order.Digest == "" && f.order.Accept == "" {
		if f.order, err = chooseDigest(cmd, c, name, f); err != nil {
			return err
		}
	}
	f.order.Actor = whoAmI()
	if err := c.Advance(cmd.Context(), name, f.order); err != nil {
		return explain(cmd, c, name, err)
	}
	now, err := c.Status(cmd.Context(), name)
	if err != nil {
		return err
	}
	if !f.wait {
		return sayResult(cmd, now, f.json)
	}
	last, err := follow(cmd, c, name)
	if err != nil {
		return err
	}
	return errors.Join(sayResult(cmd, last, f.json), endOf(last))
}

// chooseDigest shows the plan; a person at a terminal may approve it.
func chooseDigest(cmd *cobra.Command, c *client.Client, name string, f advanceFlags) (client.Command, error) {
	s, err := c.Status(cmd.Context(), name)
	if err != nil {
		return f.order, err
	}
	if s.Plan == nil {
		if err := sayPlanless(cmd.OutOrStdout(), s, f.json); err != nil {
			return f.order, err
		}
		return f.order, &answered{code: exitRefused, text: "no plan is offered now: " + s.Headline}
	}
	if f.json {
		if err := printJSON(cmd.OutOrStdout(), planDoc{s.Plan}); err != nil {
			return f.order, err
		}
		return f.order, &answered{code: exitWaiting}
	}
	if err := printPlan(cmd.OutOrStdout(), name, s.Plan); err != nil {
		return f.order, err
	}
	f.order.Digest = s.Plan.Digest
	switch {
	case s.Plan.Running:
		return f.order, &answered{code: exitWaiting, text: "this plan runs already: " + s.Headline}
	case !isTerminal(cmd.InOrStdin()) || !isTerminal(cmd.OutOrStdout()):
		return f.order, &answered{code: exitWaiting, text: fmt.Sprintf("not started: approve it with --digest %s%s", s.Plan.Digest, needsName(s))}
	}
	confirm, err := ask(cmd, s)
	f.order.Confirm = confirm
	return f.order, err
}

func sayPlanless(w io.Writer, s status.Status, asJSON bool) error {
	if asJSON {
		return printJSON(w, planDoc{})
	}
	return printStatuses(w, []status.Status{s})
}

func needsName(s status.Status) string {
	if s.Plan.Phase != cluster.Finalize {
		return ""
	}
	return " --confirm " + s.Name
}

// ask takes yes for an ordinary plan and the name for one without a way back.
func ask(cmd *cobra.Command, s status.Status) (confirm string, err error) {
	word, question := "yes", "Start this plan? Type yes: "
	if s.Plan.Phase == cluster.Finalize {
		word, question = s.Name, "This cannot be taken back. Type the migration's name to start it: "
	}
	if err := askFor(cmd, word, question); err != nil {
		return "", err
	}
	if s.Plan.Phase == cluster.Finalize {
		return word, nil
	}
	return "", nil
}

// askFor wants exactly this word.
func askFor(cmd *cobra.Command, word, question string) error {
	fmt.Fprint(cmd.ErrOrStderr(), question)
	line, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("read the answer: %w", err)
	}
	if strings.TrimSpace(line) != word {
		return &answered{code: exitWaiting, text: "nothing was started"}
	}
	return nil
}

// explain prints the gates behind a refusal.
func explain(cmd *cobra.Command, c *client.Client, name string, cause error) error {
	var refusal *client.Refusal
	if !errors.As(cause, &refusal) || refusal.Code != "gates" {
		return cause
	}
	s, err := c.Status(cmd.Context(), name)
	if err != nil {
		return errors.Join(cause, err)
	}
	var b strings.Builder
	writeGates(&b, s.Gates)
	_, err = io.WriteString(cmd.ErrOrStderr(), plain(b.String()))
	return errors.Join(cause, err)
}

func sayResult(cmd *cobra.Command, s status.Status, asJSON bool) error {
	if asJSON {
		return printJSON(cmd.OutOrStdout(), s)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), plain(fmt.Sprintf("%s: phase %s, %s: %s\n", s.Name, phaseName(s), s.RunStatus, s.Headline)))
	return err
}

// endOf: only a block is no success of waiting.
func endOf(s status.Status) error {
	if s.RunStatus != status.Blocked {
		return nil
	}
	text := s.Headline
	if s.Blocked != nil {
		text = "blocked: " + s.Blocked.What + "; " + s.Blocked.ToDo
	}
	return &answered{code: exitRefused, text: text}
}
