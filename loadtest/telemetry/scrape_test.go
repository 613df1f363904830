package telemetry

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	lt "github.com/org/llm-gate/loadtest"
)

func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

func servePage(t *testing.T, text string) *httptest.Server {
	t.Helper()
	return serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, text) })
}

func newScrape(t *testing.T, opts ScrapeOptions, urls ...string) *Scrape {
	t.Helper()
	s, err := NewScrape(urls, opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestScrapeSeveralPages(t *testing.T) {
	a := servePage(t, readFile(t, "vllm-two-engines.txt"))
	b := servePage(t, readFile(t, "vllm-old.txt"))
	gpu := servePage(t, readFile(t, "dcgm.txt"))
	s := newScrape(t, ScrapeOptions{}, a.URL+"/metrics", b.URL+"/metrics", gpu.URL)
	before := time.Now()
	got, err := s.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got.Dialect != "vllm" || len(got.Pages) != 3 || got.At.Before(before) {
		t.Fatalf("dialect %q, %d pages, at %v", got.Dialect, len(got.Pages), got.At)
	}
	if id := got.Pages[0].ID; id != a.URL+"/metrics" {
		t.Errorf("page ID = %q", id)
	}
	total := got.Pages[0].Values[lt.PrefixQueries] + got.Pages[1].Values[lt.PrefixQueries]
	if total != 1600 || got.Pages[2].Values[lt.GPUMemoryUsed] != 130000 {
		t.Errorf("queries %v, GPU %v", total, got.Pages[2].Values)
	}
	want := lt.SourceInfo{Kind: "scrape", Addresses: []string{a.URL + "/metrics", b.URL + "/metrics", gpu.URL}}
	if diff := cmp.Diff(want, s.Describe()); diff != "" {
		t.Error(diff)
	}
}

func TestScrapeWaitsForATimeAhead(t *testing.T) {
	s := newScrape(t, ScrapeOptions{}, servePage(t, "vllm:num_requests_running 1\n").URL)
	at := time.Now().Add(50 * time.Millisecond)
	got, err := s.Sample(t.Context(), at)
	if err != nil || got.At.Before(at) {
		t.Errorf("sample of %v is from %v, err %v", at, got.At, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if _, err := s.Sample(ctx, time.Now().Add(time.Hour)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("err = %v, want the deadline", err)
	}
}

func startPage(start float64, queries int) string {
	return fmt.Sprintf("process_start_time_seconds %.2f\nvllm:prefix_cache_queries_total %d\n", start, queries)
}

func TestReplicasBehindOneAddress(t *testing.T) {
	tests := []struct {
		name   string
		page   func(n int64) string // of the n-th scrape
		errHas string
	}{
		{"two in turn", func(n int64) string { return startPage([]float64{1796095500.11, 1796095500.84}[n%2], int(n)) }, "process_start_time_seconds went from"},
		{"four in turn", func(n int64) string { return startPage(1796095500.11+float64(n%4), int(n)) }, "process_start_time_seconds went from"},
		{"of llama.cpp, which tells no start", func(n int64) string {
			return fmt.Sprintf("llamacpp:tokens_predicted_total %d\n", []int{100, 40}[n%2])
		}, "the counter generation_tokens went from 100 to 40 and back to 100"},
		{"a restart that stays", func(n int64) string {
			if n < 3 {
				return startPage(1796095500.11, 900)
			}
			return startPage(1796095599.5, int(n))
		}, ""},
		{"two, begun a second apart", func(n int64) string { return startPage(1796095500.11+float64(n%2), int(n)) }, "process_start_time_seconds went from"},
		{"a boot time that flips by a second", func(n int64) string { return startPage(1796095500.11-float64(n/4), int(n)) }, ""},
		{"one", func(n int64) string { return startPage(1796095500.11, int(n)) }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var n atomic.Int64
			server := serve(t, func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, tt.page(n.Add(1)-1)) })
			_, err := newScrape(t, ScrapeOptions{}, server.URL+"/metrics").Probe(t.Context())
			if tt.errHas == "" {
				if err != nil {
					t.Fatalf("err = %v", err)
				}
				return
			}
			if !errors.Is(err, ErrReplicas) {
				t.Fatalf("err = %v, want ErrReplicas", err)
			}
			for _, want := range []string{server.URL + "/metrics", tt.errHas, "dns+http", "Prometheus"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q lacks %q", err, want)
				}
			}
		})
	}
}

// The address must show a replica on each connection, so none is reused.
func TestScrapeOpensFreshConnections(t *testing.T) {
	var connections atomic.Int64
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "vllm:num_requests_running 1\n")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	if _, err := newScrape(t, ScrapeOptions{Probes: 5}, server.URL).Probe(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := connections.Load(); n != 5 {
		t.Errorf("%d connections for 5 scrapes", n)
	}
}

type resolver map[string][]string

func (r resolver) LookupHost(_ context.Context, host string) ([]string, error) {
	if addrs, ok := r[host]; ok {
		return addrs, nil
	}
	return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
}

// serveAt serves a page on two loopback addresses of one port.
func serveAt(t *testing.T, pages map[string]string) (port string) {
	t.Helper()
	for ip, text := range pages {
		l, err := net.Listen("tcp", net.JoinHostPort(ip, cmpOr(port, "0")))
		if err != nil {
			t.Skipf("this machine has no second loopback address: %v", err)
		}
		_, port, _ = net.SplitHostPort(l.Addr().String())
		server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprintf(w, "%svllm:cache_config_info{block_size=%q} 1\n", text, r.Host)
		})}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
	}
	return port
}

func cmpOr(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func TestEveryRecordOfANameIsAPage(t *testing.T) {
	port := serveAt(t, map[string]string{"127.0.0.1": startPage(1796095500.5, 10), "127.0.0.2": startPage(1796095700.25, 20)})
	names := resolver{"llm.test": {"127.0.0.1", "127.0.0.2"}}
	s := newScrape(t, ScrapeOptions{Resolver: names}, "dns+http://llm.test:"+port+"/metrics")
	got, err := s.Probe(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	var total float64
	for _, p := range got.Pages {
		ids = append(ids, p.ID)
		total += p.Values[lt.PrefixQueries]
		if host := p.Info["block_size"]; host != "llm.test:"+port {
			t.Errorf("page %s was asked for as %q", p.ID, host)
		}
	}
	want := []string{"http://127.0.0.1:" + port + "/metrics", "http://127.0.0.2:" + port + "/metrics"}
	if diff := cmp.Diff(want, ids); diff != "" || total != 30 {
		t.Errorf("total %v, pages (-want +got):\n%s", total, diff)
	}
	if got := s.Describe().Addresses[0]; got != "dns+http://llm.test:"+port+"/metrics" {
		t.Errorf("address = %q", got)
	}

	names["llm.test"] = []string{"127.0.0.1"} // not ready for a moment: its counters still count
	if got, err := s.Sample(t.Context(), time.Time{}); err != nil || len(got.Pages) != 2 {
		t.Errorf("after a record went: %d pages, err %v", len(got.Pages), err)
	}
	delete(names, "llm.test")
	if _, err := s.Sample(t.Context(), time.Time{}); err == nil || !strings.Contains(err.Error(), "resolve dns+http://llm.test") {
		t.Errorf("err = %v", err)
	}
}

func TestDualStackProcessIsOnePage(t *testing.T) {
	pages := []page{{id: "4", addr: "10.0.0.1:80"}, {id: "6", addr: "[fd00::1]:80"}, {id: "other", addr: "[fd00::2]:80"}}
	raws := []raw{rawPage(t, "4", startPage(100.5, 1)), rawPage(t, "6", startPage(100.5, 1)), rawPage(t, "other", startPage(200.5, 1))}
	var ids []string
	for _, r := range singleStacked(pages, raws) {
		ids = append(ids, r.id)
	}
	if diff := cmp.Diff([]string{"4", "other"}, ids); diff != "" {
		t.Error(diff)
	}
}

func TestScrapeErrorsSayWhatToDo(t *testing.T) {
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }
	}
	tests := []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"401", status(401), "answered 401 Unauthorized: give the page's credentials"},
		{"404", status(404), "is --metrics"},
		{"501", status(501), "start llama-server with --metrics"},
		{"503", status(503), "not ready"},
		{"500", status(500), "answered 500"},
		{"redirect elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://elsewhere.test/metrics?token=s3cret", http.StatusFound)
		}, "another host"},
		{"HTML", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<!doctype html><title>x</title>") }, "HTML page"},
		{"JSON", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, `[{"iter":1}]`) }, "/prometheus/metrics"},
		{"no metrics", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "hello there world\n") }, "parse page"},
		{"cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			io.WriteString(w, "vllm:num_requests_running 1\n")
		}, "read body"},
		{"OpenMetrics cut short", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/openmetrics-text; version=1.0.0")
			io.WriteString(w, "vllm:num_requests_running 1\n")
		}, "# EOF"},
		{"huge", func(w http.ResponseWriter, _ *http.Request) {
			line := strings.Repeat("a_metric_of_a_very_long_page 1\n", 1<<15)
			for range 20 {
				io.WriteString(w, line)
			}
		}, "larger than 16 MiB"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			server := serve(t, tt.handler)
			secret := strings.Replace(server.URL, "http://", "http://user:s3cret@", 1) + "/metrics?token=s3cret"
			_, err := newScrape(t, ScrapeOptions{Header: http.Header{"Authorization": {"Bearer s3cret"}}}, secret).Probe(t.Context())
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), server.URL+"/metrics") {
				t.Fatalf("err = %v, want %q and the address", err, tt.want)
			}
			if strings.Contains(err.Error(), "s3cret") {
				t.Errorf("credentials in %q", err)
			}
		})
	}
}

func TestScrapeUnreachableNamesEveryPage(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	dead := "http://user:s3cret@" + l.Addr().String()
	l.Close()
	s := newScrape(t, ScrapeOptions{}, servePage(t, "vllm:num_requests_running 1\n").URL, dead+"/a", dead+"/b?key=s3cret")
	_, err = s.Sample(t.Context(), time.Time{})
	if err == nil || !strings.Contains(err.Error(), "/a: dial") || !strings.Contains(err.Error(), "/b: dial") || strings.Contains(err.Error(), "s3cret") {
		t.Errorf("err = %v", err)
	}
}

func TestScrapeSendsCredentials(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		io.WriteString(w, "vllm:num_requests_running 5\n")
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // it would report the refused handshake
	server.StartTLS()
	defer server.Close()
	roots := x509.NewCertPool()
	roots.AddCert(server.Certificate())
	s := newScrape(t, ScrapeOptions{Header: http.Header{"Authorization": {"Bearer k"}}, RootCAs: roots}, server.URL)
	got, err := s.Sample(t.Context(), time.Time{})
	if err != nil || got.Pages[0].Values[lt.Running] != 5 {
		t.Errorf("pages %v, err %v", got.Pages, err)
	}
	if _, err := newScrape(t, ScrapeOptions{}, server.URL).Sample(t.Context(), time.Time{}); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the authority: err = %v", err)
	}
}

func TestNewScrapeRefuses(t *testing.T) {
	for _, urls := range [][]string{
		nil, {"localhost:8000/metrics"}, {"ftp://h/metrics"}, {"http:///metrics"}, {"dns+ftp://h/m"},
		{"http://h/metrics", "http://h/metrics"}, {"http://user:s3cret@h:port/metrics"}, {"://user:s3cret@x"},
	} {
		if _, err := NewScrape(urls, ScrapeOptions{}); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("NewScrape(%q): err = %v", urls, err)
		}
	}
}

func TestDisplayDropsSecrets(t *testing.T) {
	u, err := url.Parse("https://user:pw@h:1/metrics?token=s#f")
	if err != nil {
		t.Fatal(err)
	}
	if got := display(u); got != "https://h:1/metrics" {
		t.Errorf("display = %q", got)
	}
}
