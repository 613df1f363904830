package loadtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// RequestLog writes one JSON line per finished request. It implements Recorder.
type RequestLog struct {
	mu  sync.Mutex
	buf *bufio.Writer
	enc *json.Encoder
	err error
}

// NewRequestLog returns a log that writes to w; Flush writes out what is
// buffered.
func NewRequestLog(w io.Writer) *RequestLog {
	buf := bufio.NewWriterSize(w, 256<<10)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	return &RequestLog{buf: buf, enc: enc}
}

// requestLine is a line of the log. Times are milliseconds: intended_start_ms
// and sent_ms from the segment's start, the latencies from the intended start.
// What is unknown is null.
type requestLine struct {
	Scenario      string   `json:"scenario"`
	Stage         string   `json:"stage"`
	Round         int      `json:"round"`
	Outcome       Outcome  `json:"outcome"`
	Error         *string  `json:"error"`
	IntendedStart float64  `json:"intended_start_ms"`
	Sent          *float64 `json:"sent_ms"`
	TTFT          *float64 `json:"ttft_ms"`
	E2E           *float64 `json:"e2e_ms"`
	TPOT          *float64 `json:"tpot_ms"`
	OutputTokens  *int     `json:"output_tokens"`
	PayloadEvents *int     `json:"payload_events"`
	FinishReason  *string  `json:"finish_reason"`
	FirstAnswer   *float64 `json:"first_answer_ms"`
}

// Record writes o's line. The first error stays and comes back from Flush.
func (l *RequestLog) Record(o *Observation) {
	r := o.Reply
	line := requestLine{
		Scenario: o.Request.Scenario, Stage: o.Segment.Stage, Round: o.Segment.Round, Outcome: r.Outcome,
		IntendedStart: milliseconds(o.Intended.Sub(o.Began)),
	}
	if r.Outcome != OK {
		line.Error = known(r.Detail, r.Detail != "")
	}
	if r.Outcome != Dropped {
		line.Sent = known(milliseconds(r.Sent.Sub(o.Began)), true)
		line.PayloadEvents = known(len(r.Arrivals), true)
		line.FinishReason = known(r.FinishReason, r.FinishReason != "")
		ttft, ok := o.TTFT()
		line.TTFT = known(milliseconds(ttft), ok)
		if r.Outcome == OK { // what a broken answer had until then is no latency
			e2e, ok := o.E2E()
			line.E2E = known(milliseconds(e2e), ok)
			tpot, _, ok := o.TPOT()
			line.TPOT = known(milliseconds(tpot), ok)
		}
		if r.Answer >= 0 {
			line.FirstAnswer = known(milliseconds(o.late()+r.Arrivals[r.Answer]), true)
		}
		if r.Usage != nil {
			line.OutputTokens = known(r.Usage.CompletionTokens, true)
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.enc.Encode(line)
	}
}

// Flush writes out what is buffered and returns the first error of all writes.
func (l *RequestLog) Flush() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = l.buf.Flush()
	}
	if l.err != nil {
		return fmt.Errorf("write requests: %w", l.err)
	}
	return nil
}

func known[T any](v T, ok bool) *T {
	if !ok {
		return nil
	}
	return &v
}

// milliseconds of d, to the microsecond.
func milliseconds(d time.Duration) float64 {
	return float64(d.Round(time.Microsecond)) / float64(time.Millisecond)
}
