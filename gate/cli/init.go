package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest"
)

func (a *app) initCommand() *cobra.Command {
	var opts config.StarterOptions
	var dir string
	var force bool
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Write a commented config and a workflow to start from",
		Long: `init writes llm-gate.yml and .github/workflows/llm-gate.yml. The config observes
at first: the report then says what would be red, and nothing is blocked. Files
that exist are left alone unless --force is given.`,
		Example: `  llm-gate init --name chat-8b --runner h100
  llm-gate init --dir ../my-service`,
		RunE: func(*cobra.Command, []string) error {
			return a.writeStarters(dir, force, map[string][]byte{
				defaultConfigFile:                config.Starter(opts),
				".github/workflows/llm-gate.yml": config.StarterWorkflow(opts),
			})
		},
	}
	s := cmd.Flags()
	s.StringVar(&dir, "dir", ".", "folder of the repository")
	s.StringVar(&opts.Name, "name", "", "name of the service")
	s.StringVar(&opts.TargetURL, "target", "", "address of the preview deployment, where it is always the same")
	s.StringVar(&opts.RunnerLabel, "runner", "", "label of the self-hosted runner")
	s.BoolVar(&force, "force", false, "overwrite files that exist")
	return cmd
}

// writeStarters writes all files or none.
func (a *app) writeStarters(dir string, force bool, files map[string][]byte) error {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err == nil && !force {
			return usagef("%s exists: remove it, or overwrite it with --force", path)
		} else if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return usagef("init: %w", err)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return usagef("init: %w", err)
		}
		if err := loadtest.WriteFile(path, func(w io.Writer) error { _, err := w.Write(files[name]); return err }); err != nil {
			return err
		}
		fmt.Fprintln(a.env.Stdout, "wrote", path)
	}
	_, err := fmt.Fprintln(a.env.Stdout, "next: look through both, commit them, and make the job llm-gate a required check after a week of observing")
	return err
}
