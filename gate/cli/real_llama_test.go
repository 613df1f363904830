package cli_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// layersNow are those of the deployment that runs now; a step of the engine
// takes time in proportion to them.
const layersNow = 105

// steadyConfig loads the engine evenly and well below saturation, so that what
// differs between two runs is the engine and not its queue. The tolerances are
// wide, the late limit is high and medians are judged because the machine may be
// small and shared: in a round of 24 requests two hiccups of it are the P95.
const steadyConfig = `version: 1
name: llama
load:
  rate: 4/s
  arrivals: constant
  rounds: 5
  length: 6s
  warmup: 8
  seed: 1
  late_limit: 200ms
  prompts: {input: 32, output: 8, shared_prefix: 24, groups: 4}
checks:
  ttft_p50:   {tolerance: 40%}
  tpot_p50:   {tolerance: 40%}
  e2e_p50:    {tolerance: 40%}
  ttft_p95:   off
  tpot_p95:   off
  e2e_p95:    off
  error_rate: {max: 5%}
`

// cacheConfig is about the prefix cache only.
const cacheConfig = `version: 1
name: cache
load:
  rate: 20/s
  arrivals: constant
  rounds: 2
  length: 4s
  warmup: 0
  seed: 1
  late_limit: 200ms
  prompts: {input: 40, output: 4, shared_prefix: 32, groups: 4}
checks:
  ttft_p95: off
  tpot_p95: off
  e2e_p95: off
  error_rate: {max: 5%}
`

// llama makes models and serves them.
type llama struct {
	server, mkmodel string
}

func newLlama(t *testing.T) llama {
	t.Helper()
	return llama{server: program(t, "LLAMA_SERVER", "llama/bin", "llama-server"), mkmodel: build(t, "./testdata/mkmodel")}
}

// serve serves a model of so many layers until the test ends and returns its
// address. extra are further flags of llama-server.
func (l llama) serve(t *testing.T, layers int, extra ...string) string {
	t.Helper()
	model := filepath.Join(t.TempDir(), fmt.Sprintf("tiny-%d.gguf", layers))
	if out, err := exec.CommandContext(t.Context(), l.mkmodel, "-o", model, "-layers", fmt.Sprint(layers)).CombinedOutput(); err != nil {
		t.Fatalf("make model: %v\n%s", err, out)
	}
	// One thread: on a small machine two wait for each other most of the time.
	args := append([]string{"-m", model, "--host", "127.0.0.1", "--port", "0", "-c", "8192", "-np", "4", "-t", "1", "--no-webui"}, extra...)
	return start(t, l.server, args...).waitFor(t, `listening on (http://[0-9.:]+)`)[1]
}

func writeConfig(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "llm-gate.yml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRealEngineJudged records a baseline of a real engine, finds it green
// against itself, and red with two and a half times the layers.
func TestRealEngineJudged(t *testing.T) {
	engines := newLlama(t)
	gate := gateBinary(build(t, "."))
	config := writeConfig(t, steadyConfig)
	store := t.TempDir()
	judge := func(layers, want int) verdictFile {
		out := t.TempDir()
		code, text := gate.run(t, "run", "--config", config, "--target", engines.serve(t, layers, "--metrics"), "--baseline-dir", store, "--out", out)
		if code != want {
			t.Fatalf("exit code %d, want %d:\n%s", code, want, text)
		}
		return readVerdict(t, out)
	}

	first := judge(layersNow, 0)
	if first.Conclusion != "first" || first.Blocked {
		t.Errorf("the first run is %s, blocked %t; want first, false", first.Conclusion, first.Blocked)
	}
	if rate := first.now(t, "kv_hit_rate"); rate <= 0.5 || rate >= 1 {
		t.Errorf("with three quarters of each prompt shared the hit rate is %.3f, want more than 0.5", rate)
	}
	if code, text := gate.run(t, "baseline", "list", "--baseline-dir", store); code != 0 || !strings.Contains(text, "llama") {
		t.Errorf("baseline list exits %d and says:\n%s\nwant the run that was recorded", code, text)
	}

	same := judge(layersNow, 0)
	t.Logf("the same engine again: %s", same.summary())
	if same.Conclusion != "green" || same.Blocked {
		t.Errorf("the same engine is %s, blocked %t; want green, false", same.Conclusion, same.Blocked)
	}

	slower := judge(layersNow*5/2, 1)
	t.Logf("2.5 times the layers: %s", slower.summary())
	if slower.Conclusion != "red" || !slower.Blocked {
		t.Errorf("the slower engine is %s, blocked %t; want red, true", slower.Conclusion, slower.Blocked)
	}
	for _, f := range slower.Findings {
		switch f.Metric {
		case "ttft_p50", "tpot_p50", "e2e_p50":
			if f.Status != "fail" || f.Change == nil || !f.Change.Worse || f.Change.Value == nil || *f.Change.Value < 0.4 {
				t.Errorf("%s is %s with change %+v; want fail, worse by more than 0.4", f.Metric, f.Status, f.Change)
			}
		case "error_rate":
			if f.Status != "pass" {
				t.Errorf("error_rate is %s, want pass: layers change no answer", f.Status)
			}
		}
	}
	var changed []string
	for _, d := range slower.Changed {
		changed = append(changed, d.Field)
	}
	if !strings.Contains(strings.Join(changed, " "), "model") {
		t.Errorf("changed fields are %q, want the model among them", changed)
	}

	// Not asserted: 29 % on a small machine is near what its noise alone does.
	out := t.TempDir()
	code, _ := gate.run(t, "run", "--config", config, "--target", engines.serve(t, 135, "--metrics"),
		"--baseline-dir", store, "--record", "never", "--out", out)
	t.Logf("experiment, 135 layers: exit code %d, %s", code, readVerdict(t, out).summary())
}

// TestRealEngineCache reads the hit rate from the engine's counters.
func TestRealEngineCache(t *testing.T) {
	target := newLlama(t).serve(t, 4, "--metrics")
	gate := gateBinary(build(t, "."))
	config := writeConfig(t, cacheConfig)
	hitRate := func(extra ...string) float64 {
		out := t.TempDir()
		code, text := gate.run(t, append([]string{"run", "--config", config, "--target", target, "--baseline-dir", t.TempDir(), "--out", out}, extra...)...)
		if code != 0 {
			t.Fatalf("exit code %d, want 0:\n%s", code, text)
		}
		return readVerdict(t, out).now(t, "kv_hit_rate")
	}
	shared, apart := hitRate(), hitRate("--shared-prefix", "0")
	t.Logf("hit rate %.3f with shared prefixes, %.3f without", shared, apart)
	if shared <= 0.5 {
		t.Errorf("with shared prefixes the hit rate is %.3f, want more than 0.5", shared)
	}
	if apart >= shared-0.2 {
		t.Errorf("without shared prefixes the hit rate is %.3f, want it far below the %.3f with them", apart, shared)
	}
}

// TestRealEngineRefuses holds the errors of a real engine against the exit
// codes that scripts rely on.
func TestRealEngineRefuses(t *testing.T) {
	engines := newLlama(t)
	gate := gateBinary(build(t, "."))
	target := engines.serve(t, 4, "--metrics")
	silent := engines.serve(t, 4) // without a page of metrics
	config := writeConfig(t, cacheConfig)
	tests := []struct {
		name string
		args []string
		code int
		says []string
	}{
		{"unknown model", []string{"--target", target, "--model", "nope"}, 2, []string{`no model "nope"`, "tiny-4.gguf"}},
		{"prompt beyond the context", []string{"--target", target, "--input-tokens", "5000", "--num-requests", "6"}, 1, []string{"Every request failed", "http_4xx"}},
		{"metrics asked for and not served", []string{"--target", silent, "--metrics-url", silent + "/metrics"}, 2, []string{"/metrics", "501", "--metrics"}},
		{"metrics tried and not served", []string{"--target", silent}, 0, []string{"no metrics", "KV-cache hit rate"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			code, text := gate.run(t, append([]string{"run", "--config", config, "--baseline-dir", t.TempDir(), "--out", t.TempDir()}, test.args...)...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() {
				t.Logf("it says:\n%s", text)
			}
		})
	}
}

// TestRealEngineContextOverflow finds the engine's own words in the request log.
func TestRealEngineContextOverflow(t *testing.T) {
	target := newLlama(t).serve(t, 4, "--metrics")
	gate := gateBinary(build(t, "."))
	log := filepath.Join(t.TempDir(), "requests.jsonl")
	gate.run(t, "load", "--config", writeConfig(t, cacheConfig), "--target", target, "--out", t.TempDir(),
		"--input-tokens", "5000", "--num-requests", "2", "--requests", log)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines in the request log, want 2:\n%s", len(lines), data)
	}
	for _, line := range lines {
		var request struct{ Outcome, Error string }
		if err := json.Unmarshal([]byte(line), &request); err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		if request.Outcome != "http_4xx" || !strings.Contains(request.Error, "context size") {
			t.Errorf("outcome %q, error %q; want http_4xx with the engine's words about its context size", request.Outcome, request.Error)
		}
	}
}

// TestRealEngineInterrupted stops a run in the middle of a round.
func TestRealEngineInterrupted(t *testing.T) {
	target := newLlama(t).serve(t, layersNow, "--metrics")
	binary := build(t, ".")
	out, store := t.TempDir(), t.TempDir()
	text := new(output)
	cmd := measured(t.Context(), binary, "run", "--config", writeConfig(t, steadyConfig), "--target", target,
		"--baseline-dir", store, "--out", out, "--rounds", "10", "--duration", "20s")
	cmd.Stdout, cmd.Stderr = text, text
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	text.waitFor(t, `steady 1/10 .* sent`)
	signalled := time.Now()
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // its exit code is looked at below
	took := time.Since(signalled)
	if code := cmd.ProcessState.ExitCode(); code != 3 {
		t.Errorf("exit code %d, want 3:\n%s", code, text)
	}
	// What a runner allows before it kills; it takes a fraction of it.
	if took > 6*time.Second {
		t.Errorf("it took %v to wind up, want less than 6 s", took)
	}
	var result struct{ Incomplete string }
	readJSON(t, filepath.Join(out, "result.json"), &result)
	if !strings.Contains(result.Incomplete, "interrupted") {
		t.Errorf("result.json has incomplete %q, want it to say that the run was interrupted", result.Incomplete)
	}
	if v := readVerdict(t, out); v.Conclusion != "not_judged" || !v.Blocked {
		t.Errorf("the verdict is %s, blocked %t; want not_judged, true", v.Conclusion, v.Blocked)
	}
	kept, err := filepath.Glob(filepath.Join(store, "*"))
	if err != nil || len(kept) > 0 {
		t.Errorf("the store holds %q (%v), want nothing of a run that was cut short", kept, err)
	}
}
