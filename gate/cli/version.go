package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/org/llm-gate/loadtest"
)

// version is set by the release build (-ldflags "-X …/gate/cli.version=1.2.3").
var version string

// tool identifies this build.
func tool() loadtest.Tool {
	v := version
	if v == "" {
		v = "devel"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
			v = info.Main.Version
		}
	}
	return loadtest.Tool{Version: v, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this build",
		Example: "  llm-gate version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			t := tool()
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "llm-gate %s %s %s/%s\n", t.Version, t.Go, t.OS, t.Arch)
			return err
		},
	}
}
