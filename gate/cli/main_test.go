package cli_test

import (
	"context"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/llm-gate/gate/cli"
)

// TestMain makes llm-gate a command of the scripts. It is the only one of the
// package's test binary; what other tests need once they make when they need it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"llm-gate": func() {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			os.Exit(cli.Main(ctx, os.Args[1:], cli.Env{Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv}))
		},
	})
}
