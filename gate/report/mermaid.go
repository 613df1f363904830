package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/org/llm-gate/gate"
)

// mermaid draws TTFT and E2E over the load levels. It holds numbers and words
// of its own only, so that nothing from outside reaches mermaid's grammar. A
// level without every figure is left out and counted in the title.
func mermaid(figures []gate.StageFigures) string {
	var out strings.Builder
	for _, kind := range []struct{ key, title string }{{"ttft", "TTFT"}, {"e2e", "E2E latency"}} {
		var levels []string
		lines := [3][]string{}
		top, left := 0.0, 0
		for _, s := range figures {
			p50, p95, p99 := quantile(s.Latencies[kind.key], .5), quantile(s.Latencies[kind.key], .95), quantile(s.Latencies[kind.key], .99)
			if p50 == nil || p95 == nil || p99 == nil {
				left++
				continue
			}
			level := strconv.Quote(loadLevel(s))
			for n := 2; slices.Contains(levels, level); n++ {
				level = strconv.Quote(fmt.Sprintf("%s (%d)", loadLevel(s), n))
			}
			levels = append(levels, level)
			for i, p := range []float64{*p50, *p95, *p99} {
				lines[i] = append(lines[i], strconv.FormatFloat(p, 'f', 1, 64))
				top = math.Max(top, p)
			}
		}
		if len(levels) < 2 || top <= 0 {
			continue
		}
		title := kind.title + ": P99, P95 and P50 from the top"
		if left > 0 {
			title += fmt.Sprintf(" (%d above timeout or unmeasured left out)", left)
		}
		fmt.Fprintf(&out, "```mermaid\nxychart-beta\n  title %q\n  x-axis %q [%s]\n  y-axis \"ms\" 0 --> %s\n",
			title, "load level", strings.Join(levels, ", "), strconv.FormatFloat(math.Ceil(top*1.1), 'f', 0, 64))
		for i := len(lines) - 1; i >= 0; i-- {
			fmt.Fprintf(&out, "  line [%s]\n", strings.Join(lines[i], ", "))
		}
		out.WriteString("```\n\n")
	}
	return out.String()
}

// loadLevel names the load of a stage by its figure: "100/s", "32 streams".
func loadLevel(s gate.StageFigures) string {
	switch {
	case s.OfferedPerS != nil && finite(*s.OfferedPerS):
		return strconv.FormatFloat(*s.OfferedPerS, 'g', 4, 64) + "/s"
	case finite(s.AchievedPerS):
		return strconv.FormatFloat(s.AchievedPerS, 'g', 4, 64) + "/s achieved"
	}
	return "unknown"
}
