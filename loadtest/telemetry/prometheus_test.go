package telemetry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lt "github.com/org/llm-gate/loadtest"
)

const scrapeInterval = 250 * time.Millisecond

// startPrometheus runs the real program over the scrape config (a YAML list)
// and returns its address once it answers.
func startPrometheus(t *testing.T, scrapeConfigs string) string {
	t.Helper()
	program, err := exec.LookPath("prometheus")
	if err != nil {
		t.Skip("prometheus is not on the PATH")
	}
	dir := t.TempDir()
	config := filepath.Join(dir, "prom.yml")
	text := fmt.Sprintf("global: {scrape_interval: %dms, scrape_timeout: %dms}\nscrape_configs:\n%s", scrapeInterval.Milliseconds(), scrapeInterval.Milliseconds(), scrapeConfigs)
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	var log bytes.Buffer
	cmd := exec.Command(program, "--config.file="+config, "--storage.tsdb.path="+filepath.Join(dir, "data"),
		"--web.listen-address="+addr, "--storage.tsdb.retention.time=1h")
	cmd.Stdout, cmd.Stderr = &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() { cmd.Process.Kill(); <-exited })
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.After(60 * time.Second); ; {
		if resp, err := http.Get("http://" + addr + "/-/ready"); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return "http://" + addr
			}
		}
		select {
		case <-tick.C:
		case err := <-exited:
			exited <- err
			t.Fatalf("prometheus ended: %v\n%s", err, log.String())
		case <-deadline:
			t.Fatal("prometheus is not ready after 60 s")
		}
	}
}

func job(name, namespace string, servers ...*httptest.Server) string {
	var hosts []string
	for _, s := range servers {
		hosts = append(hosts, "'"+strings.TrimPrefix(s.URL, "http://")+"'")
	}
	return fmt.Sprintf("  - job_name: %s\n    static_configs: [{targets: [%s], labels: {namespace: %s}}]\n", name, strings.Join(hosts, ","), namespace)
}

func newPrometheus(t *testing.T, url, match string) *Prometheus {
	t.Helper()
	p, err := NewPrometheus(PrometheusOptions{URL: url, Match: match})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// eventually calls fn until it is content, for errors that only time mends.
func eventually(t *testing.T, fn func() error) {
	t.Helper()
	tick := time.NewTicker(scrapeInterval / 2)
	defer tick.Stop()
	deadline := time.After(60 * time.Second)
	for {
		err := fn()
		if err == nil {
			return
		}
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatal(err)
		}
	}
}

func TestPrometheusForReal(t *testing.T) {
	var queries atomic.Int64
	var down atomic.Bool
	engine := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `process_start_time_seconds 1.79609552312e+09
process_resident_memory_bytes 1.048576e+06
vllm:cache_config_info{block_size="16"} 1
vllm:prefix_cache_queries_total{engine="0",model_name="m"} %d
vllm:prefix_cache_queries_total{engine="1",model_name="m"} 1000
vllm:kv_cache_usage_perc{engine="0",model_name="m"} NaN
vllm:e2e_request_latency_seconds_bucket{le="+Inf"} 3
vllm:e2e_request_latency_seconds_sum 4.5
vllm:e2e_request_latency_seconds_count 3
`, queries.Load())
	})
	second := servePage(t, "vllm:prefix_cache_queries_total{engine=\"0\",model_name=\"m\"} 7\n")
	gpu := servePage(t, readFile(t, "dcgm.txt"))
	other := servePage(t, readFile(t, "sglang.txt"))
	stable := servePage(t, readFile(t, "vllm-old.txt"))
	url := startPrometheus(t, job("llm", "pr-412", engine, second)+job("dcgm", "pr-412", gpu)+job("other", "sg", other)+job("stable", "prod", stable))

	p := newPrometheus(t, url+"/", `{namespace="pr-412"}`)
	ctx, cancel := context.WithTimeout(t.Context(), 60*time.Second)
	defer cancel()
	eventually(t, func() error { _, err := newPrometheus(t, url, `{namespace="sg"}`).Probe(ctx); return err })
	eventually(t, func() error {
		s, err := p.Probe(ctx)
		if err == nil && len(s.Pages) != 3 {
			err = fmt.Errorf("%d pages", len(s.Pages))
		}
		return err
	})
	source := p.Describe()
	// A busy machine delays scrapes, so the interval found is only roughly the one configured.
	if source.IntervalS < scrapeInterval.Seconds()/2 || source.IntervalS > scrapeInterval.Seconds()*8 {
		t.Errorf("interval = %v s, want about %v", source.IntervalS, scrapeInterval)
	}
	source.IntervalS = 0
	want := lt.SourceInfo{Kind: "prometheus", Addresses: []string{url + `/ {namespace="pr-412"}`}}
	if diff := cmp.Diff(want, source); diff != "" {
		t.Errorf("source (-want +got):\n%s", diff)
	}

	t.Run("a sample holds what was true at its time", func(t *testing.T) {
		direct := newScrape(t, ScrapeOptions{}, engine.URL, second.URL, gpu.URL)
		for n := range int64(4) {
			queries.Store(100 * (n + 1))
			at := time.Now()
			got, err := p.Sample(ctx, at)
			if err != nil {
				t.Fatal(err)
			}
			if got.Dialect != "vllm" || got.At.Before(at) {
				t.Errorf("dialect %q; asked for %v, got %v", got.Dialect, at, got.At)
			}
			plain, err := direct.Sample(ctx, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			byID := map[string]lt.Page{}
			for _, page := range got.Pages {
				byID["http://"+page.ID] = page
			}
			for _, page := range plain.Pages {
				same := byID[page.ID]
				same.ID = page.ID
				if diff := cmp.Diff(page, same, near); diff != "" {
					t.Errorf("%s (-direct +Prometheus):\n%s", page.ID, diff)
				}
			}
			if v := byID[engine.URL].Values[lt.PrefixQueries]; v != float64(100*(n+1)+1000) {
				t.Errorf("queries = %v", v)
			}
			if null := byID[engine.URL].Nulls[lt.KVUsage]; null != "vllm:kv_cache_usage_perc is NaN" {
				t.Errorf("KV usage is null because %q", null)
			}
		}
	})

	t.Run("the newest figures at once", func(t *testing.T) {
		eventually(t, func() error { // a machine busy enough to miss scrapes is told so
			got, err := p.Sample(ctx, time.Time{})
			if err == nil && len(got.Pages) != 3 {
				err = fmt.Errorf("%d pages", len(got.Pages))
			}
			return err
		})
	})

	t.Run("a time that does not come", func(t *testing.T) {
		short, cancel := context.WithTimeout(ctx, 8*scrapeInterval)
		defer cancel()
		_, err := p.Sample(short, time.Now().Add(time.Hour))
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "was last scraped") {
			t.Errorf("err = %v", err)
		}
	})

	t.Run("several deployments", func(t *testing.T) {
		_, err := newPrometheus(t, url, "").Probe(ctx)
		if err == nil || !strings.Contains(err.Error(), "pages of different engines") {
			t.Errorf("two engines: err = %v", err)
		}
		_, err = newPrometheus(t, url, `{job=~"llm|stable|dcgm"}`).Probe(ctx)
		if err == nil || !strings.Contains(err.Error(), "several deployments") || !strings.Contains(err.Error(), "namespace: pr-412, prod") {
			t.Errorf("one engine, two namespaces: err = %v", err)
		}
		if got, err := newPrometheus(t, url, `{job=~"llm|stable",namespace=~".+"}`).Probe(ctx); err != nil || len(got.Pages) != 3 {
			t.Errorf("asked for: %d pages, err %v", len(got.Pages), err)
		}
	})

	t.Run("nothing matches", func(t *testing.T) {
		_, err := newPrometheus(t, url, `{namespace="nope"}`).Probe(ctx)
		if err == nil || !strings.Contains(err.Error(), `matcher {namespace="nope"}`) || !strings.Contains(err.Error(), "/targets") {
			t.Errorf("err = %v", err)
		}
	})

	t.Run("a target that is down", func(t *testing.T) {
		down.Store(true)
		instance := strings.TrimPrefix(engine.URL, "http://")
		eventually(t, func() error {
			_, err := p.Sample(ctx, time.Time{})
			if err != nil && strings.Contains(err.Error(), "no fresh scrape of "+instance) {
				return nil
			}
			return fmt.Errorf("a sample of a target that is down: err = %v", err)
		})
		down.Store(false)
		at := time.Now()
		if got, err := p.Sample(ctx, at); err != nil || len(got.Pages) != 3 || got.At.Before(at) {
			t.Errorf("after it came back: %d pages, err %v", len(got.Pages), err)
		}
	})
}

func TestPrometheusRefuses(t *testing.T) {
	for _, opts := range []PrometheusOptions{
		{URL: "prom:9090"}, {URL: ""}, {URL: "http://u:s3cret@h:x"},
		{URL: "http://h", Match: `{namespace="x"`}, {URL: "http://h", Match: `namespace=x`}, {URL: "http://h", Match: `{a="b"} or up{c="d"}`},
		{URL: "http://h", Match: `{a="b" c="d"}`},
	} {
		if _, err := NewPrometheus(opts); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("NewPrometheus(%+v): err = %v", opts, err)
		}
	}
	for text, want := range map[string]string{
		"": "{}", "{}": "{}", ` { a = "b" , c=~"d\"},.*" } `: `{a="b",c=~"d\"},.*"}`, `ns!="x",`: `{ns!="x"}`,
	} {
		m, err := parseMatcher(text)
		if err != nil || m.String() != want {
			t.Errorf("parseMatcher(%q) = %s, %v; want %s", text, m, err, want)
		}
	}
}

func TestPrometheusErrorsSayWhatToDo(t *testing.T) {
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"401", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(401) }, "--header"},
		{"not Prometheus", func(w http.ResponseWriter, _ *http.Request) { http.NotFound(w, nil) }, "/api/v1"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>") }, "/api/v1"},
		{"part of an answer", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, `{"status":"success","warnings":["store down"],"data":{"resultType":"scalar","result":[1,"1"]}}`)
		}, "not whole: store down"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handler)
			p, err := NewPrometheus(PrometheusOptions{
				URL:    strings.Replace(server.URL, "http://", "http://user:s3cret@", 1),
				Header: http.Header{"X-Scope-Orgid": {"s3cret"}},
			})
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Probe(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), server.URL) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("err = %v, want %q", err, tt.want)
			}
		})
	}
}
