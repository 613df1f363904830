package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/gate/report"
	"github.com/org/llm-gate/loadtest"
)

func (a *app) reportCommand() *cobra.Command {
	var format, out string
	cmd := &cobra.Command{
		Use:   "report VERDICT",
		Short: "Draw a verdict again as text, Markdown, HTML or JSON",
		Long: `report reads verdict.json and needs nothing else: the verdict embeds what its
reports draw. It exits 0 whatever the verdict says.`,
		Example: `  llm-gate report llm-gate-out/verdict.json
  llm-gate report llm-gate-out/verdict.json --format html --out report.html`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			render, err := a.renderer(format)
			if err != nil {
				return err
			}
			v, err := readVerdict(args[0])
			if err != nil {
				return usage(err)
			}
			if out == "" {
				return render(a.env.Stdout, v)
			}
			return loadtest.WriteFile(out, func(w io.Writer) error { return render(w, v) })
		},
	}
	cmd.Flags().StringVar(&format, "format", "text", "text, markdown, html or json")
	cmd.Flags().StringVarP(&out, "out", "o", "", "file to write (default: standard output)")
	return cmd
}

func readVerdict(path string) (v *gate.Verdict, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	defer file.Close()
	if v, err = report.ReadVerdict(file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return v, nil
}
