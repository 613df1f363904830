package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/llm-gate/loadtest/sim"
)

func (a *app) simCommand() *cobra.Command {
	cfg := sim.DefaultConfig()
	var addr string
	cmd := &cobra.Command{
		Use:   "sim",
		Short: "Serve a simulated engine: OpenAI's API and vLLM's metrics",
		Long: `sim serves a simulated inference engine: continuous batching, a pool of KV
blocks with a prefix cache, preemption, speculative decoding. Queueing,
saturation and hit rates emerge from its scheduler; its flags make an engine
that is worse in a known way. It runs until it is interrupted.`,
		Example: `  llm-gate sim --addr 127.0.0.1:8000
  llm-gate sim --addr 127.0.0.1:8001 --step-factor 1.3 --prefix-cache=false`,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.sim(cmd.Context(), addr, cfg) },
	}
	cmd.Flags().StringVar(&addr, "addr", "127.0.0.1:8000", "address to listen on; port 0 takes a free one")
	bindSim(cmd.Flags(), &cfg)
	return cmd
}

// bindSim makes every knob of the engine a flag.
func bindSim(s *pflag.FlagSet, c *sim.Config) {
	for _, k := range c.Knobs() {
		switch v := k.Value.(type) {
		case *string:
			s.StringVar(v, k.Flag, *v, k.Help)
		case *bool:
			s.BoolVar(v, k.Flag, *v, k.Help)
		case *uint64:
			s.Uint64Var(v, k.Flag, *v, k.Help)
		case *int:
			s.IntVar(v, k.Flag, *v, k.Help)
		case *float64:
			s.Float64Var(v, k.Flag, *v, k.Help)
		case *time.Duration:
			s.DurationVar(v, k.Flag, *v, k.Help)
		default:
			panic(fmt.Sprintf("knob %s has a type without a flag: %T", k.Field, v))
		}
	}
}

func (a *app) sim(ctx context.Context, addr string, cfg sim.Config) error {
	engine, err := startSim(ctx, addr, cfg)
	if err != nil {
		return usagef("sim: %w", err)
	}
	defer engine.close()
	fmt.Fprintf(a.env.Stdout, "llm-gate sim listens on http://%s\n", engine.addr)
	select {
	case <-ctx.Done():
		return nil // being stopped is how it ends
	case err := <-engine.failed:
		return err
	}
}

// simServer is a simulated engine behind a real socket.
type simServer struct {
	addr   string
	engine *sim.Engine
	server *http.Server
	failed chan error
}

func startSim(ctx context.Context, addr string, cfg sim.Config) (*simServer, error) {
	engine, err := sim.New(cfg)
	if err != nil {
		return nil, err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		engine.Close()
		return nil, err
	}
	s := &simServer{
		addr: listener.Addr().String(), engine: engine, failed: make(chan error, 1),
		server: &http.Server{Handler: engine, ReadHeaderTimeout: time.Minute},
	}
	go func() {
		if err := s.server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			s.failed <- err
		}
	}()
	return s, nil
}

func (s *simServer) close() {
	s.engine.Close()
	s.server.Close()
}
