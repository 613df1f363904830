package telemetry

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"

	lt "github.com/org/llm-gate/loadtest"
)

// stream is one series of a target, one point a second that ends ago before now;
// a negative value leaves the scrape without the series.
func stream(now time.Time, ago time.Duration, name, instance string, values ...float64) *model.SampleStream {
	s := &model.SampleStream{Metric: model.Metric{"__name__": model.LabelValue(name), "job": "llm", "instance": model.LabelValue(instance)}}
	for i, v := range values {
		if v >= 0 {
			at := now.Add(-ago - time.Duration(len(values)-1-i)*time.Second)
			s.Values = append(s.Values, model.SamplePair{Timestamp: model.TimeFromUnixNano(at.UnixNano()), Value: model.SampleValue(v)})
		}
	}
	return s
}

func offline(t *testing.T) *Prometheus {
	t.Helper()
	p, err := NewPrometheus(PrometheusOptions{URL: "http://prometheus.test"})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestFirstScrapeAtOrAfter(t *testing.T) {
	now := time.Now().Truncate(time.Second)
	list := targets(model.Matrix{
		stream(now, 0, "vllm:prefix_cache_queries_total", "a:1", 10, 20, 30, 40),
		stream(now, 0, "vllm:num_requests_waiting", "a:1", 1, 2, -1, -1), // left the page
	})
	p := offline(t)
	for _, tt := range []struct {
		at      time.Time
		queries float64
		waiting bool
	}{
		{now.Add(-3 * time.Second), 10, true}, {now.Add(-2500 * time.Millisecond), 20, true}, {now.Add(-time.Second), 30, false}, {now, 40, false}, {time.Time{}, 40, false},
	} {
		got, err := p.assemble(list, tt.at)
		if err != nil {
			t.Fatal(err)
		}
		_, waiting := got.Pages[0].Values[lt.Waiting]
		if q := got.Pages[0].Values[lt.PrefixQueries]; q != tt.queries || waiting != tt.waiting {
			t.Errorf("at %v: queries %v, waiting shown %v; want %v, %v", tt.at.Sub(now), q, waiting, tt.queries, tt.waiting)
		}
	}
	if _, err := p.assemble(list, now.Add(time.Millisecond)); !errors.As(err, new(*notYet)) {
		t.Errorf("after the last scrape: err = %v", err)
	}
	if p.interval != time.Second {
		t.Errorf("interval = %v", p.interval)
	}
}

func TestRestartAndReplicasThroughPrometheus(t *testing.T) {
	now := time.Now()
	restart := targets(model.Matrix{
		stream(now, 0, "vllm:num_requests_running", "a:1", 1, 1, 1, 1),
		stream(now, 0, startTime, "a:1", 1796095500.1, 1796095500.1, 1796095600.2, 1796095600.2),
	})
	p := offline(t)
	for range 3 { // the windows of successive queries overlap
		if _, err := p.assemble(restart, time.Time{}); err != nil {
			t.Fatalf("a restart: err = %v", err)
		}
	}
	alternating := targets(model.Matrix{
		stream(now, 0, "vllm:num_requests_running", "a:1", 1, 1, 1),
		stream(now, 0, startTime, "a:1", 1796095500.1, 1796095600.2, 1796095500.1),
	})
	if _, err := offline(t).assemble(alternating, time.Time{}); !errors.Is(err, ErrReplicas) {
		t.Errorf("err = %v, want ErrReplicas", err)
	}
}

func TestTargetsOfThePast(t *testing.T) {
	now := time.Now()
	list := targets(model.Matrix{
		stream(now, 0, "vllm:num_requests_running", "new:1", 1, 1, 1),
		stream(now, time.Minute, "sglang:num_running_reqs", "old:1", 5, 5, 5),
		stream(now, 0, "process_resident_memory_bytes", "prometheus:9090", 1e9, 1e9, 1e9),
	})
	p := offline(t)
	got, err := p.assemble(list, time.Time{})
	if err != nil || len(got.Pages) != 1 || got.Pages[0].ID != "new:1" || got.Dialect != "vllm" {
		t.Fatalf("samples %+v, err %v", got, err)
	}
	_, err = p.assemble(list[1:], time.Time{}) // new:1 is gone
	if err == nil || !strings.Contains(err.Error(), "no fresh scrape of new:1") {
		t.Errorf("err = %v", err)
	}
	_, err = offline(t).assemble(list[1:2], time.Time{})
	if err == nil || !strings.Contains(err.Error(), "old:1 was last scraped") {
		t.Errorf("err = %v", err)
	}
}
