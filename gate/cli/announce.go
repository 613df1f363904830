package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
)

// announce says what is about to happen, before anything is sent.
func (m *measurement) announce() {
	m.app.log.Info(fmt.Sprintf("llm-gate %s · %s · %s", tool().Version, m.cfg.Name, m.cfg.Target.URL))
}

// announceReady says what was found, what it will be compared with and how
// long the load takes, before the first request of it.
func (m *measurement) announceReady(own []gate.Accepted) {
	s := m.result.Subject
	about := []string{s.Model}
	if engine := strings.TrimSpace(s.Engine + " " + s.EngineVersion); engine != "" {
		about = append(about, engine)
	}
	c := m.result.Conditions
	if c.GPUCount > 0 {
		about = append(about, fmt.Sprintf("%d×%s", c.GPUCount, c.GPUModel))
	}
	m.app.log.Info(fmt.Sprintf("ready     %s, %s", m.info.ReadyAfter.Round(time.Millisecond), strings.Join(about, " · ")))
	if own != nil {
		m.app.log.Info("baseline  " + describeHistory(own, time.Now()))
	}
	spec := m.cfg.Load.Spec
	rate := spec.Arrivals.Describe()
	if m.cfg.Load.RateAuto && m.capacity != nil {
		rate += fmt.Sprintf(", %.0f %% of capacity %.3g", 100*autoShare, *m.capacity)
	}
	m.app.log.Info(fmt.Sprintf("load      %s, warm-up %d requests, %d rounds: %s", rate, spec.Warmup, spec.Rounds, m.describePlan()))
}

// describePlan is the plan's length in minutes and GPU-minutes.
func (m *measurement) describePlan() string {
	spec := m.cfg.Load.Spec
	text := "as long as the server takes"
	if d, known := spec.Scheduled(); known {
		text = fmt.Sprintf("about %.1f min", d.Minutes())
		if n := m.result.Conditions.GPUCount; n > 0 {
			text += fmt.Sprintf(", %.1f GPU-min", d.Minutes()*float64(n))
		}
	}
	if spec.Budget > 0 {
		text += fmt.Sprintf(", budget %s", spec.Budget.Duration())
	}
	return text
}

// describeHistory says what a run is compared with.
func describeHistory(own []gate.Accepted, now time.Time) string {
	newest := own[0]
	runs := "1 accepted run"
	if len(own) > 1 {
		runs = fmt.Sprintf("%d accepted runs", len(own))
	}
	name := newest.ID
	if newest.Commit != "" {
		name = fmt.Sprintf("%.7s", newest.Commit)
	}
	return fmt.Sprintf("%s, newest %s (%s)", runs, name, age(now.Sub(newest.RecordedAt)))
}

// age is a length of time in one unit.
func age(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%.0f days", d.Hours()/24)
	case d >= 2*time.Hour:
		return fmt.Sprintf("%.0f hours", d.Hours())
	case d >= 2*time.Minute:
		return fmt.Sprintf("%.0f minutes", d.Minutes())
	}
	return "just now"
}
