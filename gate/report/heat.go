package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/org/llm-gate/gate"
)

// heat is a map of the quantiles of one latency over the load levels, with the
// GPU's memory beside it. All coordinates are final.
type heat struct {
	Title, Desc string
	W, H        float64
	Heads       []tick
	Rows        []heatLine
	MemoryX     float64 // left edge of the memory bars
	HasMemory   bool
}

type heatLine struct {
	Label  string
	Y      float64
	TextY  float64
	Cells  []heatCellDrawn
	Memory string
	Bar    float64 // length of the memory bar
}

type heatCellDrawn struct {
	X     float64
	TextX float64
	Text  string
	Class string
}

// heatSteps is how many shades there are.
const heatSteps = 8

// heats draws a map for every latency that has figures.
func heats(figures []gate.StageFigures, byLoad bool) []heat {
	var out []heat
	for _, kind := range latencyKinds {
		if h, ok := heatOf(figures, kind.key, byLoad); ok {
			h.Title = kind.title + ", ms"
			h.Desc = h.Title + " by quantile, one row a "
			if byLoad {
				h.Desc += "load level; the figures stand in the table of load levels"
			} else {
				h.Desc += "round; the figures stand in the table of rounds"
			}
			out = append(out, h)
		}
	}
	return out
}

func heatOf(figures []gate.StageFigures, kind string, byLoad bool) (h heat, ok bool) {
	lo, hi, memory := math.Inf(1), math.Inf(-1), 0.0
	for _, s := range figures {
		for _, level := range gate.QuantileLevels {
			if q := quantile(s.Latencies[kind], level); q != nil && *q > 0 {
				lo, hi = min(lo, *q), max(hi, *q)
			}
		}
		if m := s.GPUMemoryPeakMiB; m != nil && finite(*m) {
			memory = max(memory, *m)
		}
	}
	if hi < lo {
		return h, false
	}
	for i, level := range gate.QuantileLevels {
		h.Heads = append(h.Heads, tick{heatL + (float64(i)+.5)*heatCell, levelName(level)})
	}
	h.MemoryX = heatL + float64(len(gate.QuantileLevels))*heatCell + memoryLeft
	h.HasMemory = memory > 0
	for i, s := range figures {
		row := heatLine{Y: heatTop + float64(i)*heatRow, Label: plain(orElse(s.Label, "unnamed"), 14)}
		if byLoad {
			row.Label = plain(loadLevel(s), 14)
		}
		row.TextY = row.Y + heatRow/2 + 4
		for j, level := range gate.QuantileLevels {
			c := heatCellDrawn{X: heatL + float64(j)*heatCell, TextX: heatL + (float64(j)+.5)*heatCell, Text: "–", Class: "none"}
			if q := quantile(s.Latencies[kind], level); q != nil {
				shade := 0
				if hi > lo && *q > 0 {
					shade = int(math.Round(math.Log(*q/lo) / math.Log(hi/lo) * heatSteps))
				}
				c.Text, c.Class = compact(*q), "h"+strconv.Itoa(shade)
			} else if s.Failed > 0 {
				c.Text, c.Class = "timeout", "hx"
			}
			row.Cells = append(row.Cells, c)
		}
		if m := s.GPUMemoryPeakMiB; m != nil && finite(*m) && memory > 0 {
			row.Memory, row.Bar = gate.FormatValue(gate.MiB, *m), math.Round(max(*m, 0)/memory*memoryW*10)/10
		}
		h.Rows = append(h.Rows, row)
	}
	h.W, h.H = h.MemoryX-memoryLeft+2, heatTop+float64(len(figures))*heatRow+4
	if h.HasMemory {
		h.W = h.MemoryX + memoryW + 4
	}
	return h, true
}

// compact writes milliseconds for a small cell.
func compact(v float64) string {
	switch {
	case v >= 99950:
		return strconv.FormatFloat(v/1000, 'f', 0, 64) + "k"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// spark is the history of one check, oldest first, this run last.
type spark struct {
	Title, Desc, Path, Class string
	Points                   []point // the accepted runs
	End                      point   // this run
	First, Last, Range       string
}

// sparks draws the history of every judged metric that has one.
func sparks(v *gate.Verdict) []spark {
	var out []spark
	for _, f := range v.Findings {
		if f.Scenario != "" || f.Stage != "" {
			continue // the history is of the judged stage as a whole
		}
		var values []float64
		for _, h := range v.Digest.History {
			if x, ok := h.Values[f.Metric]; ok && finite(x) {
				values = append(values, x)
			}
		}
		if len(values) < 2 {
			continue
		}
		lo, hi := values[0], values[0]
		for _, x := range values {
			lo, hi = min(lo, x), max(hi, x)
		}
		s := spark{Title: findingTitle(f), Class: lookOf(f.Status).class, First: gate.FormatValue(f.Unit, values[0]), Last: gate.FormatValue(f.Unit, values[len(values)-1])}
		s.Range = plural(int64(len(values)), "run") + ", " + strings.Replace(fromTo(gate.FormatValue(f.Unit, lo), gate.FormatValue(f.Unit, hi)), "→", "to", 1)
		pen := "M"
		for i, x := range values {
			y := sparkH / 2
			if hi > lo {
				y = sparkH - 7 - (x-lo)/(hi-lo)*(sparkH-14)
			}
			p := point{6 + float64(i)/float64(len(values)-1)*(sparkW-12), y, gate.FormatValue(f.Unit, x)}
			s.Path += pen + strconv.FormatFloat(p.X, 'f', 1, 64) + " " + strconv.FormatFloat(p.Y, 'f', 1, 64)
			pen = "L"
			s.Points = append(s.Points, p)
			s.Desc += p.Text + " "
		}
		s.End = s.Points[len(s.Points)-1]
		s.Points = s.Points[:len(s.Points)-1]
		out = append(out, s)
	}
	return out
}
