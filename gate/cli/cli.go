// Package cli is the command line: one file a subcommand. It is the only
// package that imports everything, and the only one that knows how the parts
// fit together.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest/openai"
)

// The exit codes that scripts and workflows rely on.
const (
	exitPromote   = 0 // green, first; yellow unless fail-on says otherwise
	exitRed       = 1
	exitUsage     = 2 // usage, configuration, or the target refuses what was asked
	exitNotJudged = 3 // not judged, interrupted, corrupt baseline, a failure of the tool
)

// Env is what the program takes from its surroundings.
type Env struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string
}

// Main runs the command line and returns the exit code. When ctx ends, the
// cause of ctx says why; Main then winds up within a few seconds.
func Main(ctx context.Context, args []string, env Env) int {
	app := &app{env: env, log: slog.New(slog.DiscardHandler)}
	root := app.root()
	root.SetArgs(args)
	root.SetOut(env.Stdout)
	root.SetErr(env.Stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitPromote
	}
	var done *exitError
	if errors.As(err, &done) && done.err == nil {
		return done.code // everything was said already
	}
	app.complain(err)
	return exitCode(err)
}

// exitError carries an exit code. Without an error of its own, what there is to
// say was said.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usage marks err as a mistake in the call or the configuration.
func usage(err error) error { return &exitError{exitUsage, err} }

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// exitCode maps an error to its code. What is not known to be the caller's
// mistake is the tool's own failure: nothing was judged.
func exitCode(err error) int {
	var coded *exitError
	var refused *openai.RefusedError
	switch {
	case errors.As(err, &coded):
		return coded.code
	case errors.As(err, &refused):
		return exitUsage
	}
	return exitNotJudged
}

// app is what all subcommands share.
type app struct {
	env       Env
	log       *slog.Logger
	quiet     bool
	logFormat string
	noColor   bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "llm-gate",
		Short: "Say whether a preview deployment of an LLM may replace what runs now",
		Long: `llm-gate loads an OpenAI-compatible server as real traffic would, reads the
server's own metrics, compares both with what was accepted before, and says
green, yellow, red or not judged, with its evidence.

Exit codes: 0 promote · 1 red · 2 usage, configuration, or the target refuses
what was asked · 3 not judged, interrupted, or an unreadable baseline.`,
		Example: `  llm-gate run --target http://127.0.0.1:8000 --baseline-dir baselines
  llm-gate demo`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		Args:              knownCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRunE: func(*cobra.Command, []string) error { return a.setUpLog() },
	}
	flags := root.PersistentFlags()
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress, only the result and errors")
	flags.StringVar(&a.logFormat, "log-format", "text", "how progress is written to standard error: text or json")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours on a terminal (NO_COLOR does the same)")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usagef("%w\nsee: %s --help", err, cmd.CommandPath())
	})
	root.AddCommand(
		a.runCommand(), a.loadCommand(), a.compareCommand(), a.reportCommand(), a.baselineCommand(),
		a.simCommand(), a.demoCommand(), a.initCommand(), a.validateCommand(), a.schemaCommand(), a.versionCommand(),
	)
	for _, cmd := range root.Commands() {
		refuseArguments(cmd)
	}
	return root
}

// knownCommand refuses a subcommand that is none and names the nearest.
func knownCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	cmd.SuggestionsMinimumDistance = 2
	hint := "see: " + cmd.CommandPath() + " --help"
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return usagef("unknown command %q of %s: %s", args[0], cmd.CommandPath(), hint)
}

// refuseArguments makes a wrong number of arguments a usage error.
func refuseArguments(cmd *cobra.Command) {
	check := cmd.Args
	if check == nil {
		check = cobra.NoArgs
	}
	if !cmd.HasSubCommands() {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			if err := check(cmd, args); err != nil {
				return usagef("%w\nsee: %s --help", err, cmd.CommandPath())
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		refuseArguments(sub)
	}
}

func (a *app) setUpLog() error {
	opts := &slog.HandlerOptions{Level: slog.LevelInfo}
	if a.quiet {
		opts.Level = slog.LevelWarn
	}
	switch a.logFormat {
	case "json":
		a.log = slog.New(slog.NewJSONHandler(a.env.Stderr, opts))
	case "text":
		a.log = slog.New(lineHandler{w: a.env.Stderr, level: opts.Level.Level()})
	default:
		return usagef("--log-format %q: want text or json", a.logFormat)
	}
	return nil
}

// complain writes an error to standard error, as a log record in JSON mode.
func (a *app) complain(err error) {
	if a.logFormat == "json" {
		slog.New(slog.NewJSONHandler(a.env.Stderr, nil)).Error(err.Error(), "exit", exitCode(err))
		return
	}
	fmt.Fprintf(a.env.Stderr, "llm-gate: %v\n", err)
}

// terminal reports whether w is a terminal, and how wide.
func terminal(w io.Writer) (width int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0, true
	}
	return width, true
}

// color reports whether w gets colours.
func (a *app) color(w io.Writer) bool {
	_, tty := terminal(w)
	return tty && !a.inActions() && !a.noColor && a.env.Getenv("NO_COLOR") == ""
}

// inActions reports whether this is a step of a GitHub workflow.
func (a *app) inActions() bool { return a.env.Getenv("GITHUB_ACTIONS") == "true" }

// loadConfig reads the config: the file named, llm-gate.yml where there is one,
// else the defaults. given lists the fields that flags replace.
func (a *app) loadConfig(path string, given ...string) (*config.Config, error) {
	named := path != ""
	if !named {
		path = defaultConfigFile
	}
	data, err := os.ReadFile(path)
	switch {
	case errors.Is(err, os.ErrNotExist) && !named:
		return config.Default(), nil
	case err != nil:
		return nil, usagef("read config: %w", err)
	}
	cfg, err := config.Load(path, data, a.env.Getenv, given...)
	if err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// defaultConfigFile is read where --config names none.
const defaultConfigFile = "llm-gate.yml"
