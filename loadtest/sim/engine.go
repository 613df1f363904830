package sim

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// maxLag bounds how far the schedule may run behind the clock: steps that end
// late do not move those after them unless the machine stood still for longer.
const maxLag = 50 * time.Millisecond

// Engine is a running simulated engine. It serves HTTP until Close; its methods
// are safe for concurrent use.
type Engine struct {
	cfg     Config
	words   vocabulary
	started time.Time
	mux     *http.ServeMux

	mu    sync.Mutex // guards the three below
	sched *scheduler
	lag   time.Duration // how late the last step ended
	busy  busyMeter

	wake     chan struct{} // something was submitted
	stop     chan struct{} // closed by Close
	stopOnce sync.Once
	done     chan struct{} // closed when the loop has ended
	crash    chan struct{} // closed when CrashAfter is reached
	crashing sync.Once

	requests atomic.Uint64 // numbers requests and draws their errors
}

// New starts an engine of cfg. The error names the field that is out of range.
// The caller closes the engine.
func New(cfg Config) (*Engine, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	e := &Engine{
		cfg:     cfg,
		words:   newVocabulary(),
		started: time.Now(),
		sched:   newScheduler(cfg),
		wake:    make(chan struct{}, 1),
		stop:    make(chan struct{}),
		done:    make(chan struct{}),
		crash:   make(chan struct{}),
	}
	e.mux = e.routes()
	go e.loop()
	return e, nil
}

// ServeHTTP answers one request.
func (e *Engine) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.crashed() {
		reset(w)
		return
	}
	e.mux.ServeHTTP(w, r)
}

// Close stops the engine: answers under way are cut off, later requests get
// 503. It returns when the engine's own goroutine has ended, and may be called
// again.
func (e *Engine) Close() error {
	e.stopOnce.Do(func() { close(e.stop) })
	<-e.done
	return nil
}

func (e *Engine) now() time.Duration { return time.Since(e.started) }

// submit queues q for the next step.
func (e *Engine) submit(q *sequence) error {
	e.mu.Lock()
	err := e.sched.submit(q, e.now())
	e.mu.Unlock()
	if err != nil {
		return err
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
	return nil
}

// cancel frees what q holds where it is not finished.
func (e *Engine) cancel(q *sequence) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sched.cancel(q)
}

// loop runs the steps in real time. A step starts where the last one was
// planned to end, so that waking up late adds up to nothing.
func (e *Engine) loop() {
	defer close(e.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	next := e.now()
	for {
		e.mu.Lock()
		end, ok := e.sched.begin(next)
		e.mu.Unlock()
		if !ok {
			select {
			case <-e.wake:
			case <-e.stop:
				return
			}
			next = e.now()
			continue
		}
		if wait := end - e.now(); wait > 0 {
			timer.Reset(wait)
			select {
			case <-timer.C:
			case <-e.stop:
				return
			}
		}
		select {
		case <-e.stop:
			return
		default:
		}
		now := e.now()
		e.mu.Lock()
		e.lag = now - end
		e.busy.at(now, e.sched.stats.busy)
		for _, out := range e.sched.finish() {
			if out.seq.mail != nil {
				out.seq.mail.put(out.tokens)
			}
		}
		e.mu.Unlock()
		next = max(end, now-maxLag)
	}
}

// busyAt is the share of recent time that the engine spent in steps, 0–1.
func (e *Engine) busyAt(now time.Duration) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.busy.at(now, e.sched.stats.busy)
}

// crashed tells whether CrashAfter was reached.
func (e *Engine) crashed() bool {
	select {
	case <-e.crash:
		return true
	default:
		return false
	}
}
