package loadtest

// Spec is the load that a run puts on a server: what the config's load section
// says once every default is filled in. Its canonical JSON, with the content of
// a prompt file in place of its path, is what the workload hash covers.
type Spec struct {
	// Arrivals of the judged, steady stage.
	Arrivals Arrivals `json:"arrivals"`
	// Rounds repeat the judged stage: 2–10.
	Rounds int `json:"rounds"`
	// Requests and Length bound one round; at least one is set.
	Requests int     `json:"requests,omitempty"`
	Length   Seconds `json:"length_s,omitempty"`
	// Warmup is how many requests are sent unmeasured before the first round.
	Warmup int `json:"warmup"`
	// Stairs, where set, run once after the judged rounds.
	Stairs *Stairs `json:"stairs,omitempty"`
	// Prompts are what is sent.
	Prompts Prompts `json:"prompts"`
	// RequestTimeout bounds one request from its intended start.
	RequestTimeout Seconds `json:"request_timeout_s"`
	// SLO is what a request must meet to count as goodput.
	SLO SLO `json:"slo"`

	// Budget bounds the whole run; it shapes no request and is not hashed.
	Budget Seconds `json:"-"`
	// LateLimit replaces the limit on late sends (p99) past which the generator
	// is unfit, max(10 ms, 5 % of the median TTFT); 0 keeps that. Not hashed.
	LateLimit Seconds `json:"-"`
}

// Stairs are stages of rising rate: Start, Start+Step, … (Steps of them), each
// held for Hold with CoolDown between.
type Stairs struct {
	StartPerS float64 `json:"start_per_s"`
	StepPerS  float64 `json:"step_per_s"`
	Steps     int     `json:"steps"`
	Hold      Seconds `json:"hold_s"`
	CoolDown  Seconds `json:"cool_down_s"`
}

// Prompts describe the requests' content: a JSONL file of OpenAI messages, or
// synthetic text. Lengths are in tokens; synthetic words are chosen so that a
// word is one token in common vocabularies.
type Prompts struct {
	// File is a JSONL file with one {"messages": [...]} a line.
	File string `json:"file,omitempty"`
	// InputMean and InputSD shape a normal distribution of prompt lengths, cut
	// at 1 token and at three deviations.
	InputMean int `json:"input_mean,omitempty"`
	InputSD   int `json:"input_sd,omitempty"`
	// SharedPrefix is the length of the prefix that all prompts of one of
	// Groups groups share.
	SharedPrefix int `json:"shared_prefix,omitempty"`
	Groups       int `json:"groups,omitempty"`
	// OutputMean and OutputSD shape max_tokens likewise.
	OutputMean int `json:"output_mean,omitempty"`
	OutputSD   int `json:"output_sd,omitempty"`
}

// SLO bounds one request; zero fields do not bind.
type SLO struct {
	TTFT Seconds `json:"ttft_s,omitempty"`
	TPOT Seconds `json:"tpot_s,omitempty"`
	E2E  Seconds `json:"e2e_s,omitempty"`
}

// IsZero reports whether no bound is set.
func (s SLO) IsZero() bool { return s == SLO{} }

// DefaultSpec is the plan where nothing is configured (SPEC §3).
func DefaultSpec() Spec {
	return Spec{
		Arrivals:       Arrivals{Process: Poisson, RatePerS: 4},
		Rounds:         5,
		Length:         35,
		Warmup:         128,
		Prompts:        Prompts{InputMean: 512, InputSD: 128, SharedPrefix: 256, Groups: 8, OutputMean: 128},
		RequestTimeout: 120,
		Budget:         12 * 60,
	}
}
