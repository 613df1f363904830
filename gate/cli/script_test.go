package cli_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/org/llm-gate/loadtest/sim"
)

// TestScripts runs the command line as a user does. Besides testscript's own
// commands the scripts have:
//
//	sim NAME [FIELD=VALUE ...]   serve a simulated engine; $NAME is its address
//	serve NAME STATUS TEXT       serve one answer to everything; $NAME is its address
//	refused NAME                 $NAME is an address that nobody listens on
//	exits CODE COMMAND ...       run a command that must exit with CODE
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "../../testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("NO_COLOR", "1")
			return nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"sim": simCommand, "serve": serveCommand, "refused": refusedCommand, "exits": exitsCommand,
		},
	})
}

func simCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		ts.Fatalf("usage: sim NAME [FIELD=VALUE ...]")
	}
	cfg := sim.DefaultConfig()
	// Quick steps: the scripts are about what is said, not about speed.
	cfg.StepBase, cfg.StepPerSequence, cfg.StepPerPrefillToken = 2*time.Millisecond, 0, 0
	knobs := cfg.Knobs()
	for _, arg := range args[1:] {
		field, value, _ := strings.Cut(arg, "=")
		found := false
		for _, k := range knobs {
			if k.Field == field {
				found = true
				ts.Check(setKnob(k.Value, value))
			}
		}
		if !found {
			ts.Fatalf("the engine has no field %s", field)
		}
	}
	engine, err := sim.New(cfg)
	ts.Check(err)
	server := httptest.NewServer(engine)
	ts.Defer(func() {
		ts.Check(engine.Close())
		server.Close()
	})
	ts.Setenv(args[0], server.URL)
}

func setKnob(knob any, value string) (err error) {
	switch v := knob.(type) {
	case *string:
		*v = value
	case *bool:
		*v, err = strconv.ParseBool(value)
	case *uint64:
		*v, err = strconv.ParseUint(value, 10, 64)
	case *int:
		*v, err = strconv.Atoi(value)
	case *float64:
		*v, err = strconv.ParseFloat(value, 64)
	case *time.Duration:
		*v, err = time.ParseDuration(value)
	default:
		err = fmt.Errorf("a knob of type %T", knob)
	}
	return err
}

func serveCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 3 {
		ts.Fatalf("usage: serve NAME STATUS TEXT")
	}
	status, err := strconv.Atoi(args[1])
	ts.Check(err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		fmt.Fprint(w, args[2])
	}))
	ts.Defer(server.Close)
	ts.Setenv(args[0], server.URL)
}

func refusedCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: refused NAME")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	ts.Setenv(args[0], "http://"+listener.Addr().String())
	ts.Check(listener.Close())
}

// exitsCommand is exec for a certain exit code: "! exec" would take any.
func exitsCommand(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND ...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(interface{ ExitCode() int })
		if !ok {
			ts.Fatalf("run %s: %v", args[1], err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s exits %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}
