package cli

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/report"
	"github.com/org/llm-gate/loadtest"
)

func (a *app) compareCommand() *cobra.Command {
	var configFile, format, failOn, notJudged string
	cmd := &cobra.Command{
		Use:   "compare BASE NEW",
		Short: "Judge one result against another and exit like run",
		Long: `compare judges NEW with BASE as its only accepted run, by the checks of the
config or the default ones. It sends nothing. It exits like run: 0 promote,
1 red, 2 a mistake in the call, 3 not judged.`,
		Example: `  llm-gate compare stable/result.json candidate/result.json
  llm-gate compare stable/result.json candidate/result.json --format markdown`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.loadConfig(configFile)
			if err != nil {
				return err
			}
			f := runFlags{loadFlags: loadFlags{flags: cmd.Flags()}, failOn: failOn, notJudged: notJudged, record: recordNever}
			if err := f.applyPolicy(cfg); err != nil {
				return err
			}
			if err := cfg.Policy.Validate(); err != nil {
				return usage(err)
			}
			return a.compare(cfg.Policy, args[0], args[1], format)
		},
	}
	s := cmd.Flags()
	s.StringVarP(&configFile, "config", "c", "", "config file with the checks (default "+defaultConfigFile+" where there is one)")
	s.StringVar(&format, "format", "text", "text, markdown, html or json")
	s.StringVar(&failOn, "fail-on", "", "what fails: red, yellow or never (observe)")
	s.StringVar(&notJudged, "not-judged", "", "what a comparison that cannot be judged does: block or warn")
	return cmd
}

func (a *app) compare(policy gate.Policy, basePath, newPath, format string) error {
	render, err := a.renderer(format)
	if err != nil {
		return err
	}
	base, err := loadtest.ReadResult(basePath)
	if err != nil {
		return usage(err)
	}
	candidate, err := loadtest.ReadResult(newPath)
	if err != nil {
		return usage(err)
	}
	policy.MaxAge = 0 // the base was chosen by hand
	v := gate.Judge(gate.Input{
		Policy: policy, Candidate: candidate,
		History: []gate.Accepted{{Result: base, Reference: gate.Reference{
			ID: base.ID, Commit: base.Provenance.Commit, RunURL: base.Provenance.RunURL, RecordedAt: base.EndedAt,
		}}},
	})
	if err := render(a.env.Stdout, v); err != nil {
		return err
	}
	if v.ExitCode != exitPromote {
		return &exitError{code: v.ExitCode}
	}
	return nil
}

// renderer finds the output of a format by name.
func (a *app) renderer(format string) (func(io.Writer, *gate.Verdict) error, error) {
	switch format {
	case "text":
		width, _ := terminal(a.env.Stdout)
		return func(w io.Writer, v *gate.Verdict) error {
			return report.Terminal(w, v, report.TerminalOptions{Color: a.color(a.env.Stdout), Width: width})
		}, nil
	case "markdown":
		return report.Markdown, nil
	case "html":
		return report.HTML, nil
	case "json":
		return report.JSON, nil
	}
	return nil, usagef("--format %q: want text, markdown, html or json", format)
}
