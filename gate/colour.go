package gate

import (
	"fmt"
	"slices"
)

// threeNear is how many checks near their targets make red together.
const threeNear = 3

// tally counts the findings by what they mean for the colour.
type tally struct {
	veto, fail, near, undecided, pass int
	// unknown counts those that forbid a colour; unbaselined those that merely
	// lack a baseline; unmeasured the rows of a profile that have no value.
	unknown, unbaselined, unmeasured int
}

func count(findings []Finding) tally {
	var t tally
	for _, f := range findings {
		switch f.Status {
		case Veto:
			t.veto++
		case Fail:
			t.fail++
		case Near:
			t.near++
		case Undecided:
			t.undecided++
		case Pass:
			t.pass++
		default:
			switch {
			case f.Rule == ruleNoBaseline:
				t.unbaselined++
			case f.Check != nil && f.Check.Origin == FromProfile:
				t.unmeasured++
			default:
				t.unknown++
			}
		}
	}
	return t
}

func (t tally) judged() int { return t.veto + t.fail + t.near + t.undecided + t.pass }

// concludeWith finds the colour of a measured run.
func (j *judging) concludeWith(v *Verdict, reasons []string, allFailed bool) {
	t := count(v.Findings)
	red := t.veto+t.fail > 0 || allFailed
	if len(reasons) == 0 && !red {
		reasons = append(reasons, unknownReasons(v.Findings)...)
		needsBaseline := j.needsBaseline()
		noRuns := len(j.runs) == 0
		switch {
		case noRuns && needsBaseline && (!j.in.MayRecord || len(j.history.differing) > 0):
			reasons = append(reasons, j.history.reason)
		case noRuns && j.in.MayRecord && len(reasons) == 0 && t.near < threeNear && len(v.Findings) > 0:
			v.Conclusion = First
			v.settle(false)
			return
		case t.judged() == 0 && len(reasons) == 0:
			reasons = append(reasons, "no check could be judged")
		}
	}
	switch {
	case red:
		v.Conclusion = Red
	case len(reasons) > 0:
		v.conclude(reasons, j.now.res.Incomplete != "")
		return
	case t.near >= threeNear:
		v.Conclusion = Red
	case t.near+t.undecided > 0:
		v.Conclusion = Yellow
	default:
		v.Conclusion = Green
	}
	v.settle(false)
}

// needsBaseline reports whether a check compares with accepted runs.
func (j *judging) needsBaseline() bool {
	for _, c := range j.in.Policy.Checks {
		if c.Tolerance != nil {
			return true
		}
	}
	return false
}

// unknownReasons names the checks that forbid a colour.
func unknownReasons(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		if f.Status != Unknown || f.Rule == ruleNoBaseline || f.Check != nil && f.Check.Origin == FromProfile {
			continue
		}
		if reason := fmt.Sprintf("%s: %s", f.label(), f.Reason); !slices.Contains(out, reason) {
			out = append(out, reason)
		}
	}
	return out
}

// Withdraw makes a verdict not judged after all, for a reason that came up after
// the judgement: a first baseline that could not be kept.
func (v *Verdict) Withdraw(reason string) {
	v.Headline, v.Certainty, v.Next = "", "", nil
	v.conclude([]string{reason}, false)
}

// conclude makes the verdict one that is not judged. An interrupted run stays
// so under not_judged: warn.
func (v *Verdict) conclude(reasons []string, interrupted bool) {
	v.Conclusion, v.Reasons = NotJudged, reasons
	if v.Policy.NotJudged == WarnUnknown && !interrupted {
		v.Conclusion = Yellow
	}
	v.settle(interrupted)
}

// settle derives the exit code from the conclusion (SPEC §5).
func (v *Verdict) settle(interrupted bool) {
	switch v.Conclusion {
	case Green, First:
		v.ExitCode = 0
	case Yellow:
		v.ExitCode = 0
		if v.Policy.FailOn == FailOnYellow {
			v.ExitCode = 1
		}
	case Red:
		v.ExitCode = 1
	default:
		v.ExitCode = 3
	}
	if v.Observing && !interrupted {
		v.ExitCode = 0
	}
	v.Blocked = v.ExitCode != 0
}
