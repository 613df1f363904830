package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// SupportedVersion is the version of the file that this build reads.
const SupportedVersion = 1

// Config is a whole llm-gate.yml with every default filled in.
type Config struct {
	Version int
	// Name is the service: one history of baselines each.
	Name   string
	Target Target
	Load   Plan
	Policy gate.Policy
	// Baseline says where accepted runs are kept; how many and how old ones are
	// used stands in Policy (Keep, MaxAge).
	Baseline Baseline
	Comment  Comment
	// Warnings are what a person should look at; the file is valid all the same.
	Warnings []string

	// promptFile is Load.Spec.Prompts.File as written, for Hash.
	promptFile string
}

// Target is the deployment under test.
type Target struct {
	URL string
	// Model is the model to ask for; "auto" takes the only one of /v1/models.
	Model string
	// API is "chat" or "completions".
	API    string
	APIKey Secret
	// Headers go with every request.
	Headers map[string]Secret
	// CAFile is a PEM file of certificates to trust, "" for the system's.
	CAFile       string
	ReadyTimeout time.Duration
	Metrics      Metrics
	GPU          GPU
}

// Metrics says where the server's own metrics are read. Exactly one of Auto,
// Off, Pages and PrometheusURL is set.
type Metrics struct {
	Auto bool // the target's /metrics
	Off  bool
	// Pages are metric pages; dns+http://host:port/path stands for every
	// address that the host resolves to.
	Pages         []string
	PrometheusURL string
	// PrometheusMatch is a label matcher, {namespace="pr-412"}.
	PrometheusMatch string
}

// GPU replaces what the engine or the machine tell of its GPUs; zero fields
// do not.
type GPU struct {
	Model string
	Count int
}

// Plan is the load of the run.
type Plan struct {
	loadtest.Spec
	// RateAuto asks for 70 % of the capacity kept with the baseline; the
	// rate in Arrivals is what is used where none is known.
	RateAuto bool
	// Seed fixes the run's seed; nil draws one.
	Seed *uint64
}

// Baseline is where accepted runs are kept.
type Baseline struct {
	// Store is "auto" (a branch on GitHub, a directory elsewhere), "branch",
	// "branch:NAME" or a directory.
	Store string
}

// Branch returns the branch's name where the store is a branch: "" for the
// usual one.
func (b Baseline) Branch() (name string, ok bool) {
	if b.Store == storeBranch {
		return "", true
	}
	if name, ok = strings.CutPrefix(b.Store, storeBranch+":"); !ok {
		name = ""
	}
	return name, ok
}

// Directory returns the directory where the store is one.
func (b Baseline) Directory() (path string, ok bool) {
	if _, branch := b.Branch(); branch || b.Store == storeAuto {
		return "", false
	}
	return b.Store, true
}

const (
	storeAuto   = "auto"
	storeBranch = "branch"
)

// Comment says when the pull request gets a comment.
type Comment string

// The values of comment.
const (
	CommentAlways   Comment = "always"
	CommentProblems Comment = "problems" // only where the verdict is not green
	CommentNever    Comment = "never"
)

// Default is the configuration where nothing is written.
func Default() *Config {
	return &Config{
		Version: SupportedVersion,
		Name:    "default",
		Target: Target{
			Model: "auto", API: "chat", ReadyTimeout: 20 * time.Minute,
			Metrics: Metrics{Auto: true},
		},
		Load: Plan{Spec: loadtest.DefaultSpec(), RateAuto: true},
		Policy: gate.Policy{
			Checks: gate.DefaultChecks(), FailOn: gate.FailOnRed, NotJudged: gate.BlockUnknown,
			Keep: gate.DefaultKeep, Degradation: gate.DefaultDegradation, Source: "defaults",
		},
		Baseline: Baseline{Store: storeAuto},
		Comment:  CommentAlways,
	}
}

// Secrets returns every value that must be masked in logs: the API key and the
// headers' values, those with a scheme ("Bearer …") without it too. Header
// values shorter than four bytes are left out: masking them would blot out
// ordinary text.
func (c *Config) Secrets() []string {
	var out []string
	if k := c.Target.APIKey.Reveal(); k != "" {
		out = append(out, k)
	}
	for _, name := range sortedKeys(c.Target.Headers) {
		v := c.Target.Headers[name].Reveal()
		if len(v) < 4 {
			continue
		}
		out = append(out, v)
		if _, token, ok := strings.Cut(v, " "); ok && len(token) >= 4 {
			out = append(out, token)
		}
	}
	return out
}

// Hash identifies the policy and the plan: what decides the verdict of a given
// target. Where the target is, its secrets, and where the file lies do not
// count.
func (c *Config) Hash() string {
	policy := c.Policy
	policy.Source = ""
	policy.Checks = append([]gate.Check(nil), policy.Checks...)
	for i := range policy.Checks {
		policy.Checks[i].Pos = ""
	}
	spec := c.Load.Spec
	if c.promptFile != "" {
		spec.Prompts.File = c.promptFile
	}
	data, err := json.Marshal(struct {
		Policy              gate.Policy
		Spec                loadtest.Spec
		BudgetS, LateLimitS loadtest.Seconds
		RateAuto            bool
		Seed                *uint64
		API                 string
	}{policy, spec, spec.Budget, spec.LateLimit, c.Load.RateAuto, c.Load.Seed, c.Target.API})
	if err != nil { // only NaN or Inf could do it, which Load refuses
		data = fmt.Appendf(nil, "%+v %+v", policy, spec)
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:8])
}
