package gate

// scope is what a metric is computed over.
type scope struct{}

// Catalogue returns every metric in the order in which reports show them.
func Catalogue() []Metric { return catalogue }

// Lookup finds a metric by id.
func Lookup(id string) (Metric, bool) {
	for _, m := range catalogue {
		if m.ID == id {
			return m, true
		}
	}
	return Metric{}, false
}

// DefaultChecks are the checks of a policy that says nothing (SPEC §4).
func DefaultChecks() []Check { return nil }

var catalogue = []Metric{
	{ID: "ttft_p95", Title: "TTFT P95", Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "client"},
	{ID: "tpot_p95", Title: "TPOT P95", Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "client"},
	{ID: "e2e_p95", Title: "E2E latency P95", Unit: Milliseconds, Direction: LowerIsBetter, Scale: Log, Source: "client"},
	{ID: "error_rate", Title: "Error rate", Unit: Ratio, Direction: LowerIsBetter, Scale: Plain, Source: "client"},
	{ID: "kv_hit_rate", Title: "KV-cache hit rate", Unit: Ratio, Direction: HigherIsBetter, Scale: Plain, Source: "server"},
}
