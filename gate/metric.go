package gate

// Unit is the unit of a metric's values in every file.
type Unit string

// The units. Ratios lie in 0–1 and are shown as percent.
const (
	Milliseconds Unit = "ms"
	Ratio        Unit = "ratio"
	PerSecond    Unit = "per_s" // requests per second
	TokensPerS   Unit = "tokens_per_s"
	Tokens       Unit = "tokens"
	Count        Unit = "count"
	MiB          Unit = "mib"
	Factor       Unit = "factor" // × of something
)

// Direction says which way is better.
type Direction string

// The directions.
const (
	LowerIsBetter  Direction = "lower_is_better"
	HigherIsBetter Direction = "higher_is_better"
	Neither        Direction = "neither" // shown, cannot be judged by a tolerance
)

// Worse reports whether going from a to b is worse.
func (d Direction) Worse(a, b float64) bool {
	switch d {
	case LowerIsBetter:
		return b > a
	case HigherIsBetter:
		return b < a
	}
	return false
}

// Scale says on which scale rounds are compared.
type Scale string

// The scales.
const (
	Log   Scale = "log"   // latencies and throughputs: a change is a ratio
	Plain Scale = "plain" // ratios: a change is a difference in points
)

// Metric is one row of the catalogue. The README's table and the config's
// schema are generated from it.
type Metric struct {
	ID        string // "ttft_p95"
	Title     string // "TTFT P95"
	Unit      Unit
	Direction Direction
	Scale     Scale
	// Source says where it comes from: "client", "server" or "generator".
	Source string
	// Formula is the definition in one line, for people.
	Formula string
	// Names lists the canonical server metrics it needs (loadtest's constants).
	Names []string

	compute func(*scope) Value
	// noun is how a sentence speaks of it: "First token".
	noun string
	// level is the quantile's level, 0 for other metrics.
	level float64
	// family groups the quantiles of one distribution: "ttft".
	family string
	// census marks a peak or a count of the whole run, which is not a mean over
	// rounds: it was observed, not estimated.
	census bool
	// binomial marks a share of requests that is compared by exact counts.
	binomial bool
	// throughput marks what is merely the rate sent under an open loop that the
	// server keeps up with.
	throughput bool
}
