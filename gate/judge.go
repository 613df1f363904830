package gate

import (
	"github.com/org/llm-gate/loadtest"
)

// Accepted is one accepted run of the history.
type Accepted struct {
	Reference
	Result *loadtest.Result
}

// Input is everything a judgement depends on.
type Input struct {
	Policy    Policy
	Candidate *loadtest.Result
	// History holds the accepted runs of the candidate's key, newest first.
	History []Accepted
	// Elsewhere holds the newest accepted runs of the same name under other
	// conditions: where History is empty, what differs is named from these.
	Elsewhere []Accepted
	// MayRecord says that this run may become a baseline: it is not a pull
	// request's. With no history it then concludes First, else NotJudged.
	MayRecord bool
	// Unjudgeable carries reasons from outside why nothing can be judged
	// (target never ready, unreadable baseline): they become Reasons.
	Unjudgeable []string
}

// Judge compares the candidate with its history under the policy. It never
// fails: what cannot be judged is a verdict of its own. Candidate may be nil
// only with Unjudgeable set.
func Judge(in Input) *Verdict { return &Verdict{Schema: VerdictSchema} }
