package loadtest

import (
	"fmt"
	"maps"
	"math"
	"time"
)

// windowBuilder sums up samples into a Window: Δ of counters page by page,
// extremes and means of gauges. It is used from one goroutine.
type windowBuilder struct {
	window Window
	pages  map[string]Page // the last reading of each page
	sums   map[string]float64
	failed string // why the last reading failed, "" where it did not
}

// newWindow starts a window at a reading taken before the load. Its gauges are
// of the time before and do not count.
func newWindow(first Samples) *windowBuilder {
	b := &windowBuilder{
		window: Window{From: first.At, To: first.At, Dialect: first.Dialect, Counters: map[string]float64{}, Gauges: map[string]Gauge{}, Missing: map[string]string{}},
		pages:  map[string]Page{},
		sums:   map[string]float64{},
	}
	for _, page := range first.Pages {
		b.pages[page.ID] = page
		for name := range page.Values {
			if kind, ok := KindOf(name); ok && kind == Counter {
				b.window.Counters[name] += 0
			}
		}
	}
	return b
}

// failedWindow is the window of a source that could not be read at its start.
func failedWindow(at time.Time, err error) *windowBuilder {
	b := newWindow(Samples{At: at})
	b.fail(at, err)
	return b
}

// add takes the next reading.
func (b *windowBuilder) add(s Samples) {
	b.failed = ""
	b.window.To = s.At
	if b.window.Dialect == "" {
		b.window.Dialect = s.Dialect
	}
	for _, page := range s.Pages {
		last, known := b.pages[page.ID]
		b.pages[page.ID] = page
		switch {
		case !known:
			b.event(s.At, "page_appeared", fmt.Sprintf("%s was not there when the window began; it counts from here", page.ID))
		case page.Start != last.Start && page.Start != 0 && last.Start != 0:
			b.event(s.At, "restart", fmt.Sprintf("%s restarted; counts of the stretch around it are left out", page.ID))
		default:
			b.addCounters(s.At, last, page)
		}
	}
	b.addGauges(s)
}

// addCounters adds one page's growth since its last reading, or none of it
// where a counter went back: the stretch belongs to two processes.
func (b *windowBuilder) addCounters(at time.Time, last, page Page) {
	for name, value := range page.Values {
		if kind, ok := KindOf(name); ok && kind == Counter {
			if before, ok := last.Values[name]; ok && value < before {
				b.event(at, "counter_reset", fmt.Sprintf("%s: %s went back from %g to %g; counts of this stretch are left out", page.ID, name, before, value))
				return
			}
		}
	}
	for name, value := range page.Values {
		if kind, ok := KindOf(name); ok && kind == Counter {
			if before, ok := last.Values[name]; ok {
				b.window.Counters[name] += value - before
			} else if _, null := last.Nulls[name]; !null {
				// A labelled counter shows up with its first increment: it was 0.
				b.window.Counters[name] += value
			}
		}
	}
}

func (b *windowBuilder) addGauges(s Samples) {
	levels := map[string]float64{}
	for _, page := range s.Pages {
		for name, value := range page.Values {
			kind, ok := KindOf(name)
			if !ok || kind == Counter {
				continue
			}
			level, seen := levels[name]
			switch {
			case !seen:
				level = value
			case kind == GaugeSum:
				level += value
			default:
				level = math.Max(level, value)
			}
			levels[name] = level
		}
	}
	for name, level := range levels {
		g, ok := b.window.Gauges[name]
		if !ok {
			g = Gauge{Min: level, Max: level}
		}
		g.Min, g.Max, g.Last = math.Min(g.Min, level), math.Max(g.Max, level), level
		g.N++
		b.sums[name] += level
		g.Mean = b.sums[name] / float64(g.N)
		b.window.Gauges[name] = g
	}
}

// fail notes that a reading did not come about.
func (b *windowBuilder) fail(at time.Time, err error) {
	if b.failed == "" {
		b.event(at, "scrape_failed", err.Error())
	}
	b.failed = err.Error()
}

// maxEvents bounds the events of a window: a server that restarts in a loop
// says nothing new after so many.
const maxEvents = 20

func (b *windowBuilder) event(at time.Time, kind, text string) {
	if len(b.window.Events) < maxEvents {
		b.window.Events = append(b.window.Events, Event{At: at, Kind: kind, Text: text})
	}
}

// finish closes the window with what the last reading left unknown. Counters
// are only good when the reading after the drain came about.
func (b *windowBuilder) finish() *Window {
	w := b.window
	w.Counters, w.Gauges, w.Missing = maps.Clone(w.Counters), maps.Clone(w.Gauges), maps.Clone(w.Missing)
	if b.failed != "" {
		clear(w.Counters)
		w.Missing[Everything] = "the server's metrics could not be read after the load: " + b.failed
	}
	for _, page := range b.pages {
		for name, reason := range page.Nulls {
			delete(w.Counters, name)
			delete(w.Gauges, name)
			w.Missing[name] = fmt.Sprintf("%s: %s", page.ID, reason)
		}
	}
	return &w
}

// Everything is the key in Window.Missing whose reason holds for every name
// that the window has no value for.
const Everything = "*"
