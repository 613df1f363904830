package cli

import (
	"context"
	"crypto/rand"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/org/llm-gate/gate/config"
	"github.com/org/llm-gate/loadtest"
	"github.com/org/llm-gate/loadtest/openai"
	"github.com/org/llm-gate/loadtest/telemetry"
)

// measurement is one run against one target, from the settings to the result.
type measurement struct {
	app        *app
	cfg        *config.Config
	flags      *loadFlags
	provenance loadtest.Provenance

	client   *openai.Client
	workload *loadtest.Workload
	source   loadtest.Source
	facts    map[string]string // from the metric pages' info metrics
	started  float64           // process_start_time_seconds, 0 where unknown
	info     *openai.Info
	capacity *float64
	result   *loadtest.Result
}

// prepare checks everything that can be checked without asking the target, so
// that a mistake costs no time.
func (m *measurement) prepare() (err error) {
	if m.cfg.Target.URL == "" {
		return usagef("no target: name the server with --target http://host:port or target.url in %s", defaultConfigFile)
	}
	if err := m.cfg.Load.Validate(); err != nil {
		return usagef("load: %w", err)
	}
	if m.workload, err = loadtest.NewWorkload(m.cfg.Load.Spec); err != nil {
		return usage(err)
	}
	if err := writable(m.flags.out); err != nil {
		return usagef("--out: %w", err)
	}
	if m.flags.requests != "" {
		if err := writable(filepath.Dir(m.flags.requests)); err != nil {
			return usagef("--requests: %w", err)
		}
	}
	m.client, err = openai.New(openai.Options{
		BaseURL: m.cfg.Target.URL, API: m.cfg.Target.API, Model: m.cfg.Target.Model,
		APIKey: m.cfg.Target.APIKey.Reveal(), Header: m.header(), CAFile: m.cfg.Target.CAFile,
	})
	return err
}

// writable makes the folder and tries it with a file, before any load.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	probe, err := os.CreateTemp(dir, ".probe.*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// ready waits for the target and finds its metrics.
func (m *measurement) ready(ctx context.Context) (err error) {
	m.info, err = m.client.Preflight(ctx, openai.PreflightOptions{
		ReadyTimeout: m.cfg.Target.ReadyTimeout,
		ExactOutput:  m.cfg.Load.Prompts.File == "", // what synthetic prompts will ask for
		Progress:     func(text string) { m.app.log.Info("waiting   " + text) },
	})
	if err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w while waiting for the target", context.Cause(ctx))
		}
		return err
	}
	return m.openSource(ctx)
}

// openSource opens the source of server metrics and reads it once. A page that
// was asked for must answer; the one that is merely tried may be missing.
func (m *measurement) openSource(ctx context.Context) error {
	metrics := m.cfg.Target.Metrics
	if metrics.Off {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	source, samples, err := m.connectSource(ctx, metrics)
	switch {
	case err == nil:
		m.source = source
	case metrics.Auto && !errors.Is(err, telemetry.ErrReplicas):
		m.app.log.Warn("the target shows no metrics: KV-cache hit rate and the like stay unknown", "because", err)
		return nil
	default:
		return usagef("server metrics: %w", err)
	}
	m.facts = map[string]string{}
	for _, page := range samples.Pages {
		for name, value := range page.Info {
			m.facts[name] = value
		}
		if m.started == 0 || page.Start != 0 && page.Start < m.started {
			m.started = page.Start
		}
	}
	return nil
}

func (m *measurement) connectSource(ctx context.Context, metrics config.Metrics) (loadtest.Source, loadtest.Samples, error) {
	roots, err := m.rootCAs()
	if err != nil {
		return nil, loadtest.Samples{}, err
	}
	if metrics.PrometheusURL != "" {
		prom, err := telemetry.NewPrometheus(telemetry.PrometheusOptions{URL: metrics.PrometheusURL, Match: metrics.PrometheusMatch, RootCAs: roots})
		if err != nil {
			return nil, loadtest.Samples{}, err
		}
		samples, err := prom.Probe(ctx)
		return prom, samples, err
	}
	pages, opts := metrics.Pages, telemetry.ScrapeOptions{RootCAs: roots}
	if metrics.Auto { // the target's own page, behind the same door
		pages, opts.Header = []string{metricsPage(m.cfg.Target.URL)}, m.header()
		if key := m.cfg.Target.APIKey.Reveal(); key != "" && opts.Header.Get("Authorization") == "" {
			opts.Header.Set("Authorization", "Bearer "+key)
		}
	}
	scrape, err := telemetry.NewScrape(pages, opts)
	if err != nil {
		return nil, loadtest.Samples{}, err
	}
	samples, err := scrape.Probe(ctx)
	return scrape, samples, err
}

// header is what goes with every request to the target.
func (m *measurement) header() http.Header {
	header := http.Header{}
	for name, value := range m.cfg.Target.Headers {
		header.Set(name, value.Reveal())
	}
	return header
}

// rootCAs are the authorities to trust: the system's and the CA file's; nil
// where there is no file.
func (m *measurement) rootCAs() (*x509.CertPool, error) {
	if m.cfg.Target.CAFile == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(m.cfg.Target.CAFile)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	roots, err := x509.SystemCertPool()
	if err != nil {
		roots = x509.NewCertPool()
	}
	roots.AppendCertsFromPEM(pem) // the client has refused a file without certificates
	return roots, nil
}

// metricsPage is the page beside the API: TARGET/metrics, without a /v1.
func metricsPage(target string) string {
	return strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(target, "/"), "/v1"), "/") + "/metrics"
}

// settle fills in what is known before the load: what the run belongs to and
// what it must be equal in to be compared.
func (m *measurement) settle() {
	m.result = &loadtest.Result{
		Schema: loadtest.ResultSchema, ID: newID(time.Now()), Name: m.cfg.Name, Tool: tool(),
		Provenance:   m.provenance,
		Workload:     m.describeLoad(),
		CapacityPerS: m.capacity,
		ReadyAfterS:  loadtest.ToSeconds(m.info.ReadyAfter),
		Conditions:   m.conditions(),
		Subject:      m.subject(),
	}
	if m.started > 0 {
		up := loadtest.Seconds(float64(time.Now().UnixNano())/1e9 - m.started)
		m.result.ServerUptimeS = &up
	}
}

// noteRepeats says where a round sent prompts of the file more than once.
func (m *measurement) noteRepeats() {
	lines := m.workload.Lines()
	if lines == 0 {
		return
	}
	for _, seg := range m.result.Segments {
		if seg.Segment.Kind == loadtest.Judged && seg.Total.Sent() > int64(lines) {
			m.result.Notes = append(m.result.Notes, fmt.Sprintf("the prompt file's %d prompts repeat within a round of %d requests: repeats hit the prefix cache", lines, seg.Total.Sent()))
			return
		}
	}
}

func (m *measurement) conditions() loadtest.Conditions {
	c := loadtest.Conditions{
		Workload: m.workload.Hash(), API: m.cfg.Target.API, CacheState: "nonce", GPUModel: "unknown",
	}
	if model := m.facts["gpu_model"]; model != "" {
		c.GPUModel = model
	}
	if n, err := strconv.Atoi(m.facts["gpu_count"]); err == nil {
		c.GPUCount = n
	}
	if m.cfg.Target.GPU.Model != "" {
		c.GPUModel = m.cfg.Target.GPU.Model
	}
	if m.cfg.Target.GPU.Count > 0 {
		c.GPUCount = m.cfg.Target.GPU.Count
	}
	return c
}

func (m *measurement) subject() loadtest.Subject {
	s := loadtest.Subject{
		Model: m.info.Model, ModelRevision: m.info.ModelRevision,
		Engine: m.info.Engine, EngineVersion: m.info.EngineVersion,
		Image: m.flags.image, Flags: map[string]string{},
	}
	for name, value := range m.info.Flags {
		s.Flags[name] = value
	}
	for name, value := range m.facts {
		switch name {
		case "gpu_model", "gpu_count", "model":
		case "engine_version":
			if s.EngineVersion == "" {
				s.EngineVersion = value
			}
		default:
			s.Flags[name] = value
		}
	}
	return s
}

// describeLoad says the load in words.
func (m *measurement) describeLoad() string {
	spec := m.cfg.Load.Spec
	round := spec.Length.Duration().String()
	if spec.Requests > 0 {
		round = fmt.Sprintf("%d requests", spec.Requests)
	}
	p := spec.Prompts
	prompts := fmt.Sprintf("%d±%d tokens in, %d±%d out", p.InputMean, p.InputSD, p.OutputMean, p.OutputSD)
	if p.SharedPrefix > 0 {
		prompts += fmt.Sprintf(", %d shared in %d groups", p.SharedPrefix, p.Groups)
	}
	if p.File != "" {
		prompts = "prompts from " + filepath.Base(p.File)
	}
	return fmt.Sprintf("%s, %d rounds of %s, %s", spec.Arrivals.Describe(), spec.Rounds, round, prompts)
}

// run puts the load on the target and writes the result, of a partial run too.
func (m *measurement) run(ctx context.Context) error {
	var log *loadtest.RequestLog
	var file *os.File
	if m.flags.requests != "" {
		var err error
		if file, err = os.Create(m.flags.requests); err != nil {
			return usagef("--requests: %w", err)
		}
		log = loadtest.NewRequestLog(file)
	}
	runner := &loadtest.Runner{
		Target: m.client, Source: m.source, Workload: m.workload, Spec: m.cfg.Load.Spec,
		Seed: 1, Nonce: m.flags.nonce,
	}
	if m.cfg.Load.Seed != nil {
		runner.Seed = *m.cfg.Load.Seed
	}
	if runner.Nonce == "" {
		runner.Nonce = loadtest.NewNonce([4]byte(random(4)))
	}
	if log != nil {
		runner.Log = log
	}
	progress := m.app.newProgress()
	runner.Progress = progress.tell
	m.result.Provenance.Command = m.command(runner.Seed, runner.Nonce)
	err := runner.Run(ctx, m.result)
	progress.close()
	m.noteRepeats()
	for _, member := range m.client.Refused() {
		m.result.Notes = append(m.result.Notes, fmt.Sprintf("the server refuses %q in a request: sent without", member))
	}
	if log != nil {
		err = errors.Join(err, log.Flush(), file.Close())
	}
	return errors.Join(err, loadtest.WriteFile(m.path("result.json"), func(w io.Writer) error { return m.result.Encode(w) }))
}

// path is a file in the out folder.
func (m *measurement) path(name string) string { return filepath.Join(m.flags.out, name) }

// command repeats the measurement exactly; it holds no secret.
func (m *measurement) command(seed uint64, nonce string) string {
	parts := []string{"llm-gate load --target", shellQuote(m.cfg.Target.URL)}
	if m.flags.config != "" {
		parts = append(parts, "--config", shellQuote(m.flags.config))
	}
	m.flags.flags.VisitAll(func(f *pflag.Flag) {
		switch f.Name {
		case "rate", "arrivals", "concurrency", "num-requests", "duration", "rounds", "warmup", "input-tokens",
			"output-tokens", "shared-prefix", "groups", "prompts", "timeout", "api", "model":
			if f.Changed {
				parts = append(parts, "--"+f.Name, shellQuote(f.Value.String()))
			}
		}
	})
	return strings.Join(append(parts, "--seed", strconv.FormatUint(seed, 10), "--nonce", shellQuote(nonce)), " ")
}

// shellQuote makes s one word of a POSIX shell.
func shellQuote(s string) string {
	if s != "" && strings.IndexFunc(s, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:@%+=,", r)
	}) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// newID names a run by its time and random bits.
func newID(now time.Time) string {
	return now.UTC().Format("20060102T150405Z") + "-" + hex.EncodeToString(random(4))
}

func random(n int) []byte {
	b := make([]byte, n)
	rand.Read(b) // never fails
	return b
}
