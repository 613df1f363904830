package gate

import "slices"

// Catalogue returns every metric in the order in which reports show them.
func Catalogue() []Metric { return slices.Clone(catalogue) }

// Lookup finds a metric by id.
func Lookup(id string) (Metric, bool) {
	for _, m := range catalogue {
		if m.ID == id {
			return m, true
		}
	}
	return Metric{}, false
}

// MetricIDs lists the ids of the catalogue in its order.
func MetricIDs() []string {
	ids := make([]string, len(catalogue))
	for i, m := range catalogue {
		ids[i] = m.ID
	}
	return ids
}

// DefaultChecks are the checks of a policy that says nothing (SPEC §4).
func DefaultChecks() []Check {
	relative := func(id string) Check {
		return Check{Metric: id, Origin: FromDefault, Tolerance: &Tolerance{Kind: Relative, Value: 0.15}}
	}
	points := func(id string, v float64) Check {
		return Check{Metric: id, Origin: FromDefault, Tolerance: &Tolerance{Kind: Points, Value: v}}
	}
	return []Check{
		relative("ttft_p95"), relative("tpot_p95"), relative("e2e_p95"),
		points("error_rate", 0.005), points("kv_hit_rate", 0.05),
	}
}

// catalogue is the one table of metrics, in the order of reports.
var catalogue = slices.Concat(latencyMetrics(), clientMetrics, serverMetrics)

func latencyMetrics() []Metric {
	var out []Metric
	for _, d := range distributions {
		out = append(out, d.rows()...)
	}
	return out
}
