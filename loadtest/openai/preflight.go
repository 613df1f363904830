package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// PreflightOptions say how long to wait for readiness.
type PreflightOptions struct {
	// ReadyTimeout bounds the wait; with 0 the target is asked once.
	ReadyTimeout time.Duration
	// Progress, where set, is told in words what is waited for: at every change
	// and every ten seconds. It is called from Preflight's own goroutine.
	Progress func(string)
	// ExactOutput tries a request as the load will send it, so that what the
	// server refuses is known before (see Client.Refused).
	ExactOutput bool
	// Poll is the longest pause between attempts; 0 is 5 s.
	Poll time.Duration
}

// Info is what the target tells of itself. Text is cut to a sane length and
// free of control characters; what was not told is empty.
type Info struct {
	Model         string
	ModelRevision string
	// Engine is "vllm", "sglang", "llama.cpp", "tgi", "tensorrt-llm",
	// "lmdeploy" or "ollama", or what the model list calls its owner.
	Engine        string
	EngineVersion string
	// Flags are settings of the engine by the engine's own names, and "server",
	// "owned_by" and "max_model_len" where told.
	Flags map[string]string
	// Refused lists the members of the request that the server does not take.
	Refused []string
	// ReadyAfter is how long it took from the first attempt to the first
	// complete answer.
	ReadyAfter time.Duration
}

const (
	// probeTime bounds one question about health, models or settings.
	probeTime = 10 * time.Second
	// completionTime bounds one try at the first completion: engines may compile
	// for minutes, but a request can also hang for good.
	completionTime = 5 * time.Minute
	// faultTries is how often a server may answer with a fault that waiting
	// seldom mends (a 500, a broken stream) before it counts as not ready.
	faultTries = 3
	// nameTime is how long a host name that does not resolve is waited for.
	nameTime = time.Minute
)

// Preflight waits until the target is ready, resolves the model and asks for
// what the target tells of itself. Ready means: GET /health answers anything
// but 502, 503 or 504 (a target without it is fine), GET /v1/models lists the
// model, and one real streamed completion arrives whole.
//
// It returns a *RefusedError where waiting does not help, a *NotReadyError
// where ReadyTimeout passed or the target keeps answering with faults, and
// ctx's error where ctx ended. A certificate that does not verify, plain HTTP
// on an https address, and an answer that is no event stream (a web page, say)
// are refusals; a refused connection, 429 and 5xx are waited for.
func (c *Client) Preflight(ctx context.Context, p PreflightOptions) (*Info, error) {
	w := &wait{client: c, options: p, start: time.Now()}
	if err := w.until(ctx, "health", c.health); err != nil {
		return nil, err
	}
	info := &Info{Flags: map[string]string{}}
	if err := w.until(ctx, "the model list", func(ctx context.Context) attempt { return c.findModel(ctx, info) }); err != nil {
		return nil, err
	}
	if err := w.until(ctx, "a first completion", func(ctx context.Context) attempt { return c.tryCompletion(ctx, p.ExactOutput) }); err != nil {
		return nil, err
	}
	info.ReadyAfter = time.Since(w.start)
	info.Model = c.Model()
	info.Refused = c.Refused()
	c.askEngine(ctx, info)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return info, nil
}

// attempt is what one try at readiness came to. The zero value is success.
type attempt struct {
	url string
	err error
	// final: err is not mended by waiting. fault: seldom.
	final, fault bool
	// patience bounds the wait for this error where it is shorter than
	// ReadyTimeout.
	patience time.Duration
}

// wait repeats attempts within one budget of time.
type wait struct {
	client  *Client
	options PreflightOptions
	start   time.Time
	faults  int
	told    string
	toldAt  time.Time
}

// until repeats try with growing pauses until it succeeds, is refused, or the
// time is up.
func (w *wait) until(ctx context.Context, what string, try func(context.Context) attempt) error {
	longest := w.options.Poll
	if longest <= 0 {
		longest = 5 * time.Second
	}
	for pause := min(250*time.Millisecond, longest); ; pause = min(pause*3/2, longest) {
		a := w.once(ctx, try)
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("wait for %s of the target: %w", what, err)
		}
		if a.err == nil {
			return nil
		}
		if a.final {
			return a.err
		}
		if a.fault {
			w.faults++
		}
		limit := w.options.ReadyTimeout
		if a.patience > 0 {
			limit = min(limit, a.patience)
		}
		waited := time.Since(w.start)
		if waited+pause > limit || w.faults >= faultTries {
			return &NotReadyError{URL: a.url, Waited: waited, Last: a.err}
		}
		w.tell(what, a)
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

// once makes one attempt within what is left of the time.
func (w *wait) once(ctx context.Context, try func(context.Context) attempt) attempt {
	if w.options.ReadyTimeout > 0 {
		var cancel context.CancelFunc
		left := w.options.ReadyTimeout - time.Since(w.start)
		ctx, cancel = context.WithTimeout(ctx, max(left, time.Second))
		defer cancel()
	}
	return try(ctx)
}

func (w *wait) tell(what string, a attempt) {
	said := fmt.Sprintf("waiting for %s of %s: %v", what, w.client.endpoint.root, a.err)
	if w.options.Progress == nil || said == w.told && time.Since(w.toldAt) < 10*time.Second {
		return
	}
	w.told, w.toldAt = said, time.Now()
	w.options.Progress(fmt.Sprintf("%s (%s)", said, time.Since(w.start).Round(time.Second)))
}

// health asks GET /health. Only the statuses of a server that is not up yet are
// waited for: gateways answer anything to a path they do not know.
func (c *Client) health(ctx context.Context) attempt {
	a := c.get(ctx, "/health")
	switch a.status {
	case 0:
		return a.attempt
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		a.err = fmt.Errorf("HTTP %d: %s", a.status, c.words(statusText(a)))
		return a.attempt
	}
	return attempt{}
}

// tryCompletion sends a real request of a few tokens.
func (c *Client) tryCompletion(ctx context.Context, exact bool) attempt {
	path := "/v1/chat/completions"
	if c.options.API == Completions {
		path = "/v1/completions"
	}
	a := attempt{url: c.endpoint.at(path)}
	ctx, cancel := context.WithTimeout(ctx, completionTime)
	defer cancel()
	var reply loadtest.Reply
	err := c.Do(ctx, &loadtest.Request{
		Messages:    []loadtest.Message{{Role: "user", Content: "Say hello."}},
		MaxTokens:   4,
		ExactOutput: exact,
	}, &reply)
	if err != nil {
		return attempt{url: a.url, err: err, final: true}
	}
	a.err = errors.New(reply.Detail)
	switch reply.Outcome {
	case loadtest.OK:
		return attempt{}
	case loadtest.Connect, loadtest.Timeout, loadtest.Unfinished, loadtest.HTTP429:
	case loadtest.HTTP5xx:
		a.fault = !loading(reply.Status)
	case loadtest.HTTP4xx:
		if reply.Status != http.StatusRequestTimeout && reply.Status != http.StatusTooEarly {
			a.refuse(reply.Status, trimStatus(reply.Detail, reply.Status))
		}
	case loadtest.Malformed:
		a.refuse(0, reply.Detail)
	default: // a broken stream, a broken handshake, a shortage here
		a.fault = true
	}
	return a
}

// loading reports whether the status is one of a server that is not up yet.
func loading(status int) bool {
	return status == http.StatusBadGateway || status == http.StatusServiceUnavailable || status == http.StatusGatewayTimeout
}

// refuse makes the attempt final.
func (a *attempt) refuse(status int, reason string) {
	a.final = true
	a.err = &RefusedError{URL: a.url, Status: status, Reason: reason}
}

// answer is what a GET came to; status is 0 where no answer came.
type answer struct {
	attempt
	status int
	header http.Header
	body   []byte
}

// get asks once. Where no answer comes, the attempt tells whether to wait on.
func (c *Client) get(ctx context.Context, path string) answer {
	a := answer{attempt: attempt{url: c.endpoint.at(path)}}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	resp, t, err := c.roundTrip(ctx, c.pooled, http.MethodGet, path, nil)
	if err != nil && t.stale() && ctx.Err() == nil {
		resp, t, err = c.roundTrip(ctx, c.fresh, http.MethodGet, path, nil)
	}
	if err != nil {
		a.attempt = c.unanswered(a.url, err, t)
		return a
	}
	defer resp.Body.Close()
	a.body, err = io.ReadAll(io.LimitReader(resp.Body, 4<<20))
	if err != nil {
		a.err = fmt.Errorf("read answer: %s", c.words(err.Error()))
		return a
	}
	a.status, a.header = resp.StatusCode, resp.Header
	return a
}

// unanswered says of a request that got no answer whether waiting may help.
func (c *Client) unanswered(url string, err error, t *trace) attempt {
	a := attempt{url: url, err: &sendError{c.words(err.Error()), err}}
	switch {
	case isCertificate(err):
		a.final = true
		a.err = &RefusedError{URL: url, Reason: c.words(fmt.Sprintf("its certificate does not verify: %v; give the CA's certificate with --ca", err)), err: err}
	case speaksPlain(err):
		a.final = true
		a.err = &RefusedError{URL: url, Reason: "it speaks plain HTTP, not TLS; use http://", err: err}
	case sendOutcome(err, t) == loadtest.Malformed:
		a.final = true
		a.err = &RefusedError{URL: url, Reason: c.words("it does not speak HTTP here: " + err.Error()), err: err}
	case ownFault(err):
		a.fault = true
	case isUnknownName(err):
		a.patience = nameTime
	}
	return a
}

// sendError carries a cause under words fit to be shown.
type sendError struct {
	words string
	err   error
}

func (e *sendError) Error() string { return e.words }
func (e *sendError) Unwrap() error { return e.err }
