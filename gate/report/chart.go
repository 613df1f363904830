package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/org/llm-gate/gate"
)

// The canvas of one chart in SVG units, and the margins around the plot.
const (
	chartW, chartH               = 420.0, 230.0
	plotL, plotR, plotT, plotB   = 52.0, 360.0, 14.0, 192.0
	labelSpace                   = 13.0
	timeoutY                     = plotT - 4
	intervalW, sparkW, sparkH    = 240.0, 200.0, 44.0
	heatL, heatCell, heatRow     = 92.0, 62.0, 28.0
	heatTop, memoryW, memoryLeft = 22.0, 96.0, 16.0
)

// chart is a line chart, laid out: all coordinates are final.
type chart struct {
	Title, Desc, XLabel, YLabel string
	XTicks, YTicks              []tick
	Series                      []line
	Timeouts                    []point // levels whose value is above the timeout
}

type tick struct {
	At   float64
	Text string
}

type point struct {
	X, Y float64
	Text string
}

type line struct {
	Name, Class, Path string
	Points            []point
	LabelX, LabelY    float64
}

// curve is one line of a chart before the layout; nil where there is no value.
type curve struct {
	name, class string
	y           []*float64
}

// charts draws the latency and throughput of the load levels, or of the rounds.
func charts(figures []gate.StageFigures, byLoad bool) []chart {
	var out []chart
	xs, ticks, xLabel := axis(figures, byLoad)
	add := func(title string, unit gate.Unit, curves ...curve) {
		if c, ok := layout(title, unit, xs, curves); ok {
			c.XTicks, c.XLabel = ticks, xLabel
			out = append(out, c)
		}
	}
	for _, kind := range latencyKinds {
		var curves []curve
		for i, level := range []float64{.5, .95, .99} {
			c := curve{name: levelName(level), class: "s" + strconv.Itoa(i)}
			for _, s := range figures {
				c.y = append(c.y, quantile(s.Latencies[kind.key], level))
			}
			curves = append(curves, c)
		}
		add(kind.title+" (ms)", gate.Milliseconds, curves...)
	}
	tokens, achieved, offered := curve{name: "tok/s", class: "s1"}, curve{name: "sent", class: "s1"}, curve{name: "offered", class: "s0"}
	measured, little := curve{name: "actual", class: "s1"}, curve{name: "Little", class: "s0"}
	for _, s := range figures {
		tokens.y = append(tokens.y, s.OutputTokensPerS)
		achieved.y, offered.y = append(achieved.y, &s.AchievedPerS), append(offered.y, s.OfferedPerS)
		measured.y, little.y = append(measured.y, &s.MeasuredConcurrency), append(little.y, s.PredictedConcurrency)
	}
	add("Output tokens per second", gate.TokensPerS, tokens)
	add("Request rate (req/s)", gate.PerSecond, achieved, offered)
	add("Requests in flight", gate.Count, measured, little)
	for i := range out {
		if strings.Contains(out[i].Title, "(ms)") {
			out[i].Timeouts = timeouts(figures, xs, out[i].Series)
		}
	}
	return out
}

// timeouts marks the levels with failures where some line has no point.
func timeouts(figures []gate.StageFigures, xs []float64, lines []line) []point {
	var out []point
	for i, s := range figures {
		missing := slices.ContainsFunc(lines, func(l line) bool {
			return !slices.ContainsFunc(l.Points, func(p point) bool { return p.X == xs[i] })
		})
		if s.Failed > 0 && missing {
			out = append(out, point{xs[i], timeoutY, plain(orElse(s.Label, "level"), 40) + ": above timeout"})
		}
	}
	return out
}

// axis places the load levels by their rate, or the rounds side by side.
func axis(figures []gate.StageFigures, byLoad bool) (xs []float64, ticks []tick, label string) {
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, s := range figures {
		if l := load(s); finite(l) {
			lo, hi = min(lo, l), max(hi, l)
		}
	}
	numeric := byLoad && hi > lo
	label = "round"
	if byLoad {
		label = "offered load, req/s"
	}
	last := math.Inf(-1)
	for i, s := range figures {
		x := (plotL + plotR) / 2
		switch {
		case numeric && finite(load(s)):
			x = plotL + 12 + (load(s)-lo)/(hi-lo)*(plotR-plotL-24)
		case len(figures) > 1:
			x = plotL + 12 + float64(i)/float64(len(figures)-1)*(plotR-plotL-24)
		}
		x = math.Round(x*10) / 10
		xs = append(xs, x)
		text := strconv.Itoa(i + 1)
		if byLoad {
			text = loadLevel(s)
			text = strings.TrimSuffix(strings.TrimSuffix(text, " achieved"), "/s")
		}
		if x-last >= 26 {
			ticks = append(ticks, tick{x, text})
			last = x
		}
	}
	return xs, ticks, label
}

// layout places the curves; ok is false where there is nothing to draw.
func layout(title string, unit gate.Unit, xs []float64, curves []curve) (c chart, ok bool) {
	top := 0.0
	for _, cu := range curves {
		for _, y := range cu.y {
			if y != nil && finite(*y) {
				top, ok = max(top, *y), true
			}
		}
	}
	if !ok {
		return chart{}, false
	}
	step := niceStep(top / 4)
	top = math.Ceil(top/step) * step
	if top == 0 {
		step, top = 1, 1
	}
	place := func(v float64) float64 { return math.Round((plotB-v/top*(plotB-plotT))*10) / 10 }
	for i := 0; float64(i)*step <= top*1.0001; i++ {
		v := float64(i) * step
		c.YTicks = append(c.YTicks, tick{place(v), tickText(v)})
	}
	var desc []string
	for _, cu := range curves {
		l := line{Name: cu.name, Class: cu.class}
		pen := "M"
		var words []string
		for i, y := range cu.y {
			if y == nil || !finite(*y) {
				pen = "M"
				words = append(words, "none")
				continue
			}
			p := point{xs[i], place(*y), cu.name + " " + gate.FormatValue(unit, *y)}
			l.Path += fmt.Sprintf("%s%.1f %.1f", pen, p.X, p.Y)
			pen = "L"
			l.Points = append(l.Points, p)
			words = append(words, gate.FormatValue(unit, *y))
		}
		if len(l.Points) == 0 {
			continue
		}
		end := l.Points[len(l.Points)-1]
		l.LabelX, l.LabelY = end.X+7, end.Y+4
		c.Series = append(c.Series, l)
		desc = append(desc, cu.name+": "+strings.Join(words, ", "))
	}
	spread(c.Series)
	c.Title, c.Desc = title, strings.Join(desc, "; ")
	return c, true
}

// spread moves the labels at the line ends apart.
func spread(lines []line) {
	order := make([]*line, len(lines))
	for i := range lines {
		order[i] = &lines[i]
	}
	slices.SortStableFunc(order, func(a, b *line) int { return int(b.LabelY*10) - int(a.LabelY*10) })
	for i := 1; i < len(order); i++ {
		order[i].LabelY = math.Round(min(order[i].LabelY, order[i-1].LabelY-labelSpace)*10) / 10
	}
}

// niceStep is the next of 1, 2, 5 × 10ⁿ at or above v.
func niceStep(v float64) float64 {
	if v <= 0 {
		return 1
	}
	e := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 2.5, 5} {
		if m*e >= v*0.999 {
			return m * e
		}
	}
	return 10 * e
}

func tickText(v float64) string {
	if v >= 10000 {
		return strconv.FormatFloat(v/1000, 'g', 4, 64) + "k"
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
