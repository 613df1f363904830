package config

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// finish settles what fields mean together, once each is right by itself.
func (l *loader) finish() {
	l.arrivals()
	l.stages()
	l.cfg.Target.CAFile = l.relative(l.cfg.Target.CAFile)
	if dir, ok := l.cfg.Baseline.Directory(); ok {
		l.cfg.Baseline.Store = l.relative(dir)
		if !strings.ContainsRune(l.cfg.Baseline.Store, '/') {
			l.cfg.Baseline.Store = "./" + l.cfg.Baseline.Store
		}
	}
	if len(l.errs) > 0 {
		return
	}
	// The judge's own rules come last: what they still find has its place in
	// its text, or is about the checks as a whole.
	if err := l.cfg.Policy.Validate(); err != nil {
		l.failAt(l.whole("checks"), "checks", strings.ReplaceAll(err.Error(), "\n", "; "))
		return
	}
	spec := l.cfg.Load.Spec
	if l.cfg.Load.RateAuto {
		spec.Arrivals.RatePerS = 1e6 // not known yet: judge the rest alone
	}
	if err := spec.Validate(); err != nil {
		l.failAt(l.whole("load"), "load", err.Error())
	}
}

// whole is where the key of a section stands, the file's start without one.
func (l *loader) whole(key string) spot {
	if s, ok := l.written[key]; ok {
		return s
	}
	return spot{1, 1}
}

// arrivals settles rate, concurrency and the two bounds of a round.
func (l *loader) arrivals() {
	load := &l.cfg.Load
	at := func(key string) (spot, bool) { s, ok := l.written["load."+key]; return s, ok }
	if s, ok := at("concurrency"); ok {
		if _, both := at("rate"); both {
			l.failAt(s, "load.concurrency", "excludes rate: a closed loop has no rate of its own; remove one")
		}
		if s, both := at("arrivals"); both {
			l.failAt(s, "load.arrivals", "has no use beside concurrency, a closed loop: remove one")
		}
		load.RateAuto = false
		load.Arrivals = loadtest.Arrivals{Process: loadtest.Closed, Concurrency: load.Arrivals.Concurrency}
	}
	if _, ok := at("requests"); ok {
		if _, both := at("length"); !both {
			load.Length = 0
		}
	}
}

// stages reports checks of stages that the plan does not have.
func (l *loader) stages() {
	steps := 0
	if st := l.cfg.Load.Stairs; st != nil {
		steps = st.Steps
	}
	for _, c := range l.cfg.Policy.Checks {
		text, ok := strings.CutPrefix(c.Stage, "stair-")
		if !ok {
			continue
		}
		if i, err := strconv.Atoi(text); err != nil || i > steps {
			at := "checks." + c.Metric
			msg := fmt.Sprintf("stage %s is not in the plan: load.stairs has %d steps", c.Stage, steps)
			if steps == 0 {
				msg = fmt.Sprintf("stage %s is not in the plan: write load.stairs", c.Stage)
			}
			l.failAt(l.written[at], at, msg)
		}
	}
}
