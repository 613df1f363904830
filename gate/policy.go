package gate

import "time"

// Policy is what a run is judged by.
type Policy struct {
	// Checks in the order in which reports show them.
	Checks []Check `json:"checks"`
	// Profile names the built-in policy that rows came from, "" for none.
	Profile   string    `json:"profile,omitempty"`
	FailOn    FailOn    `json:"fail_on"`
	NotJudged OnUnknown `json:"not_judged"`
	// RequireSame names subject fields ("model", "engine", "engine_version",
	// "model_revision", "image", "flags") that must be equal to compare.
	RequireSame []string `json:"require_same,omitempty"`
	// Keep is how many accepted runs the history uses, newest first. 0 means
	// DefaultKeep.
	Keep int `json:"keep"`
	// MaxAge drops accepted runs that are older than this before the
	// candidate's start; 0 for no bound.
	MaxAge time.Duration `json:"max_age_ns,omitempty"`
	// Degradation holds the constants of the degradation score.
	Degradation Degradation `json:"degradation"`
	// Source says
	// where the policy came from ("llm-gate.yml", "main@a41c9e2").
	Source string `json:"source,omitempty"`
}

// DefaultKeep is how many accepted runs a history keeps where nothing is said.
const DefaultKeep = 5

// FailOn says which conclusion makes the process fail.
type FailOn string

// The values of fail_on.
const (
	FailOnRed    FailOn = "red"
	FailOnYellow FailOn = "yellow"
	FailOnNever  FailOn = "never" // observe: the title says "would be red"
)

// OnUnknown says what a run that cannot be judged does.
type OnUnknown string

// The values of not_judged.
const (
	BlockUnknown OnUnknown = "block" // exit 3
	WarnUnknown  OnUnknown = "warn"  // shown as yellow, exit 0
)

// Origin says who asked for a check: it decides what an unknown does.
type Origin string

// The origins of a check.
const (
	FromDefault Origin = "default" // one of the five default checks
	FromUser    Origin = "user"    // written in the config
	FromProfile Origin = "profile" // a profile's row: unknown costs no colour
)

// Check is one row of the policy: a metric with its limits. All limits are in
// the metric's unit; nil means not set. At least one of Tolerance, Max, Min
// and Veto is set.
type Check struct {
	Metric   string `json:"metric"`
	Scenario string `json:"scenario,omitempty"` // "" for all scenarios together
	Stage    string `json:"stage,omitempty"`    // "" for the judged stage
	Origin   Origin `json:"origin"`

	// Tolerance bounds how much worse than the baseline the metric may be.
	Tolerance *Tolerance `json:"tolerance,omitempty"`
	// Max and Min are absolute targets.
	Max *float64 `json:"max,omitempty"`
	Min *float64 `json:"min,omitempty"`
	// Near is how far past the absolute target is still only near.
	Near float64 `json:"near,omitempty"`
	// Guard tightens the absolute target: it is tested at max·(1 − guard), or
	// min·(1 + guard). 0 ≤ Guard < 1.
	Guard float64 `json:"guard_ratio,omitempty"`
	// Veto is the absolute limit past which nothing is waived.
	Veto *float64 `json:"veto,omitempty"`
	// Pos is where the check was written, "llm-gate.yml:12:3"; "" for defaults.
	Pos string `json:"pos,omitempty"`
}

// ToleranceKind says what a tolerance is relative to.
type ToleranceKind string

// The kinds of tolerance.
const (
	Relative ToleranceKind = "relative" // a share of the baseline: Value 0.15 for 15%
	Points   ToleranceKind = "points"   // a difference of two ratios: Value 0.005 for 0.5pp
	Absolute ToleranceKind = "absolute" // a difference in the metric's unit
)

// Tolerance is how much worse than the baseline is allowed.
type Tolerance struct {
	Kind  ToleranceKind `json:"kind"`
	Value float64       `json:"value"`
}

// Degradation holds the constants of the degradation score (SPEC §4) and the
// design values that it needs. Where no design value is set the score is
// relative to the baseline.
type Degradation struct {
	DesignThroughputPerS float64 `json:"design_throughput_per_s,omitempty"`
	ThroughputFloor      float64 `json:"throughput_floor_ratio"` // 0.9
	ThroughputWeight     float64 `json:"throughput_weight"`      // 50
	P99LimitMS           float64 `json:"p99_limit_ms"`           // 150
	P99DivisorMS         float64 `json:"p99_divisor_ms"`         // 10
	ErrorFloorPercent    float64 `json:"error_floor_percent"`    // 0.5
	ErrorWeight          float64 `json:"error_weight"`           // 20
	WarnAbove            float64 `json:"warn_above"`             // 8.0
	RelativeP99MS        float64 `json:"relative_p99_ms"`        // 120: what the baseline's p99 is rescaled to
}

// DefaultDegradation is SPEC §4's.
var DefaultDegradation = Degradation{
	ThroughputFloor: 0.9, ThroughputWeight: 50,
	P99LimitMS: 150, P99DivisorMS: 10,
	ErrorFloorPercent: 0.5, ErrorWeight: 20,
	WarnAbove: 8.0, RelativeP99MS: 120,
}
