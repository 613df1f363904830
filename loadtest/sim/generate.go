package sim

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

func (e *Engine) chat(w http.ResponseWriter, r *http.Request) {
	req, refused := e.readRequest(r.Body)
	if refused != nil {
		fail(w, refused.status, refused.text)
		return
	}
	prompt, refused := chatPrompt(req.Messages, e.cfg.maxContext())
	if refused != nil {
		fail(w, refused.status, refused.text)
		return
	}
	e.generate(w, r, req, prompt, chatFormat)
}

func (e *Engine) completions(w http.ResponseWriter, r *http.Request) {
	req, refused := e.readRequest(r.Body)
	if refused != nil {
		fail(w, refused.status, refused.text)
		return
	}
	prompt, refused := plainPrompt(req.Prompt)
	if refused != nil {
		fail(w, refused.status, refused.text)
		return
	}
	e.generate(w, r, req, prompt, textFormat)
}

// call is one request being answered.
type call struct {
	engine  *Engine
	ctx     context.Context
	w       http.ResponseWriter
	seq     *sequence
	format  format
	id      string
	usage   bool // asked for in the stream
	created time.Time
	// breakAt is how many tokens to send before an injected error; -1 for none.
	breakAt int
}

// generate answers req, whose prompt is laid out.
func (e *Engine) generate(w http.ResponseWriter, r *http.Request, req *apiRequest, prompt []token, f format) {
	limit, stop, refused := req.limit(e.cfg, len(prompt))
	if refused != nil {
		fail(w, refused.status, refused.text)
		return
	}
	n := e.requests.Add(1)
	if e.cfg.CrashAfter > 0 && n > uint64(e.cfg.CrashAfter) {
		e.crashing.Do(func() { close(e.crash) })
		reset(w)
		return
	}
	if e.draw(streamErrors, n) < e.cfg.ErrorRate {
		fail(w, e.cfg.ErrorStatus, "injected error")
		return
	}
	c := &call{
		engine: e, ctx: r.Context(), w: w, format: f, created: time.Now(), breakAt: -1,
		seq: newSequence(e.cfg.Seed, prompt, limit, stop),
		id:  fmt.Sprintf("%s-%016x", f.idPrefix, mix(mix(e.cfg.Seed, uint64(e.started.UnixNano())), n)),
	}
	c.usage = req.StreamOptions != nil && req.StreamOptions.IncludeUsage
	c.seq.mail = newMailbox()
	if e.draw(streamStreamErrors, n) < e.cfg.StreamErrorRate {
		c.breakAt = limit / 2
	}
	if err := e.submit(c.seq); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	defer e.cancel(c.seq)
	if req.Stream {
		c.stream()
	} else {
		c.whole()
	}
}

// draw is the n-th draw of a stream, in [0, 1).
func (e *Engine) draw(stream, n uint64) float64 {
	return unit(mix(mix(e.cfg.Seed, stream), n))
}

// next waits for the tokens of one step or more; ok is false where the answer
// ends here: the client left, the engine stopped or crashed.
func (c *call) next(steps []int) (_ []int, ok bool) {
	select {
	case <-c.seq.mail.wake:
		return c.seq.mail.take(steps[:0]), true
	case <-c.ctx.Done():
	case <-c.engine.stop:
		// What is missing must look missing: the connection is cut.
		panic(http.ErrAbortHandler)
	case <-c.engine.crash:
		reset(c.w)
	}
	return nil, false
}

// breaks tells whether an injected error comes before so many tokens are sent.
func (c *call) breaks(tokens int) bool { return c.breakAt >= 0 && tokens > c.breakAt }

// finishReason says why the answer ended.
func (c *call) finishReason() string {
	if c.seq.stop {
		return "stop"
	}
	return "length"
}

// usageObject is the API's usage; read after the last token only, when the
// scheduler is done with the sequence.
type usageObject struct {
	PromptTokens     int `json:"prompt_tokens"`
	TotalTokens      int `json:"total_tokens"`
	CompletionTokens int `json:"completion_tokens"`
	Details          struct {
		CachedTokens int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

func (c *call) usageOf() usageObject {
	u := usageObject{
		PromptTokens:     len(c.seq.prompt),
		CompletionTokens: c.seq.target,
		TotalTokens:      len(c.seq.prompt) + c.seq.target,
	}
	c.engine.mu.Lock()
	u.Details.CachedTokens = c.seq.hits
	c.engine.mu.Unlock()
	return u
}

// whole answers in one piece once every token is there.
func (c *call) whole() {
	var steps []int
	text := make([]byte, 0, 8*c.seq.target)
	for sent := 0; sent < c.seq.target; {
		var ok bool
		if steps, ok = c.next(steps); !ok {
			return
		}
		for _, n := range steps {
			if c.breaks(sent + n) {
				fail(c.w, http.StatusInternalServerError, "injected error")
				return
			}
			text = c.engine.appendWords(text, c.seq, sent, n)
			sent += n
		}
	}
	writeJSON(c.w, http.StatusOK, c.format.whole(c, string(text)))
}

// appendWords appends n words of the answer from its from-th on; every word
// but the first brings the space before it.
func (e *Engine) appendWords(text []byte, q *sequence, from, n int) []byte {
	for i := from; i < from+n; i++ {
		if i > 0 {
			text = append(text, ' ')
		}
		text = append(text, e.words.words[e.words.index(q.seed, i)]...)
	}
	return text
}

// mustJSON encodes strings and plain structs of our own.
func mustJSON(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("encode answer: %v", err))
	}
	return data
}
