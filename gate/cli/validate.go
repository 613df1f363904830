package cli

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest"
)

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate [CONFIG]",
		Short: "Check a config without running anything",
		Long: `validate reads a config strictly and reports everything wrong with it, each with
file, line and column. Environment variables that it names need not be set.`,
		Example: "  llm-gate validate\n  llm-gate validate gates/chat.yml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			path := defaultConfigFile
			if len(args) == 1 {
				path = args[0]
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return usagef("read config: %w", err)
			}
			cfg, err := config.Load(path, data, nil)
			if err != nil {
				return usage(err)
			}
			if err := cfg.Policy.Validate(); err != nil {
				return usage(err)
			}
			if cfg.Load.Prompts.File != "" {
				if _, err := loadtest.NewWorkload(cfg.Load.Spec); err != nil {
					return usage(err)
				}
			}
			for _, warning := range cfg.Warnings {
				a.log.Warn(warning)
			}
			_, err = fmt.Fprintf(a.env.Stdout, "%s is valid: %s, %d checks, %s\n", path, cfg.Name, len(cfg.Policy.Checks), cfg.Load.Arrivals.Describe())
			return err
		},
	}
}

func (a *app) schemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "schema",
		Short: "Print the JSON Schema of the config, for editors",
		Long: `schema prints the JSON Schema of llm-gate.yml. An editor with a YAML language
server reads it where the config's first line names the file:
  # yaml-language-server: $schema=llm-gate.schema.json`,
		Example: "  llm-gate schema > llm-gate.schema.json",
		RunE: func(*cobra.Command, []string) error {
			schema, err := config.Schema()
			if err != nil {
				return err
			}
			_, err = a.env.Stdout.Write(schema)
			return err
		},
	}
}
