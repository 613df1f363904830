// Command llm-gate says whether a preview deployment of a large language model
// is fit to replace what runs now.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/org/llm-gate/gate/cli"
)

// signalNames are the signals that end a run, as people know them.
var signalNames = map[os.Signal]string{os.Interrupt: "SIGINT", syscall.SIGTERM: "SIGTERM"}

func main() {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		sig := <-signals
		cancel(fmt.Errorf("interrupted by %s", signalNames[sig]))
		<-signals // a second one means now
		os.Exit(3)
	}()
	os.Exit(cli.Main(ctx, os.Args[1:], cli.Env{
		Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
	}))
}
