package telemetry

import (
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// ErrReplicas says that one address is answered by several processes in turn,
// so that its counters belong to none of them.
var ErrReplicas = errors.New("several replicas answer at one address")

// starts watches the process behind each page.
type starts map[string]answering

// see records that the page of id was answered by a process begun at start (in
// seconds since 1970; 0 for unknown). A process that began later than the one
// before is a restart. One that began earlier was there all the time: the
// address leads to several.
//
// Client libraries add a process's ticks to the kernel's boot time, which may
// flip by a whole second, once, when the clock is slewed. That is neither.
func (s starts) see(id string, start float64) error {
	p, known := s[id]
	back := known && start < p.start
	if start == 0 || known && start == p.start {
		return nil
	}
	if known && math.Abs(math.Abs(start-p.start)-1) < 1e-6 {
		p.flips++
		back = p.flips > 1
	}
	if back {
		return replicas(id, fmt.Sprintf("process_start_time_seconds went from %s to %s", stamp(p.start), stamp(start)))
	}
	s[id] = answering{start, p.flips}
	return nil
}

// answering is the process that answered last, and how often its start moved
// by exactly a second.
type answering struct {
	start float64
	flips int
}

func replicas(id, evidence string) error {
	return fmt.Errorf("%w: %s: %s; list the metrics page of every replica, use dns+http://… for a name that resolves to all of them, or read them through Prometheus",
		ErrReplicas, id, evidence)
}

func stamp(unix float64) string {
	sec, frac := math.Modf(unix)
	return time.Unix(int64(sec), int64(frac*1e9)).UTC().Format("2006-01-02T15:04:05.00Z")
}

// backAndForth looks for a counter that fell and then stood as high as before
// within a few readings of one page. It stands in for the start time on pages
// that do not tell theirs (llama.cpp).
func backAndForth(id string, readings []loadtest.Page) error {
	for name := range readings[0].Values {
		if kind, _ := loadtest.KindOf(name); kind != loadtest.Counter {
			continue
		}
		high, fallen := math.Inf(-1), math.NaN()
		for _, p := range readings {
			v, ok := p.Values[name]
			switch {
			case !ok || p.Start != 0:
			case !math.IsNaN(fallen) && v >= high:
				return replicas(id, fmt.Sprintf("the counter %s went from %g to %g and back to %g", name, high, fallen, v))
			case v < high:
				fallen = v
			default:
				high = v
			}
		}
	}
	return nil
}
