package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/baselines"
	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// storeFlags say which store a baseline command works on.
type storeFlags struct {
	dir, config, name, tokenEnv string
}

func (f *storeFlags) bind(cmd *cobra.Command) {
	s := cmd.Flags()
	s.StringVar(&f.dir, "baseline-dir", "", "folder of baselines (default: a branch within GitHub Actions, "+defaultBaselineDir+" elsewhere)")
	s.StringVarP(&f.config, "config", "c", "", "config file that names store and service (default "+defaultConfigFile+" where there is one)")
	s.StringVar(&f.name, "name", "", "name of the service (default: the config's, else all)")
	s.StringVar(&f.tokenEnv, "token-env", "LLM_GATE_TOKEN", "environment variable that holds the GitHub token, before GITHUB_TOKEN")
}

// open opens the store and tells the names to work on.
func (f *storeFlags) open(ctx context.Context, a *app) (store baselines.Store, names []string, err error) {
	cfg, err := a.loadConfig(f.config, "target.url", "target.api_key", "target.headers")
	if err != nil {
		return nil, nil, err
	}
	around, err := a.surroundings(f.tokenEnv)
	if err != nil {
		return nil, nil, err
	}
	if store, err = a.openStore(f.dir, cfg, around); err != nil {
		return nil, nil, err
	}
	switch namer, ok := store.(baselines.Namer); {
	case f.name != "":
		names = []string{f.name}
	case cfg.Policy.Source != "defaults":
		names = []string{cfg.Name}
	case ok:
		if names, err = namer.Names(ctx); err != nil {
			return nil, nil, fmt.Errorf("list services: %w", err)
		}
	}
	return store, names, nil
}

// refs lists the entries of the names, newest first within a name.
func refs(ctx context.Context, store baselines.Store, names []string) (all []baselines.Ref, err error) {
	for _, name := range names {
		list, err := store.List(ctx, name)
		if err != nil {
			return nil, fmt.Errorf("list baselines of %s: %w", name, err)
		}
		all = append(all, list...)
	}
	return all, nil
}

func (a *app) baselineCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "baseline",
		Short: "List, show, promote and verify accepted runs",
		Long: `A baseline is an accepted result and where it came from. Green runs that are not
a pull request's enter on their own; promote puts one in by hand.`,
		Example: `  llm-gate baseline list --baseline-dir baselines
  llm-gate baseline promote llm-gate-out/result.json --baseline-dir baselines --name chat-8b --reason "new GPU"`,
		Args: knownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.baselineList(), a.baselineShow(), a.baselinePromote(), a.baselineVerify())
	return cmd
}

func (a *app) baselineList() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List accepted runs, newest first",
		Example: "  llm-gate baseline list --baseline-dir baselines --name chat-8b",
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, names, err := f.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			all, err := refs(cmd.Context(), store, names)
			if err != nil {
				return err
			}
			table := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
			fmt.Fprintln(table, "ID\tRECORDED\tSERVICE\tGPU\tWORKLOAD")
			for _, r := range all {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", r.ID, r.RecordedAt.UTC().Format(time.RFC3339), r.Key.Name, r.Key.GPU, r.Key.Workload)
			}
			return table.Flush()
		},
	}
	f.bind(cmd)
	return cmd
}

// find finds the entry with an id, or the newest where the id is empty.
func find(ctx context.Context, store baselines.Store, names []string, id string) (*baselines.Entry, error) {
	all, err := refs(ctx, store, names)
	if err != nil {
		return nil, err
	}
	for _, r := range all {
		if id == "" || r.ID == id {
			return store.Load(ctx, r.Key, r.ID)
		}
	}
	if id == "" {
		return nil, usagef("the store holds no baselines: run the gate once, or see llm-gate baseline promote --help")
	}
	return nil, usagef("no baseline %s: see llm-gate baseline list", id)
}

func (a *app) baselineShow() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:     "show [ID]",
		Short:   "Show an accepted run with its figures; the newest by default",
		Example: "  llm-gate baseline show 20261201T050040Z-9f2c61b4 --baseline-dir baselines",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			store, names, err := f.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			entry, err := find(cmd.Context(), store, names, strings.Join(args, ""))
			if err != nil {
				return err
			}
			return a.showEntry(entry)
		},
	}
	f.bind(cmd)
	return cmd
}

func (a *app) showEntry(e *baselines.Entry) error {
	table := tabwriter.NewWriter(a.env.Stdout, 0, 0, 2, ' ', 0)
	s := e.Result.Subject
	for _, row := range [][2]string{
		{"id", e.ID},
		{"service", e.Key.Name},
		{"recorded", e.RecordedAt.UTC().Format(time.RFC3339)},
		{"as", e.Conclusion},
		{"reason", e.Reason},
		{"commit", e.Result.Provenance.Commit},
		{"run", e.Result.Provenance.RunURL},
		{"model", s.Model},
		{"engine", strings.TrimSpace(s.Engine + " " + s.EngineVersion)},
		{"gpu", e.Key.GPU},
		{"load", e.Result.Workload},
		{"sha256", e.SHA256},
	} {
		if row[1] != "" {
			fmt.Fprintf(table, "%s\t%s\n", row[0], row[1])
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	return writeFigures(a.env.Stdout, e.Result)
}

func (a *app) baselinePromote() *cobra.Command {
	var f storeFlags
	var reason string
	cmd := &cobra.Command{
		Use:   "promote RESULT",
		Short: "Accept a result as a baseline by hand, with a reason",
		Long: `promote puts result.json into the history of its service, GPU and workload,
whatever its verdict was. A partial result and one of an unfit generator are
refused: they say nothing of the server.`,
		Example: `  llm-gate baseline promote llm-gate-out/result.json --baseline-dir baselines --name chat-8b --reason "accepted: larger block size"`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(reason) == "" {
				return usagef("--reason is needed: say why this run is accepted, it is kept with it")
			}
			res, err := loadtest.ReadResult(args[0])
			if err != nil {
				return usage(err)
			}
			store, _, err := f.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			if f.name != "" {
				res.Name = f.name
			}
			entry, err := baselines.NewEntry(res, baselines.Promoted, reason, time.Now())
			if err != nil {
				return usage(err)
			}
			if err := store.Append(cmd.Context(), entry); err != nil {
				if errors.Is(err, fs.ErrExist) {
					return usagef("promote %s: %w", args[0], err)
				}
				return fmt.Errorf("promote %s: %w", args[0], err)
			}
			_, err = fmt.Fprintf(a.env.Stdout, "%s is a baseline of %s now\n", entry.ID, entry.Key)
			return err
		},
	}
	f.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "why the run is accepted")
	return cmd
}

func (a *app) baselineVerify() *cobra.Command {
	var f storeFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Read every accepted run and report those that cannot be trusted",
		Long: `verify reads each entry of the store in full and checks its schema and its
hash. It exits 3 where one is corrupt, and changes nothing.`,
		Example: "  llm-gate baseline verify --baseline-dir baselines",
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, names, err := f.open(cmd.Context(), a)
			if err != nil {
				return err
			}
			return a.verify(cmd.Context(), store, names)
		},
	}
	f.bind(cmd)
	return cmd
}

func (a *app) verify(ctx context.Context, store baselines.Store, names []string) error {
	all, err := refs(ctx, store, names)
	if err != nil {
		return err
	}
	var bad []error
	for _, r := range all {
		if _, err := store.Load(ctx, r.Key, r.ID); err != nil {
			bad = append(bad, err)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("%d of %d baselines cannot be trusted:\n%w", len(bad), len(all), errors.Join(bad...))
	}
	_, err = fmt.Fprintf(a.env.Stdout, "whole: %s of %s\n", gate.FormatCount(int64(len(all))), gate.FormatCount(int64(len(all))))
	return err
}
