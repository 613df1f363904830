package cli_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// TestRealPrometheus reads the hit rate of a real engine through a real
// Prometheus and holds it against the engine's own counters around the run.
func TestRealPrometheus(t *testing.T) {
	prometheus := program(t, "PROMETHEUS", "bin", "prometheus")
	target := newLlama(t).serve(t, 4, "--metrics")
	address := scrapeWith(t, prometheus, strings.TrimPrefix(target, "http://"))
	gate := gateBinary(build(t, "."))

	before := counters(t, target)
	out := t.TempDir()
	code, text := gate.run(t, "run", "--config", writeConfig(t, cacheConfig), "--target", target,
		"--prometheus-url", address, "--prometheus-match", `{job="llm"}`, "--baseline-dir", t.TempDir(), "--out", out)
	if code != 0 {
		t.Fatalf("exit code %d, want 0:\n%s", code, text)
	}
	after := counters(t, target)
	hits := after["llamacpp:prompt_tokens_cached_total"] - before["llamacpp:prompt_tokens_cached_total"]
	misses := after["llamacpp:prompt_tokens_total"] - before["llamacpp:prompt_tokens_total"]
	want, got := hits/(hits+misses), readVerdict(t, out).now(t, "kv_hit_rate")
	t.Logf("hit rate %.4f through Prometheus, %.4f from the engine", got, want)
	// The engine's own figures also hold the one request of the preflight.
	if math.Abs(got-want) > 0.02 {
		t.Errorf("through Prometheus the hit rate is %.4f, by the engine's counters %.4f: want the same but for 0.02", got, want)
	}

	code, text = gate.run(t, "run", "--config", writeConfig(t, cacheConfig), "--target", target,
		"--prometheus-url", address, "--prometheus-match", `{job="other"}`, "--baseline-dir", t.TempDir(), "--out", t.TempDir())
	if code != 2 || !strings.Contains(text, `job="other"`) {
		t.Errorf("a matcher that matches nothing exits %d and says the following; want 2 and the matcher\n%s", code, text)
	}
}

// scrapeWith starts a Prometheus that scrapes the target every second, and
// returns its address once it has scraped.
func scrapeWith(t *testing.T, prometheus, target string) string {
	t.Helper()
	dir := t.TempDir()
	config := filepath.Join(dir, "prometheus.yml")
	text := fmt.Sprintf("global: {scrape_interval: 1s, scrape_timeout: 1s}\nscrape_configs:\n- job_name: llm\n  static_configs: [{targets: ['%s']}]\n", target)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := start(t, prometheus, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address=127.0.0.1:0", "--storage.tsdb.retention.time=1h")
	address := "http://" + out.waitFor(t, `Listening on"? address=([0-9.:]+)`)[1]
	out.waitFor(t, `ready to receive web requests`)
	awaitSeries(t, address+`/api/v1/query?query=llamacpp:prompt_tokens_total`)
	return address
}

// awaitSeries asks until the answer holds a series.
func awaitSeries(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	again := time.NewTicker(100 * time.Millisecond)
	defer again.Stop()
	for {
		body := get(t, url)
		if strings.Contains(body, `"metric"`) {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("Prometheus never scraped: %s", body)
		case <-again.C:
		}
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

// counters are the engine's own, by name.
func counters(t *testing.T, target string) map[string]float64 {
	t.Helper()
	page := get(t, target+"/metrics")
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(strings.ReplaceAll(page, "-nan", "NaN")))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]float64{}
	for name, family := range families {
		for _, metric := range family.GetMetric() {
			out[name] += metric.GetCounter().GetValue()
		}
	}
	return out
}
