package cli

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest"
)

// envPrefix begins the environment variables that stand for flags: what the
// action passes its inputs as.
const envPrefix = "LLM_GATE_"

// bindEnv sets each flag that the command line leaves alone from the
// environment: --fail-on from LLM_GATE_FAIL_ON. An empty variable is none.
func (a *app) bindEnv(cmd *cobra.Command, _ []string) (err error) {
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		name := envPrefix + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		value := a.env.Getenv(name)
		if err != nil || f.Changed || value == "" {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			err = list.Replace(strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' || r == '\n' }))
			f.Changed = true
		} else {
			err = cmd.Flags().Set(f.Name, value)
		}
		if err != nil {
			err = usagef("%s=%q: %w", name, value, err)
		}
	})
	return err
}

// loadFlags are the flags of every command that loads a target. Each wins over
// the config's field of the same meaning.
type loadFlags struct {
	flags *pflag.FlagSet

	config, out, requests, name                         string
	target, model, api, apiKeyEnv, ca                   string
	headers, metrics                                    []string
	prometheusURL, prometheusMatch                      string
	rate, arrivals, sharedPrefix, nonce, image, prompts string
	concurrency, numRequests, input, output             int
	rounds, warmup, groups                              int
	duration, budget, timeout, readyTimeout, lateLimit  time.Duration
	seed                                                uint64
}

func (f *loadFlags) bind(cmd *cobra.Command) {
	f.flags = cmd.Flags()
	s := f.flags
	s.StringVarP(&f.config, "config", "c", "", "config file (default "+defaultConfigFile+" where there is one)")
	s.StringVarP(&f.out, "out", "o", "llm-gate-out", "folder for result, verdict and reports")
	s.StringVar(&f.requests, "requests", "", "file for one JSON line a request")
	s.StringVar(&f.name, "name", "", "name of the service, one baseline history each")
	s.StringVarP(&f.target, "target", "t", "", "address of the server, http://host:port")
	s.StringVar(&f.model, "model", "", "model to ask for (default: the only one the server lists)")
	s.StringVar(&f.api, "api", "", "API to load: chat or completions")
	s.StringVar(&f.apiKeyEnv, "api-key-env", "LLM_GATE_API_KEY", "environment variable that holds the API key")
	s.StringArrayVar(&f.headers, "header", nil, "further request header, 'Name: value' (repeatable)")
	s.StringVar(&f.ca, "ca", "", "PEM file of certificate authorities to trust")
	s.StringSliceVar(&f.metrics, "metrics-url", nil, "page of server metrics, repeatable; dns+http://host:port/metrics is every replica; 'auto' is TARGET/metrics, 'off' reads none")
	s.StringVar(&f.prometheusURL, "prometheus-url", "", "read server metrics through this Prometheus")
	s.StringVar(&f.prometheusMatch, "prometheus-match", "", `label matcher for Prometheus, such as '{namespace="pr-412"}'`)
	s.StringVar(&f.rate, "rate", "", "requests per second of an open loop, or auto")
	s.StringVar(&f.arrivals, "arrivals", "", "arrival process of the open loop: poisson or constant")
	s.IntVar(&f.concurrency, "concurrency", 0, "streams of a closed loop, in place of a rate")
	s.IntVar(&f.numRequests, "num-requests", 0, "judged requests in all, split over the rounds")
	s.DurationVar(&f.duration, "duration", 0, "length of the judged load in all, split over the rounds")
	s.IntVar(&f.rounds, "rounds", 0, fmt.Sprintf("judged rounds, %d to %d", loadtest.MinRounds, loadtest.MaxRounds))
	s.IntVar(&f.warmup, "warmup", 0, "requests before the first round, unmeasured")
	s.IntVar(&f.input, "input-tokens", 0, "length of every prompt; half of it is shared within a group unless --shared-prefix says otherwise")
	s.IntVar(&f.output, "output-tokens", 0, "length of every answer")
	s.StringVar(&f.sharedPrefix, "shared-prefix", "", "prefix that prompts of one group share, in tokens or as a share: 256 or 50%")
	s.IntVar(&f.groups, "groups", 0, "groups of prompts that share a prefix")
	s.StringVar(&f.prompts, "prompts", "", "JSONL file of OpenAI messages to send, in place of synthetic prompts")
	s.Uint64Var(&f.seed, "seed", 0, "seed of arrivals, prompts and draws (default 1)")
	s.StringVar(&f.nonce, "nonce", "", "nonce that opens the prompts, to replay a run (default: new)")
	s.DurationVar(&f.budget, "budget", 0, "upper bound of the whole load")
	s.DurationVar(&f.timeout, "timeout", 0, "bound of one request, from its intended start")
	s.DurationVar(&f.readyTimeout, "ready-timeout", 0, "how long to wait for the target to become ready")
	s.DurationVar(&f.lateLimit, "late-limit", 0, "how late sends may be at P99 before the run is unfit (default: the larger of 10ms and 5 % of the median TTFT)")
	s.StringVar(&f.image, "image", "", "digest of the deployed image, recorded")
}

// given reports whether the flag was set, on the command line or by its
// environment variable.
func (f *loadFlags) given(name string) bool { return f.flags.Changed(name) }

// settings reads the config and lays the flags over it.
func (f *loadFlags) settings(a *app) (*config.Config, error) {
	cfg, err := a.loadConfig(f.config, f.replaced(a.env.Getenv)...)
	if err != nil {
		return nil, err
	}
	if err := f.apply(cfg, a.env.Getenv); err != nil {
		return nil, usage(err)
	}
	return cfg, nil
}

// replaced lists the config's fields whose flags are given: what the file says
// there is not read.
func (f *loadFlags) replaced(getenv func(string) string) []string {
	fields := map[string]string{
		"target": "target.url", "model": "target.model", "api": "target.api", "ca": "target.ca_file", "name": "name",
	}
	var out []string
	for flag, field := range fields {
		if f.given(flag) {
			out = append(out, field)
		}
	}
	if getenv(f.apiKeyEnv) != "" {
		out = append(out, "target.api_key")
	}
	return out
}

// apply lays the flags that are given over cfg.
func (f *loadFlags) apply(cfg *config.Config, getenv func(string) string) error {
	t := &cfg.Target
	override(&cfg.Name, f.name, f.given("name"))
	override(&t.URL, f.target, f.given("target"))
	override(&t.Model, f.model, f.given("model"))
	override(&t.CAFile, f.ca, f.given("ca"))
	override(&t.ReadyTimeout, f.readyTimeout, f.given("ready-timeout"))
	if f.given("api") {
		if f.api != "chat" && f.api != "completions" {
			return fmt.Errorf("--api %q: want chat or completions", f.api)
		}
		t.API = f.api
	}
	if key := getenv(f.apiKeyEnv); key != "" {
		t.APIKey = config.Secret(key)
	} else if f.given("api-key-env") {
		return fmt.Errorf("--api-key-env %s: the environment variable is not set", f.apiKeyEnv)
	}
	for _, header := range f.headers {
		name, value, ok := strings.Cut(header, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return fmt.Errorf("--header: want 'Name: value' (the value is not shown, it may be a secret)")
		}
		if t.Headers == nil {
			t.Headers = map[string]config.Secret{}
		}
		t.Headers[http.CanonicalHeaderKey(strings.TrimSpace(name))] = config.Secret(strings.TrimSpace(value))
	}
	if err := f.applyMetrics(&t.Metrics); err != nil {
		return err
	}
	return f.applyLoad(&cfg.Load)
}

func (f *loadFlags) applyMetrics(m *config.Metrics) error {
	if f.given("metrics-url") && f.given("prometheus-url") {
		return fmt.Errorf("--metrics-url and --prometheus-url exclude each other: remove one")
	}
	switch {
	case f.given("prometheus-url"):
		*m = config.Metrics{PrometheusURL: f.prometheusURL, PrometheusMatch: f.prometheusMatch}
	case f.given("prometheus-match") && m.PrometheusURL == "":
		return fmt.Errorf("--prometheus-match needs --prometheus-url")
	case f.given("prometheus-match"):
		m.PrometheusMatch = f.prometheusMatch
	case f.given("metrics-url"):
		switch {
		case len(f.metrics) == 1 && f.metrics[0] == "auto":
			*m = config.Metrics{Auto: true}
		case len(f.metrics) == 1 && f.metrics[0] == "off":
			*m = config.Metrics{Off: true}
		default:
			*m = config.Metrics{Pages: f.metrics}
		}
	}
	return nil
}

func (f *loadFlags) applyLoad(load *config.Plan) error {
	if f.given("rate") && f.given("concurrency") {
		return fmt.Errorf("--rate and --concurrency exclude each other: a closed loop has no rate of its own")
	}
	if f.given("rate") {
		if load.Arrivals.Process == loadtest.Closed {
			load.Arrivals = loadtest.Arrivals{Process: loadtest.Poisson, RatePerS: loadtest.DefaultSpec().Arrivals.RatePerS}
		}
		load.RateAuto = f.rate == "auto"
		if !load.RateAuto {
			rate, err := strconv.ParseFloat(strings.TrimSuffix(f.rate, "/s"), 64)
			if err != nil {
				return fmt.Errorf("--rate %q: want requests per second such as 12 or 0.5, or auto", f.rate)
			}
			load.Arrivals.RatePerS = rate
		}
	}
	if f.given("concurrency") {
		if f.given("arrivals") {
			return fmt.Errorf("--arrivals has no use beside --concurrency, a closed loop: remove one")
		}
		load.RateAuto = false
		load.Arrivals = loadtest.Arrivals{Process: loadtest.Closed, Concurrency: f.concurrency}
	}
	if f.given("arrivals") {
		load.Arrivals.Process = loadtest.Process(f.arrivals)
	}
	override(&load.Rounds, f.rounds, f.given("rounds"))
	override(&load.Warmup, f.warmup, f.given("warmup"))
	if f.given("num-requests") {
		if f.numRequests < load.Rounds {
			return fmt.Errorf("--num-requests %d: want at least one for each of %d rounds", f.numRequests, load.Rounds)
		}
		load.Requests = (f.numRequests + load.Rounds - 1) / load.Rounds
		if !f.given("duration") {
			load.Length = 0
		}
	}
	if f.given("duration") {
		load.Length = loadtest.ToSeconds(f.duration / time.Duration(max(load.Rounds, 1)))
		if !f.given("num-requests") {
			load.Requests = 0
		}
	}
	if f.given("seed") {
		load.Seed = &f.seed
	}
	override(&load.Budget, loadtest.ToSeconds(f.budget), f.given("budget"))
	override(&load.RequestTimeout, loadtest.ToSeconds(f.timeout), f.given("timeout"))
	override(&load.LateLimit, loadtest.ToSeconds(f.lateLimit), f.given("late-limit"))
	return f.applyPrompts(&load.Prompts)
}

func (f *loadFlags) applyPrompts(p *loadtest.Prompts) error {
	if f.given("prompts") {
		*p = loadtest.Prompts{File: f.prompts, OutputMean: p.OutputMean}
	}
	if f.given("input-tokens") {
		if p.File != "" {
			return fmt.Errorf("--input-tokens has no use with prompts from a file")
		}
		p.InputMean, p.InputSD = f.input, 0
		p.SharedPrefix, p.Groups = f.input/2, max(p.Groups, 1)
		if p.SharedPrefix == 0 {
			p.Groups = 0
		}
	}
	if f.given("output-tokens") {
		p.OutputMean, p.OutputSD = f.output, 0
	}
	override(&p.Groups, f.groups, f.given("groups"))
	if f.given("shared-prefix") {
		share, percent := strings.CutSuffix(f.sharedPrefix, "%")
		n, err := strconv.ParseFloat(strings.TrimSpace(share), 64)
		if err != nil || n < 0 || percent && n >= 100 {
			return fmt.Errorf("--shared-prefix %q: want tokens or a share below 100%%, such as 256 or 50%%", f.sharedPrefix)
		}
		if percent {
			n *= float64(p.InputMean) / 100
		}
		p.SharedPrefix = int(n)
		if p.SharedPrefix > 0 {
			p.Groups = max(p.Groups, 1)
		}
	}
	return nil
}

func override[T any](field *T, value T, given bool) {
	if given {
		*field = value
	}
}
