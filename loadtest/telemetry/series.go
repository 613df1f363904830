package telemetry

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/common/model"
)

// A target is what Prometheus holds of one scraped process over a window: its
// raw samples by scrape.
type target struct {
	// id is the instance label, with the job where two jobs share an instance.
	id            string
	job, instance string
	namespace     string
	scrapes       []scrapeOf // oldest first
}

// A scrapeOf is all samples of one target at one time stamp.
type scrapeOf struct {
	at      time.Time
	samples []sample
}

// targets groups a matrix of raw samples by the process they come from.
// Samples of one scrape carry one time stamp, so a series that stopped in
// between is in no later scrape: it is missing there, not carried on.
func targets(m model.Matrix) []target {
	type key struct{ job, instance string }
	type bucket map[int64][]sample
	found := make(map[key]bucket)
	namespaces := make(map[key]string)
	for _, stream := range m {
		labels := make(map[string]string, len(stream.Metric))
		for k, v := range stream.Metric {
			if k != model.MetricNameLabel {
				labels[string(k)] = string(v)
			}
		}
		k := key{labels["job"], labels["instance"]}
		if found[k] == nil {
			found[k] = make(bucket)
		}
		namespaces[k] = labels["namespace"]
		for _, point := range stream.Values {
			ms := int64(point.Timestamp)
			found[k][ms] = append(found[k][ms], sample{
				name:   string(stream.Metric[model.MetricNameLabel]),
				labels: labels,
				value:  float64(point.Value),
			})
		}
	}
	var out []target
	for k, scrapes := range found {
		t := target{job: k.job, instance: k.instance, namespace: namespaces[k]}
		for ms, samples := range scrapes {
			t.scrapes = append(t.scrapes, scrapeOf{time.UnixMilli(ms), samples})
		}
		slices.SortFunc(t.scrapes, func(a, b scrapeOf) int { return a.at.Compare(b.at) })
		out = append(out, t)
	}
	slices.SortFunc(out, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.instance, b.instance), cmp.Compare(a.job, b.job))
	})
	for i, t := range out {
		out[i].id = t.instance
		for _, o := range out {
			if o.instance == t.instance && o.job != t.job {
				out[i].id = t.job + "/" + t.instance
			}
		}
	}
	return out
}

// interval is the median distance between scrapes, 0 with fewer than two.
func (t target) interval() time.Duration {
	var gaps []time.Duration
	for i := 1; i < len(t.scrapes); i++ {
		gaps = append(gaps, t.scrapes[i].at.Sub(t.scrapes[i-1].at))
	}
	if len(gaps) == 0 {
		return 0
	}
	slices.Sort(gaps)
	// Prometheus keeps its interval to a few milliseconds.
	return gaps[len(gaps)/2].Round(10 * time.Millisecond)
}

// last is the newest scrape.
func (t target) last() scrapeOf { return t.scrapes[len(t.scrapes)-1] }

// since is the first scrape at or after the time at; ok is false where there
// is none yet. The zero at takes the newest.
func (t target) since(at time.Time) (s scrapeOf, ok bool) {
	if at.IsZero() {
		return t.last(), true
	}
	for _, s := range t.scrapes {
		if !s.at.Before(at) {
			return s, true
		}
	}
	return scrapeOf{}, false
}
