package sim

import "sync"

// mailbox hands the tokens of each step from the engine's loop to the goroutine
// of a request. The loop never waits: a reader that is behind finds several
// steps at once.
type mailbox struct {
	mu    sync.Mutex
	steps []int // tokens of each step not yet read
	wake  chan struct{}
}

func newMailbox() *mailbox { return &mailbox{wake: make(chan struct{}, 1)} }

// put adds one step's tokens.
func (m *mailbox) put(tokens int) {
	m.mu.Lock()
	first := len(m.steps) == 0
	m.steps = append(m.steps, tokens)
	m.mu.Unlock()
	if first {
		select {
		case m.wake <- struct{}{}:
		default:
		}
	}
}

// take moves what there is to the end of steps.
func (m *mailbox) take(steps []int) []int {
	m.mu.Lock()
	defer m.mu.Unlock()
	steps = append(steps, m.steps...)
	m.steps = m.steps[:0]
	return steps
}
