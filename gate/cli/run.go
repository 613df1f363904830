package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/baselines"
	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/gate/publish"
	"github.com/org/llm-gate/gate/report"
	"github.com/org/llm-gate/loadtest"
	"github.com/org/llm-gate/loadtest/openai"
)

// runFlags are the flags of the whole gate.
type runFlags struct {
	loadFlags
	baselineDir, failOn, notJudged, record, tokenEnv string
}

// The values of --record.
const (
	recordAuto   = "auto"
	recordAlways = "always"
	recordNever  = "never"
)

func (a *app) runCommand() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Load a target, compare it with its baseline, report, and exit red or green",
		Long: `run does the whole job: it waits for the target, loads it in rounds, reads its
metrics, compares with the accepted runs of the same name, GPU and workload,
writes result, verdict and reports, publishes where a workflow runs it, and
exits 0 (promote), 1 (red), 2 (a mistake in the call) or 3 (not judged).

Every flag can be given as an environment variable too: --fail-on as
LLM_GATE_FAIL_ON. A flag wins over its variable, that over the config.`,
		Example: `  # Nothing configured: the default plan and checks, baselines in a folder.
  llm-gate run --target http://127.0.0.1:8000 --baseline-dir baselines

  # Its own settings, 12 requests a second, observing only.
  llm-gate run -c llm-gate.yml --target $PREVIEW_URL --rate 12 --fail-on never`,
		PreRunE: a.bindEnv,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.run(cmd.Context(), &f) },
	}
	f.bind(cmd)
	s := cmd.Flags()
	s.StringVar(&f.baselineDir, "baseline-dir", "", "folder of baselines (default: a branch within GitHub Actions, "+defaultBaselineDir+" elsewhere)")
	s.StringVar(&f.failOn, "fail-on", "", "what fails: red, yellow or never (observe)")
	s.StringVar(&f.notJudged, "not-judged", "", "what a run that cannot be judged does: block or warn")
	s.StringVar(&f.record, "record", recordAuto, "whether the run may become a baseline: auto (a green or first run of the default branch, of a schedule or started by hand), always (also where conditions changed: a new history begins), or never")
	s.StringVar(&f.tokenEnv, "token-env", "LLM_GATE_TOKEN", "environment variable that holds the GitHub token, before GITHUB_TOKEN")
	return cmd
}

// apply lays the flags over the policy.
func (f *runFlags) applyPolicy(cfg *config.Config) error {
	if f.given("fail-on") {
		cfg.Policy.FailOn = gate.FailOn(f.failOn)
		switch cfg.Policy.FailOn {
		case gate.FailOnRed, gate.FailOnYellow, gate.FailOnNever:
		default:
			return usagef("--fail-on %q: want red, yellow or never", f.failOn)
		}
	}
	if f.given("not-judged") {
		cfg.Policy.NotJudged = gate.OnUnknown(f.notJudged)
		switch cfg.Policy.NotJudged {
		case gate.BlockUnknown, gate.WarnUnknown:
		default:
			return usagef("--not-judged %q: want block or warn", f.notJudged)
		}
	}
	switch f.record {
	case recordAuto, recordAlways, recordNever:
	default:
		return usagef("--record %q: want auto, always or never", f.record)
	}
	return nil
}

// run is the gate: everything from the settings to the exit code.
func (a *app) run(ctx context.Context, f *runFlags) error {
	around, err := a.surroundings(f.tokenEnv)
	if err != nil {
		return err
	}
	g := &gating{app: a, flags: f, around: around, publisher: publish.All()}
	verdict, err := g.judge(ctx)
	if err != nil {
		// Whatever went wrong, what waits for a verdict must learn that there is none.
		a.publish(ctx, g.publisher, &publish.Notice{Phase: publish.Done, Reason: err.Error()})
		return err
	}
	if err := g.deliver(ctx, verdict); err != nil {
		return err
	}
	if verdict.ExitCode != exitPromote {
		return &exitError{code: verdict.ExitCode}
	}
	return nil
}

// gating is one run of the gate.
type gating struct {
	app       *app
	flags     *runFlags
	around    *surroundings
	publisher publish.Publisher

	cfg     *config.Config
	store   baselines.Store
	measure *measurement
	notes   []string
}

// judge measures and judges. An error is a mistake in the call or a failure of
// the tool; what the target does, or cannot do, is a verdict.
func (g *gating) judge(ctx context.Context) (*gate.Verdict, error) {
	if err := g.settings(ctx); err != nil {
		return nil, err
	}
	m := &measurement{app: g.app, cfg: g.cfg, flags: &g.flags.loadFlags, provenance: g.around.provenance()}
	g.measure = m
	m.provenance.ConfigHash = g.cfg.Hash()
	m.provenance.Image = g.flags.image
	if err := g.capacity(ctx); err != nil {
		return g.unjudged(err.Error()), nil
	}
	if err := m.prepare(); err != nil {
		return nil, err
	}
	m.announce()
	g.app.publish(ctx, g.publisher, &publish.Notice{Phase: publish.Started})
	if err := m.ready(ctx); err != nil {
		var late *openai.NotReadyError
		if errors.As(err, &late) && ctx.Err() == nil {
			return g.unjudged(err.Error()), nil
		}
		return nil, err
	}
	m.settle()
	own, elsewhere, err := history(ctx, g.store, m.result, g.cfg.Policy.Keep)
	if err != nil {
		return g.unjudged(err.Error()), nil // before the load: no GPU time for nothing
	}
	if g.flags.record == recordAlways && len(elsewhere) > 0 {
		// Asked for: a history of its own begins under the new conditions.
		g.notes = append(g.notes, "--record always: compared with none of the accepted runs under other conditions")
		elsewhere = nil
	}
	m.announceReady(own)
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	verdict := gate.Judge(gate.Input{
		Policy: g.cfg.Policy, Candidate: m.result, History: own, Elsewhere: elsewhere, MayRecord: g.mayRecord(),
	})
	g.record(ctx, verdict)
	return verdict, nil
}

// settings reads the settings that judge, opens the store and the publishers.
func (g *gating) settings(ctx context.Context) error {
	own, err := g.flags.settings(g.app)
	if err != nil {
		return err
	}
	g.cfg = own
	if own.Target.URL == "" {
		own.Target.URL = g.around.env.EnvironmentURL
	}
	if err := g.around.mask(own); err != nil {
		return err
	}
	g.publisher = g.around.publishers(g.app, own)
	cfg, notes, err := g.app.basePolicy(ctx, &g.flags.loadFlags, g.around, own)
	if err != nil {
		return err
	}
	if cfg.Target.URL == "" {
		cfg.Target.URL = g.around.env.EnvironmentURL
	}
	if err := g.around.mask(cfg); err != nil {
		return err
	}
	g.cfg, g.notes = cfg, notes
	if g.around.actions { // later steps read the files, perhaps from elsewhere
		if g.flags.out, err = filepath.Abs(g.flags.out); err != nil {
			return usagef("--out: %w", err)
		}
	}
	if err := g.flags.applyPolicy(cfg); err != nil {
		return err
	}
	if err := cfg.Policy.Validate(); err != nil {
		return usage(err)
	}
	for _, warning := range cfg.Warnings {
		g.app.log.Warn(warning)
	}
	g.store, err = g.app.openStore(g.flags.baselineDir, cfg, g.around)
	return err
}

// capacity turns rate: auto into a rate: 70 % of the capacity kept with the
// baseline, the default where none is known.
func (g *gating) capacity(ctx context.Context) error {
	known, err := capacity(ctx, g.store, g.cfg.Name)
	if err != nil {
		return fmt.Errorf("read baselines: %w", err)
	}
	g.measure.capacity = known
	if g.cfg.Load.RateAuto && known != nil {
		g.cfg.Load.Arrivals.RatePerS = autoShare * *known
	}
	return nil
}

// autoShare of the capacity is what rate: auto means.
const autoShare = 0.7

// mayRecord reports whether this run may become a baseline. Within Actions
// these are runs of the default branch and those that a person started: the
// event of a preview's deployment does not say that it is a pull request's.
func (g *gating) mayRecord() bool {
	switch g.flags.record {
	case recordAlways:
		return true
	case recordNever:
		return false
	}
	env := g.around.env
	if !g.around.actions {
		return true
	}
	if env.ForPullRequest || env.Fork {
		return false
	}
	return env.OnDefaultBranch() || env.Event == "workflow_dispatch" || env.Event == "schedule"
}

// unjudged is the verdict where there is nothing to judge.
func (g *gating) unjudged(reason string) *gate.Verdict {
	v := gate.Judge(gate.Input{Policy: g.cfg.Policy, Unjudgeable: []string{reason}})
	v.Name, v.Tool, v.Provenance = g.cfg.Name, tool(), g.measure.provenance
	return v
}

// record makes the run a baseline where it may become one. A run that got
// suspiciously better does not: somebody has to promote it.
func (g *gating) record(ctx context.Context, v *gate.Verdict) {
	v.Notes = append(v.Notes, g.notes...)
	if !g.mayRecord() || v.Conclusion != gate.Green && v.Conclusion != gate.First {
		return
	}
	for _, f := range v.Findings {
		if f.Suspicious {
			v.Notes = append(v.Notes, fmt.Sprintf("not recorded as a baseline: %s improved so much that a person should look first; llm-gate baseline promote %s records it", f.Title, g.measure.path("result.json")))
			return
		}
	}
	entry, err := baselines.NewEntry(g.measure.result, v.Conclusion.String(), "", time.Now())
	if err == nil {
		err = g.store.Append(ctx, entry)
	}
	if err != nil && v.Conclusion == gate.First {
		v.Withdraw(fmt.Sprintf("the first baseline could not be recorded: %v", err))
		return
	}
	if err != nil {
		note := fmt.Sprintf("could not be recorded as a baseline: %v", err)
		v.Notes = append(v.Notes, note)
		g.app.log.Warn(note)
		return
	}
	v.Notes = append(v.Notes, "recorded as a baseline")
}

// deliver writes the verdict and the reports, shows them and publishes.
func (g *gating) deliver(ctx context.Context, v *gate.Verdict) error {
	files, err := g.write(v)
	if err != nil {
		err = &exitError{exitNotJudged, err} // a verdict that is not on disk is none
		g.app.publish(ctx, g.publisher, &publish.Notice{Phase: publish.Done, Reason: err.Error()})
		return err
	}
	width, _ := terminal(g.app.env.Stdout)
	if err := report.Terminal(g.app.env.Stdout, v, report.TerminalOptions{
		Color: g.app.color(g.app.env.Stdout), Width: width, ReportPath: files.HTML,
	}); err != nil {
		return err
	}
	g.app.publish(ctx, g.publisher, &publish.Notice{Phase: publish.Done, Verdict: v, Files: files})
	return nil
}

// write puts verdict and reports into the out folder.
func (g *gating) write(v *gate.Verdict) (publish.Files, error) {
	m := g.measure
	files := publish.Files{Verdict: m.path("verdict.json"), Report: m.path("report.md"), HTML: m.path("report.html")}
	if m.result != nil {
		files.Result = m.path("result.json")
	}
	if err := writable(g.flags.out); err != nil {
		return files, err
	}
	for _, out := range []struct {
		path   string
		render func(io.Writer, *gate.Verdict) error
	}{
		{files.Verdict, report.JSON},
		{files.Report, report.Markdown},
		{files.HTML, report.HTML},
	} {
		if err := loadtest.WriteFile(out.path, func(w io.Writer) error { return out.render(w, v) }); err != nil {
			return files, err
		}
	}
	return files, nil
}
