package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/loadtest"
	"github.com/org/llm-gate/loadtest/sim"
)

func (a *app) demoCommand() *cobra.Command {
	var out string
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Show the gate at work on simulated engines, in about a minute",
		Long: `demo starts a simulated engine, records its first baseline, judges a healthy
candidate (green) and then one whose steps take twice as long and whose prefix
cache is off (red). It needs no network and no GPU.`,
		Example: "  llm-gate demo\n  llm-gate demo --out /tmp/demo",
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context(), out) },
	}
	cmd.Flags().StringVarP(&out, "out", "o", "llm-gate-out/demo", "folder for baselines and reports")
	return cmd
}

// demoConfig is short for a demonstration, and wide because it also runs on
// busy machines: real runs take the default plan.
const demoConfig = `version: 1
name: demo
load:
  arrivals: constant
  rate: 40/s
  rounds: 3
  requests: 200
  warmup: 32
  late_limit: 1s
  prompts: {input: 256, output: 24, shared_prefix: 50%, groups: 8}
checks:
  ttft_p95: {tolerance: 50%}
  tpot_p95: {tolerance: 30%}
  e2e_p95:  {tolerance: 30%}
`

// demoRun is one act of the demo and the exit code it must end with.
type demoRun struct {
	name, title string
	change      func(*sim.Config)
	want        int
}

var demoRuns = []demoRun{
	{"baseline", "1. The deployment that runs now: its first run becomes the baseline.", func(*sim.Config) {}, exitPromote},
	{"healthy", "2. A preview of a new engine version, as fast as before.", func(c *sim.Config) {
		c.Version, c.Seed = "0.12.0", 2
	}, exitPromote},
	{"regressed", "3. A preview whose steps take twice as long and whose prefix cache is off.", func(c *sim.Config) {
		c.Version, c.Seed, c.StepFactor, c.PrefixCache, c.Flags = "0.12.1", 3, 2, false, "--no-enable-prefix-caching"
	}, exitRed},
}

// demoEngine is slow enough that a busy machine's delays are small beside its
// steps.
func demoEngine() sim.Config {
	c := sim.DefaultConfig()
	c.StepBase = 30 * time.Millisecond
	return c
}

func (a *app) demo(ctx context.Context, out string) error {
	store := filepath.Join(out, "baselines")
	if err := os.RemoveAll(store); err != nil { // its own, from the last demo
		return usagef("--out: %w", err)
	}
	if err := os.MkdirAll(out, 0o755); err != nil {
		return usagef("--out: %w", err)
	}
	if err := loadtest.WriteFile(filepath.Join(out, defaultConfigFile), func(w io.Writer) error {
		_, err := io.WriteString(w, demoConfig)
		return err
	}); err != nil {
		return err
	}
	for _, act := range demoRuns {
		fmt.Fprintf(a.env.Stdout, "\n%s\n\n", act.title)
		code, err := a.demoAct(ctx, act, out, store)
		if ctx.Err() != nil {
			return &exitError{exitNotJudged, context.Cause(ctx)}
		}
		if err != nil {
			return err
		}
		if code != act.want {
			return &exitError{exitNotJudged, fmt.Errorf("the demo's %s run ended with exit code %d, not %d: is this machine very busy? See %s", act.name, code, act.want, filepath.Join(out, act.name, "report.html"))}
		}
	}
	_, err := fmt.Fprintf(a.env.Stdout, "\nIn a workflow the last run ends with exit code 1, and the job that promotes does not start.\nThe report a reviewer opens: %s\n", filepath.Join(out, "regressed", "report.html"))
	return err
}

// demoAct runs the gate on an engine of its own, by the flags that a user
// would give, and returns its exit code.
func (a *app) demoAct(ctx context.Context, act demoRun, out, store string) (code int, err error) {
	cfg := demoEngine()
	act.change(&cfg)
	engine, err := startSim(ctx, "127.0.0.1:0", cfg)
	if err != nil {
		return 0, err
	}
	defer engine.close()
	// A run of its own, away from whatever workflow the demo may run in.
	inner := &app{env: a.env}
	inner.env.Getenv = func(name string) string {
		if name == "NO_COLOR" {
			return a.env.Getenv(name)
		}
		return ""
	}
	root := inner.root()
	root.SetArgs([]string{
		"run", "--config", filepath.Join(out, defaultConfigFile), "--target", "http://" + engine.addr,
		"--baseline-dir", store, "--out", filepath.Join(out, act.name),
		fmt.Sprintf("--quiet=%t", a.quiet), "--log-format", a.logFormat, fmt.Sprintf("--no-color=%t", a.noColor),
	})
	root.SetOut(a.env.Stdout)
	root.SetErr(a.env.Stderr)
	err = root.ExecuteContext(ctx)
	var done *exitError
	if errors.As(err, &done) && done.err == nil {
		return done.code, nil
	}
	return exitPromote, err
}
