package loadtest

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"
)

func at(s int) time.Time { return time.Date(2026, 12, 1, 0, 0, s, 0, time.UTC) }

func sample(s int, pages ...Page) Samples { return Samples{At: at(s), Dialect: "vllm", Pages: pages} }

func page(id string, start float64, values map[string]float64) Page {
	return Page{ID: id, Start: start, Values: values}
}

func TestWindowSumsPages(t *testing.T) {
	b := newWindow(sample(0,
		page("a", 1, map[string]float64{PrefixQueries: 100, PrefixHits: 10, KVUsage: 0.9, Waiting: 50}),
		page("b", 2, map[string]float64{PrefixQueries: 1000, PrefixHits: 0, KVUsage: 0.1, Waiting: 0})))
	b.add(sample(1,
		page("a", 1, map[string]float64{PrefixQueries: 150, PrefixHits: 40, KVUsage: 0.4, Waiting: 3}),
		page("b", 2, map[string]float64{PrefixQueries: 1050, PrefixHits: 20, KVUsage: 0.6, Waiting: 4})))
	b.add(sample(2,
		page("a", 1, map[string]float64{PrefixQueries: 200, PrefixHits: 70, KVUsage: 0.2, Waiting: 0}),
		page("b", 2, map[string]float64{PrefixQueries: 1100, PrefixHits: 80, KVUsage: 0.2, Waiting: 1})))
	w := b.finish()
	if w.Counters[PrefixQueries] != 200 || w.Counters[PrefixHits] != 140 {
		t.Errorf("counters %v, want 200 queries and 140 hits", w.Counters)
	}
	if g := w.Gauges[KVUsage]; g.Max != 0.6 || g.Min != 0.2 || math.Abs(g.Mean-0.4) > 1e-9 || g.N != 2 {
		t.Errorf("KV usage %+v: want the highest page, 0.2 to 0.6, of the time under load alone", g)
	}
	if g := w.Gauges[Waiting]; g.Max != 7 || g.Last != 1 {
		t.Errorf("waiting %+v: want the sum of pages, 7 at most and 1 at last", g)
	}
	if len(w.Events) != 0 {
		t.Errorf("events %v", w.Events)
	}
}

func TestWindowLeavesResetOut(t *testing.T) {
	for name, c := range map[string]struct {
		before, after float64 // start times
		kind          string
	}{
		"counter goes back":  {0, 0, "counter_reset"},
		"start time changes": {5, 9, "restart"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newWindow(sample(0, page("a", c.before, map[string]float64{PrefixQueries: 100, PrefixHits: 50})))
			b.add(sample(1, page("a", c.before, map[string]float64{PrefixQueries: 200, PrefixHits: 120})))
			b.add(sample(2, page("a", c.after, map[string]float64{PrefixQueries: 30, PrefixHits: 130})))
			b.add(sample(3, page("a", c.after, map[string]float64{PrefixQueries: 130, PrefixHits: 160})))
			w := b.finish()
			if w.Counters[PrefixQueries] != 200 || w.Counters[PrefixHits] != 100 {
				t.Errorf("counters %v, want 200 queries and 100 hits of the stretches without the reset", w.Counters)
			}
			if len(w.Events) != 1 || w.Events[0].Kind != c.kind {
				t.Errorf("events %v, want one %s", w.Events, c.kind)
			}
		})
	}
}

func TestWindowUnreadableAfterTheLoad(t *testing.T) {
	b := newWindow(sample(0, page("a", 1, map[string]float64{PrefixQueries: 100})))
	b.add(sample(1, page("a", 1, map[string]float64{PrefixQueries: 200})))
	b.fail(at(2), errors.New("connection refused"))
	w := b.finish()
	if len(w.Counters) != 0 || !strings.Contains(w.Missing[Everything], "connection refused") {
		t.Errorf("counters %v, missing %v: a window that was not closed has no counts", w.Counters, w.Missing)
	}
	if len(w.Events) != 1 || w.Events[0].Kind != "scrape_failed" {
		t.Errorf("events %v", w.Events)
	}
}

func TestWindowNullIsNotZero(t *testing.T) {
	b := newWindow(sample(0, page("a", 1, map[string]float64{PrefixQueries: 100, PrefixHits: 5})))
	last := page("a", 1, map[string]float64{PrefixQueries: 200})
	last.Nulls = map[string]string{PrefixHits: "the page says NaN"}
	b.add(sample(1, last))
	w := b.finish()
	if _, ok := w.Counters[PrefixHits]; ok || !strings.Contains(w.Missing[PrefixHits], "NaN") {
		t.Errorf("counters %v, missing %v: want no hits and the reason", w.Counters, w.Missing)
	}
	if w.Counters[PrefixQueries] != 100 {
		t.Errorf("queries %v: the rest of the page counts", w.Counters)
	}
}

func TestWindowLabelledCounterAppears(t *testing.T) {
	b := newWindow(sample(0, page("a", 1, map[string]float64{PromptTokens: 7})))
	b.add(sample(1, page("a", 1, map[string]float64{PromptTokens: 9, Preemptions: 4})))
	if w := b.finish(); w.Counters[Preemptions] != 4 || w.Counters[PromptTokens] != 2 {
		t.Errorf("counters %v, want 4 preemptions and 2 prompt tokens", w.Counters)
	}
}
