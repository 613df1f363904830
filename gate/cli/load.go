package cli

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

func (a *app) loadCommand() *cobra.Command {
	var f loadFlags
	cmd := &cobra.Command{
		Use:   "load",
		Short: "Load a target and write result.json, without judging",
		Long: `load carries out the plan and stops at result.json: what was done and what was
seen. compare judges two such results, baseline promote accepts one.`,
		Example: `  llm-gate load --target http://127.0.0.1:8000 --rate 12 --duration 2m --out stable
  llm-gate load --target http://127.0.0.1:8000 --concurrency 32 --num-requests 500 --requests requests.jsonl`,
		PreRunE: a.bindEnv,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.load(cmd.Context(), &f) },
	}
	f.bind(cmd)
	return cmd
}

func (a *app) load(ctx context.Context, f *loadFlags) error {
	cfg, err := f.settings(a)
	if err != nil {
		return err
	}
	m := &measurement{app: a, cfg: cfg, flags: f}
	m.provenance.ConfigHash, m.provenance.Image = cfg.Hash(), f.image
	if err := m.prepare(); err != nil {
		return err
	}
	m.announce()
	if err := m.ready(ctx); err != nil {
		return err
	}
	m.settle()
	m.announceReady(nil)
	if err := m.run(ctx); err != nil {
		return err
	}
	if err := writeFigures(a.env.Stdout, m.result); err != nil {
		return err
	}
	a.log.Info("result    " + m.path("result.json"))
	switch {
	case m.result.Incomplete != "":
		return &exitError{exitNotJudged, fmt.Errorf("the result is partial: %s", m.result.Incomplete)}
	case m.result.Generator.Unfit != "":
		return &exitError{exitNotJudged, fmt.Errorf("the result must not be judged: %s", m.result.Generator.Unfit)}
	}
	return nil
}

// writeFigures lists every metric of the judged stage that could be computed.
func writeFigures(w io.Writer, res *loadtest.Result) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, metric := range gate.Catalogue() {
		v := gate.Measure(res, metric.ID, "", "")
		if v.V == nil && v.Censored == "" {
			continue
		}
		fmt.Fprintf(table, "%s\t%s\tn %s\t\n", metric.ID, gate.FormatMeasure(metric.Unit, v), gate.FormatCount(v.N))
	}
	return table.Flush()
}
