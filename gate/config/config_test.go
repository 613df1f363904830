package config

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

var update = flag.Bool("update", false, "rewrite the files in testdata")

const apiKey = "sk-very-secret-42"

func env(name string) string {
	return map[string]string{
		"PREVIEW_URL": "https://pr-412.example/", "LLM_API_KEY": apiKey,
		"BAD_URL": "not-a-url-" + apiKey, "ROUNDS": "4", "BAD_ROUNDS": "47", "INJECT": "1\nfail_on: never",
	}[name]
}

func mustLoad(t *testing.T, text string, given ...string) *Config {
	t.Helper()
	c, err := Load("llm-gate.yml", []byte(text), env, given...)
	if err != nil {
		t.Fatalf("Load: %v", err)
	}
	return c
}

func readValid(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "valid", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestDefaultIsThePlanOfTheSpecification(t *testing.T) {
	c := Default()
	want := loadtest.Spec{
		Arrivals: loadtest.Arrivals{Process: loadtest.Poisson, RatePerS: 4}, Rounds: 5, Length: 35, Warmup: 128,
		Prompts:        loadtest.Prompts{InputMean: 512, InputSD: 128, SharedPrefix: 256, Groups: 8, OutputMean: 128},
		RequestTimeout: loadtest.DefaultSpec().RequestTimeout, Budget: 720,
	}
	if diff := cmp.Diff(want, c.Load.Spec); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
	if !c.Load.RateAuto || c.Target.ReadyTimeout != 20*time.Minute || c.Policy.FailOn != gate.FailOnRed ||
		c.Policy.NotJudged != gate.BlockUnknown || c.Policy.Keep != 5 || !c.Target.Metrics.Auto {
		t.Errorf("defaults are wrong: %+v", c)
	}
	// A file that says nothing is the same.
	got := mustLoad(t, "version: 1\n")
	got.Policy.Source = c.Policy.Source
	if diff := cmp.Diff(c, got, cmp.AllowUnexported(Config{})); diff != "" {
		t.Errorf("an empty file differs from the default (-want +got):\n%s", diff)
	}
}

func TestFull(t *testing.T) {
	c := mustLoad(t, string(readValid(t, "full.yml")))
	if c.Name != "chat-8b" || c.Target.URL != "https://pr-412.example" || c.Target.APIKey.Reveal() != apiKey {
		t.Errorf("name %q, URL %q", c.Name, c.Target.URL)
	}
	if c.Load.Requests != 1600 || c.Load.Length != 0 {
		t.Errorf("a number of requests alone must replace the length: %d, %v", c.Load.Requests, c.Load.Length)
	}
	want := loadtest.Prompts{InputMean: 1000, OutputMean: 200, SharedPrefix: 600, Groups: 8}
	if diff := cmp.Diff(want, c.Load.Prompts); diff != "" {
		t.Errorf("prompts (-want +got):\n%s", diff)
	}
	if c.Policy.MaxAge != 30*24*time.Hour || c.Policy.Keep != 5 || len(c.Policy.Checks) != 5 {
		t.Errorf("policy: %+v", c.Policy)
	}
	row := find(t, c, "error_rate")
	if row.Tolerance == nil || *row.Tolerance != (gate.Tolerance{Kind: gate.Points, Value: 0.005}) || row.Max == nil || *row.Max != 0.01 {
		t.Errorf("error_rate: %+v", row)
	}
	if row.Pos != "llm-gate.yml:20:3" || row.Origin != gate.FromUser {
		t.Errorf("pos %q, origin %q", row.Pos, row.Origin)
	}
}

func find(t *testing.T, c *Config, id string) gate.Check {
	t.Helper()
	for _, row := range c.Policy.Checks {
		if row.Metric == id {
			return row
		}
	}
	t.Fatalf("no check of %s", id)
	return gate.Check{}
}

func ptr[T any](v T) *T { return &v }

func TestEverything(t *testing.T) {
	c, err := Load(filepath.Join("deploy", "llm-gate.yml"), readValid(t, "everything.yml"), env)
	if err != nil {
		t.Fatal(err)
	}
	wantTarget := Target{
		URL: "https://chat-preview:8000", Model: "meta-llama/Llama-3.1-8B-Instruct", API: "completions", APIKey: apiKey,
		Headers: map[string]Secret{"X-Tenant": "gate", "Authorization": "Basic " + apiKey},
		CAFile:  filepath.Join("deploy", "certs", "ca.pem"), ReadyTimeout: 90 * time.Second,
		Metrics: Metrics{PrometheusURL: "http://prom:9090", PrometheusMatch: `{namespace="pr-412"}`},
		GPU:     GPU{Model: "NVIDIA H100 80GB", Count: 2},
	}
	if diff := cmp.Diff(wantTarget, c.Target); diff != "" {
		t.Errorf("target (-want +got):\n%s", diff)
	}
	wantLoad := Plan{
		Spec: loadtest.Spec{
			Arrivals: loadtest.Arrivals{Process: loadtest.Constant, RatePerS: 12.5}, Rounds: 3, Requests: 100, Length: 10,
			Stairs:         &loadtest.Stairs{StartPerS: 100, StepPerS: 50, Steps: 4, Hold: 60, CoolDown: 30},
			Prompts:        loadtest.Prompts{InputMean: 512, InputSD: 128, SharedPrefix: 307, Groups: 4, OutputMean: 200, OutputSD: 20},
			RequestTimeout: 60, SLO: loadtest.SLO{TTFT: 0.5, TPOT: 0.05, E2E: 10}, Budget: 3600, LateLimit: 0.2,
		},
		Seed: ptr(uint64(18446744073709551615)),
	}
	if diff := cmp.Diff(wantLoad, c.Load); diff != "" {
		t.Errorf("load (-want +got):\n%s", diff)
	}
	pos := func(s string) string { return filepath.Join("deploy", "llm-gate.yml") + ":" + s }
	wantChecks := []gate.Check{
		{Metric: "ttft_p95", Origin: gate.FromUser, Tolerance: &gate.Tolerance{Kind: gate.Absolute, Value: 10}, Max: ptr(800.0), Near: 50, Guard: 0.1, Veto: ptr(1200.0), Pos: pos("34:7")},
		{Metric: "ttft_p95", Origin: gate.FromUser, Stage: "stair-4", Max: ptr(1500.0), Pos: pos("35:7")},
		{Metric: "ttft_p95", Origin: gate.FromUser, Scenario: "long answers", Tolerance: &gate.Tolerance{Kind: gate.Relative, Value: 0.2}, Pos: pos("36:7")},
		{Metric: "error_rate", Origin: gate.FromUser, Max: ptr(0.01), Near: 0.002, Veto: ptr(0.05), Pos: pos("38:3")},
		{Metric: "kv_hit_rate", Origin: gate.FromUser, Min: ptr(0.5), Near: 0.03, Veto: ptr(0.3), Pos: pos("39:3")},
	}
	var written []gate.Check
	for _, row := range c.Policy.Checks {
		if row.Metric == "tpot_p95" {
			t.Error("tpot_p95 is off and still there")
		}
		if row.Origin == gate.FromUser {
			written = append(written, row)
		}
	}
	if diff := cmp.Diff(wantChecks, written); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	wantScore := gate.Degradation{
		DesignThroughputPerS: 40, ThroughputFloor: 0.85, ThroughputWeight: 40, P99LimitMS: 2000, P99DivisorMS: 100,
		ErrorFloorPercent: 0.4, ErrorWeight: 10, WarnAbove: 9.5, RelativeP99MS: 110,
	}
	if diff := cmp.Diff(wantScore, c.Policy.Degradation); diff != "" {
		t.Errorf("degradation (-want +got):\n%s", diff)
	}
	if name, ok := c.Baseline.Branch(); !ok || name != "gate/baselines" {
		t.Errorf("store %q", c.Baseline.Store)
	}
	if diff := cmp.Diff([]string{"model", "engine", "flags.block_size"}, c.Policy.RequireSame); diff != "" {
		t.Error(diff)
	}
}

func TestClosedLoopPagesAndFiles(t *testing.T) {
	c, err := Load("deploy/llm-gate.yml", readValid(t, "closed.yml"), env)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(loadtest.Arrivals{Process: loadtest.Closed, Concurrency: 32}, c.Load.Arrivals); diff != "" || c.Load.RateAuto {
		t.Errorf("arrivals, auto %v: %s", c.Load.RateAuto, diff)
	}
	if diff := cmp.Diff(loadtest.Prompts{File: filepath.Join("deploy", "prompts.jsonl"), OutputMean: 64}, c.Load.Prompts); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(Metrics{Pages: []string{"http://a:8000/metrics", "dns+http://host:8000/metrics"}}, c.Target.Metrics); diff != "" {
		t.Error(diff)
	}
	if dir, ok := c.Baseline.Directory(); !ok || dir != filepath.Join("deploy", "baselines") {
		t.Errorf("store %q, %v", dir, ok)
	}
}

func TestAListedCheckReplacesItsDefaultOnly(t *testing.T) {
	c := mustLoad(t, "version: 1\nchecks:\n  e2e_p95: off\n  ttft_p95: {tolerance: 10%}\n")
	var got, want []string
	for _, row := range gate.DefaultChecks() {
		if row.Metric != "e2e_p95" {
			want = append(want, row.Metric)
		}
	}
	if len(want) == 0 { // no defaults: only the written one
		want = []string{"ttft_p95"}
	}
	for _, row := range c.Policy.Checks {
		got = append(got, row.Metric)
		if (row.Metric == "ttft_p95") != (row.Origin == gate.FromUser) {
			t.Errorf("%s is from %s", row.Metric, row.Origin)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestValues(t *testing.T) {
	tests := []struct {
		text string
		got  func(*Config) any
		want any
	}{
		{"load: {budget: 1h30m}", func(c *Config) any { return c.Load.Budget }, loadtest.Seconds(5400)},
		{"load: {timeout: 0.5s}", func(c *Config) any { return c.Load.RequestTimeout }, loadtest.Seconds(0.5)},
		{"load: {rate: 12/s}", func(c *Config) any { return c.Load.Arrivals }, loadtest.Arrivals{Process: loadtest.Poisson, RatePerS: 12}},
		{"load: {rate: 0.5 requests/s, length: 60s}", func(c *Config) any { return c.Load.Arrivals.RatePerS }, 0.5},
		{"load: {rounds: '${ROUNDS}'}", func(c *Config) any { return c.Load.Rounds }, 4},
		{"load: {length: 10s}", func(c *Config) any { return c.Load.Requests }, 0},
		{"load: {prompts: {input: 100}}", func(c *Config) any { return c.Load.Prompts.SharedPrefix }, 50},
		{"load: {prompts: {shared_prefix: 0}}", func(c *Config) any { return c.Load.Prompts.Groups }, 0},
		{"load: {prompts: {input: 300+-20}}", func(c *Config) any { return c.Load.Prompts.InputSD }, 20},
		{"load: {stairs: {start: 100/s}, budget: 1h}", func(c *Config) any { return *c.Load.Stairs },
			loadtest.Stairs{StartPerS: 100, StepPerS: 100, Steps: 5, Hold: 60, CoolDown: 30}},
		{"target: {metrics: off}", func(c *Config) any { return c.Target.Metrics }, Metrics{Off: true}},
		{"target: {metrics: 'http://a/metrics?x=1'}", func(c *Config) any { return c.Target.Metrics.Pages }, []string{"http://a/metrics?x=1"}},
		{"target: {model: $$x$y}", func(c *Config) any { return c.Target.Model }, "$x$y"},
		{"name: &n a\ntarget: {model: *n}", func(c *Config) any { return c.Target.Model }, "a"},
		{"name: &n a$$$$\ntarget: {model: *n}", func(c *Config) any { return c.Target.Model }, nil}, // see TestErrors for names
		{"checks: {ttft_p95: {max: 1.2 s}}", func(c *Config) any { return *find(t, c, "ttft_p95").Max }, 1200.0},
		{"checks: {ttft_p95: {max: 2m}}", func(c *Config) any { return *find(t, c, "ttft_p95").Max }, 120000.0},
		{"checks: {error_rate: {tolerance: 50%}}", func(c *Config) any { return *find(t, c, "error_rate").Tolerance }, gate.Tolerance{Kind: gate.Relative, Value: 0.5}},
	}
	for _, tt := range tests {
		c, err := Load("llm-gate.yml", []byte("version: 1\n"+tt.text), env)
		if tt.want == nil {
			if err == nil {
				t.Errorf("%s: no error", tt.text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.text, err)
			continue
		}
		if diff := cmp.Diff(tt.want, tt.got(c)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestGivenFieldsAreNotRead(t *testing.T) {
	text := "version: 1\ntarget: {url: '${NOT_SET}', model: m}\n"
	if _, err := Load("f", []byte(text), env); err == nil {
		t.Error("an unset variable must be an error")
	}
	if c := mustLoad(t, text, "target.url"); c.Target.URL != "" || c.Target.Model != "m" {
		t.Errorf("target: %+v", c.Target)
	}
}

func TestWithoutEnvironmentOnlyTheRestIsChecked(t *testing.T) {
	text := "version: 1\ntarget: {url: '${NOT_SET}', api_key: '${NOT_SET}'}\nload: {rounds: '${N}'}\n"
	if _, err := Load("f", []byte(text), nil); err != nil {
		t.Error(err)
	}
	if _, err := Load("f", []byte(text+"fail_on: blue\n"), nil); err == nil {
		t.Error("the rest must be checked")
	}
}

func TestSecretsNeverShow(t *testing.T) {
	c, err := Load("f", readValid(t, "everything.yml"), env)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{string(data), fmt.Sprintf("%v %+v %#v %v", c, c, c, c.Target), fmt.Sprint(c.Target.APIKey), c.Target.APIKey.LogValue().String(), c.Hash()} {
		if strings.Contains(text, apiKey) {
			t.Errorf("holds the key: %s", text)
		}
	}
	if diff := cmp.Diff([]string{apiKey, "Basic " + apiKey, apiKey, "gate"}, c.Secrets()); diff != "" {
		t.Error(diff)
	}
}

func TestAWrittenKeyIsWarnedOf(t *testing.T) {
	c := mustLoad(t, "version: 1\ntarget: {api_key: abc}\n")
	want := []string{"llm-gate.yml:2:19: target.api_key: the key is written in the file: write ${NAME} and set it in the environment"}
	if diff := cmp.Diff(want, c.Warnings); diff != "" {
		t.Error(diff)
	}
}

func TestHash(t *testing.T) {
	base := "version: 1\nchecks: {ttft_p95: {tolerance: 15%}}\n"
	hash := mustLoad(t, base).Hash()
	same := []string{
		"# a comment\n" + base, base + "target: {url: http://a, api_key: k}\n", base + "comment: never\n",
	}
	for _, text := range same {
		if got := mustLoad(t, text).Hash(); got != hash {
			t.Errorf("%q changes the hash", text)
		}
	}
	other := []string{
		"version: 1\nchecks: {ttft_p95: {tolerance: 16%}}\n", base + "load: {budget: 13m}\n", base + "load: {rate: 4/s}\n",
		base + "load: {seed: 1}\n", base + "fail_on: yellow\n", base + "target: {api: completions}\n", base + "load: {prompts: {groups: 2}}\n",
	}
	seen := map[string]string{hash: base}
	for _, text := range other {
		got := mustLoad(t, text).Hash()
		if twin, ok := seen[got]; ok {
			t.Errorf("%q hashes like %q", text, twin)
		}
		seen[got] = text
	}
	file := "version: 1\nload: {prompts: {file: p.jsonl}}\n"
	a, errA := Load("a/llm-gate.yml", []byte(file), env)
	b, errB := Load("b/llm-gate.yml", []byte(file), env)
	if errors.Join(errA, errB) != nil || a.Hash() != b.Hash() {
		t.Error("where the file lies must not count")
	}
}
