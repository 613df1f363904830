package telemetry

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// A dialect is what one engine calls its metrics.
type dialect struct {
	// name stands in Samples.Dialect.
	name string
	// prefixes are the spellings of the engine's prefix. The table is written
	// with the first; a name is looked for with each.
	prefixes []string
	// layer marks what stands in front of an engine and may share its page:
	// it is the dialect only where no engine is.
	layer      bool
	metrics    []metric
	histograms []histogram
	infos      []info
	// models are the labels that name the model.
	models []string
}

// A metric says how a canonical name is made from the engine's: by the first
// of the formulas whose series are all there.
type metric struct {
	name  string
	from  []formula
	scale float64 // factor to the canonical unit; 0 is 1
}

// A histogram gives a canonical sum and count, in seconds, from the first of
// the names that is there.
type histogram struct {
	sum, count string
	from       []string
}

// A formula adds up series; over, where set, divides by another one, series by
// series.
type formula struct {
	sum  []series
	over *series
}

// A series selects samples by name and, where label is set, by the label's
// value, one of several parted by "|".
type series struct{ name, label, value string }

// An info takes facts from the labels of an info metric: label → key in
// Page.Info.
type info struct {
	name string
	keys [][2]string
}

// names makes one formula of each name: the newest spelling first.
func names(list ...string) []formula {
	out := make([]formula, len(list))
	for i, name := range list {
		out[i] = formula{sum: []series{{name: name}}}
	}
	return out
}

// plus adds up several series.
func plus(list ...string) formula {
	var f formula
	for _, name := range list {
		f.sum = append(f.sum, series{name: name})
	}
	return f
}

// of selects the series of a name by a label.
func of(name, label, value string) formula {
	return formula{sum: []series{{name, label, value}}}
}

// rows are the dialect's metrics with the histograms spelt out.
func (d *dialect) rows() []metric {
	rows := slices.Clone(d.metrics)
	for _, h := range d.histograms {
		var sums, counts []string
		for _, name := range h.from {
			sums = append(sums, name+"_sum")
			counts = append(counts, name+"_count")
		}
		rows = append(rows, metric{name: h.sum, from: names(sums...)}, metric{name: h.count, from: names(counts...)})
	}
	return rows
}

// spellings lists how a name may stand on a page: with each of the engine's
// prefixes, and with or without the _total that client libraries add to
// counters.
func (d *dialect) spellings(name string) []string {
	var out []string
	for i, prefix := range d.prefixes {
		rest, ok := strings.CutPrefix(name, d.prefixes[0])
		if !ok {
			if i > 0 {
				continue
			}
			prefix, rest = "", name
		}
		out = append(out, prefix+rest)
		if bare, ok := strings.CutSuffix(rest, "_total"); ok {
			out = append(out, prefix+bare)
		} else if !strings.HasSuffix(rest, "_sum") && !strings.HasSuffix(rest, "_count") {
			out = append(out, prefix+rest+"_total")
		}
	}
	return out
}

// vocabulary is every name of the dialect's metrics in every spelling.
func (d *dialect) vocabulary() []string {
	var out []string
	for _, m := range d.rows() {
		for _, f := range m.from {
			for _, s := range f.series() {
				out = append(out, d.spellings(s.name)...)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func (f formula) series() []series {
	if f.over == nil {
		return f.sum
	}
	return append(slices.Clone(f.sum), *f.over)
}

// String writes the formula as a finding shows it.
func (f formula) String() string {
	parts := make([]string, len(f.sum))
	for i, s := range f.sum {
		parts[i] = s.String()
	}
	out := strings.Join(parts, " + ")
	if f.over != nil {
		out += " / " + f.over.String()
	}
	return out
}

// String writes the series as a selector.
func (s series) String() string {
	switch {
	case s.label == "":
		return s.name
	case strings.Contains(s.value, "|"):
		return fmt.Sprintf("%s{%s=~%q}", s.name, s.label, s.value)
	default:
		return fmt.Sprintf("%s{%s=%q}", s.name, s.label, s.value)
	}
}

// An index holds a page's samples by name.
type index map[string][]sample

func indexed(samples []sample) index {
	idx := make(index)
	for _, s := range samples {
		idx[s.name] = append(idx[s.name], s)
	}
	return idx
}

// find returns the samples of s in the first spelling that is on the page.
func (idx index) find(d *dialect, s series) []sample {
	for _, name := range d.spellings(s.name) {
		var out []sample
		for _, got := range idx[name] {
			if s.label == "" || slices.Contains(strings.Split(s.value, "|"), got.labels[s.label]) {
				out = append(out, got)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// value computes m from the page: null says why there is none where ok is true
// and the names are there; ok is false where they are not.
func (idx index) value(d *dialect, m metric) (v float64, null string, ok bool) {
	kind, _ := loadtest.KindOf(m.name)
	for _, f := range m.from {
		v, null, ok := idx.formula(d, f, kind)
		if !ok {
			continue
		}
		if m.scale != 0 {
			v *= m.scale
		}
		if null == "" && (math.IsNaN(v) || math.IsInf(v, 0)) {
			null = fmt.Sprintf("%s adds up to %v", f, v)
		}
		return v, null, true
	}
	return 0, "", false
}

func (idx index) formula(d *dialect, f formula, kind loadtest.Kind) (total float64, null string, ok bool) {
	for _, term := range f.sum {
		found := idx.find(d, term)
		if len(found) == 0 {
			return 0, "", false
		}
		if f.over != nil {
			if found = ratios(found, term, idx.find(d, *f.over), *f.over); len(found) == 0 {
				return 0, "", false
			}
		}
		v := math.Inf(-1)
		if kind != loadtest.GaugeMax {
			v = 0
		}
		for _, s := range found {
			if math.IsNaN(s.value) || math.IsInf(s.value, 0) {
				null = fmt.Sprintf("%s is %v", s.name, s.value)
				continue
			}
			if kind == loadtest.GaugeMax {
				v = max(v, s.value)
			} else {
				v += s.value
			}
		}
		total += v
	}
	return total, null, true
}

// ratios divides each sample by the one of equal labels, the selecting label
// apart.
func ratios(tops []sample, top series, bottoms []sample, bottom series) []sample {
	rest := func(s sample, label string) string {
		var parts []string
		for k, v := range s.labels {
			if k != label {
				parts = append(parts, fmt.Sprintf("%q=%q", k, v))
			}
		}
		slices.Sort(parts)
		return strings.Join(parts, ",")
	}
	by := make(map[string]float64)
	for _, s := range bottoms {
		by[rest(s, bottom.label)] = s.value
	}
	var out []sample
	for _, s := range tops {
		if b, ok := by[rest(s, top.label)]; ok {
			out = append(out, sample{name: top.String() + " / " + bottom.String(), labels: s.labels, value: s.value / b})
		}
	}
	return out
}

// Names lists what is looked for on a page for a canonical name, over every
// dialect, so that a finding about a missing metric can say so. It is empty
// for a name that no dialect has.
func Names(canonical string) []string { return NamesIn("", canonical) }

// NamesIn is Names for one dialect and the hardware exporters; "" is every
// dialect.
func NamesIn(dialectName, canonical string) []string {
	var out []string
	for _, d := range slices.Concat(engines(), hardware()) {
		isHardware := d.name == ""
		if dialectName != "" && d.name != dialectName && !isHardware {
			continue
		}
		for _, m := range d.rows() {
			if m.name != canonical {
				continue
			}
			for _, f := range m.from {
				out = append(out, f.String())
			}
		}
	}
	return out
}

// Dialects lists the engines known, in the order in which they are recognised.
func Dialects() []string {
	var out []string
	for _, d := range engines() {
		out = append(out, d.name)
	}
	return out
}
