package telemetry

import (
	"bytes"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// maxPage bounds a metrics page in bytes. The largest pages of real engines,
// with a histogram for every engine and model, stay under 2 MiB.
const maxPage = 16 << 20

// A sample is one line of a page: a series and its value, which may be NaN or
// infinite.
type sample struct {
	name   string
	labels map[string]string
	value  float64
}

// parsePage reads a page in the Prometheus text format or, where openMetrics
// is set, in OpenMetrics, whose last line proves that the page is whole.
// Samples come sorted by name; histogram buckets are left out.
func parsePage(page []byte, openMetrics bool) ([]sample, error) {
	text, ended := normalise(page)
	if openMetrics && !ended {
		return nil, errors.New("the page stops before its # EOF line: it was cut short")
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	var samples []sample
	for name, family := range families {
		for _, m := range family.GetMetric() {
			labels := make(map[string]string, len(m.GetLabel()))
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			samples = append(samples, sample{name: name, labels: labels, value: m.GetUntyped().GetValue()})
		}
	}
	sort.SliceStable(samples, func(i, j int) bool { return samples[i].name < samples[j].name })
	return samples, nil
}

// normalise rewrites a page into what expfmt reads without loss: values that it
// refuses ("-nan", "1e999") are respelled, OpenMetrics timestamps and exemplars
// are cut off, and comments are dropped, so that every sample, those of a
// histogram included, is an untyped series of its own name. Line numbers stay.
// ended tells whether an OpenMetrics end line was seen.
func normalise(page []byte) (text []byte, ended bool) {
	out := make([]byte, 0, len(page)+1)
	for line := range bytes.Lines(page) {
		s := strings.TrimRight(string(line), "\r\n")
		trimmed := strings.TrimLeft(s, " \t")
		if strings.HasPrefix(trimmed, "#") {
			ended = ended || strings.TrimRight(trimmed, " \t") == "# EOF"
			s = ""
		}
		out = append(out, normaliseLine(s)...)
		out = append(out, '\n')
	}
	return out, ended
}

// normaliseLine respells one sample. A line that it cannot make out is passed
// on as it is, so that the parser names it.
func normaliseLine(line string) string {
	series, rest, ok := splitSeries(line)
	if !ok {
		return line
	}
	if name, _, _ := strings.Cut(series, "{"); strings.HasSuffix(strings.TrimRight(name, " \t"), "_bucket") {
		return ""
	}
	fields := strings.Fields(rest)
	switch {
	case len(fields) == 0:
		return line
	case len(fields) > 1 && !strings.HasPrefix(fields[1], "#"):
		if _, err := strconv.ParseFloat(fields[1], 64); err != nil {
			return line
		}
	}
	return series + " " + normaliseValue(fields[0])
}

// splitSeries cuts a line after its name and labels.
func splitSeries(line string) (series, rest string, ok bool) {
	end := strings.IndexAny(line, "{ \t")
	if end < 0 {
		return "", "", false
	}
	brace := end
	for brace < len(line) && (line[brace] == ' ' || line[brace] == '\t') {
		brace++
	}
	if brace == len(line) || line[brace] != '{' {
		return line[:end], line[end:], end > 0
	}
	quoted := false
	for i := brace + 1; i < len(line); i++ {
		switch c := line[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case c == '}' && !quoted:
			return line[:i+1], line[i+1:], true
		}
	}
	return "", "", false
}

// normaliseValue respells the ways in which C libraries print what is not a
// number, and numbers beyond the range of a float64.
func normaliseValue(v string) string {
	unsigned := strings.ToLower(strings.TrimLeft(v, "+-"))
	if strings.HasPrefix(unsigned, "nan") || strings.Contains(unsigned, "#") {
		return "NaN"
	}
	if f, err := strconv.ParseFloat(v, 64); errors.Is(err, strconv.ErrRange) {
		return fmt.Sprint(f)
	}
	return v
}
