package config

import (
	"fmt"
	"strings"

	"github.com/org/llm-gate/gate"
)

// Reference returns the Markdown table of every key, its type, what counts
// where it is not written, and its meaning.
func Reference() string {
	var b strings.Builder
	b.WriteString("| Key | Type | Default | Meaning |\n|---|---|---|---|\n")
	reference(&b, "", infos(topFields()))
	return b.String()
}

func reference(b *strings.Builder, at string, infos []info) {
	for _, i := range infos {
		path := join(at, i.key)
		def := i.def
		switch {
		case i.required:
			def = "required"
		case def == "":
			def = "–"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", path, cell(i.typ), cell(def), cell(i.doc))
		if i.fields == nil {
			continue
		}
		if i.key == "checks" {
			path += ".METRIC"
		}
		reference(b, path, i.fields())
	}
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// MetricsReference returns the Markdown table of the catalogue: what a check
// may name.
func MetricsReference() string {
	var b strings.Builder
	b.WriteString("| Metric | Title | Unit | Better | From | Definition |\n|---|---|---|---|---|---|\n")
	better := map[gate.Direction]string{gate.LowerIsBetter: "lower", gate.HigherIsBetter: "higher"}
	for _, m := range gate.Catalogue() {
		side := better[m.Direction]
		if side == "" {
			side = "–"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s |\n",
			m.ID, cell(m.Title), unitName(m.Unit), side, cell(m.Source), cell(m.Formula))
	}
	return b.String()
}

func unitName(u gate.Unit) string {
	switch u {
	case gate.Milliseconds:
		return "ms"
	case gate.Ratio:
		return "%"
	case gate.PerSecond:
		return "req/s"
	case gate.TokensPerS:
		return "tokens/s"
	case gate.Factor:
		return "×"
	case gate.MiB:
		return "MiB"
	}
	return string(u)
}
