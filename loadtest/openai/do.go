package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/org/llm-gate/loadtest"
)

const (
	// maxErrorBody is how much of an error answer is read.
	maxErrorBody = 64 << 10
	// drainTime is how long the rest of a finished answer is waited for, so
	// that its connection can serve again.
	drainTime = 100 * time.Millisecond
)

// Do implements loadtest.Target. Beyond its contract:
//
//   - A request that fails before the first byte of its answer on a reused
//     connection is sent once more on a fresh one (Reply.Resends): servers close
//     idle connections that they promised to keep. Reply.Sent stays the first send.
//   - A 400 or 422 that names stream_options, ignore_eos or min_tokens is tried
//     again without it, now and for the client's life (see Refused).
//   - [DONE] completes an answer; what follows it is not looked at. An answer
//     that ends without it is complete if a finish_reason came and the body ended
//     as HTTP says it should.
//   - finish_reason "error" or "abort" is a StreamError: the server gave up.
//   - A redirect is not followed; it counts as HTTP4xx.
func (c *Client) Do(ctx context.Context, req *loadtest.Request, reply *loadtest.Reply) error {
	reply.Reset()
	model := c.Model()
	if model == "" {
		return errors.New("send request: no model is set; name one or let Preflight resolve it")
	}
	if c.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.options.Timeout)
		defer cancel()
	}
	for {
		data, carried, err := body(c.options.API, model, req, wish(c.without.Load()))
		if err != nil {
			return err
		}
		refused, err := c.attempt(ctx, data, carried, req.KeepContent, reply)
		if err != nil {
			return err
		}
		if refused == 0 {
			return nil
		}
		// Each turn leaves out at least one wish more, so this ends.
		c.without.Or(uint32(refused))
		sent, resends := reply.Sent, reply.Resends
		reply.Reset()
		reply.Sent, reply.Resends = sent, resends
	}
}

// attempt sends the body and reads the answer into reply. It returns the wishes
// that the server refused, if the request is to be tried without them.
func (c *Client) attempt(ctx context.Context, data []byte, carried wish, keep bool, reply *loadtest.Reply) (refused wish, err error) {
	// The answer's own cancel ends a drain that takes too long.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if reply.Sent.IsZero() {
		reply.Sent = time.Now()
	}
	path := "/v1/chat/completions"
	if c.options.API == Completions {
		path = "/v1/completions"
	}
	resp, t, err := c.send(ctx, path, data, reply)
	if err != nil {
		var bad *requestError
		if errors.As(err, &bad) {
			return 0, bad
		}
		outcome, detail := sendOutcome(err, t), err.Error()
		switch {
		case speaksPlain(err):
			detail = "the server speaks plain HTTP, not TLS: use http://"
		case outcome == loadtest.Truncated:
			detail = "the connection ended before an answer began: " + detail
		}
		c.fail(ctx, reply, outcome, detail)
		return 0, nil
	}
	defer resp.Body.Close()
	reply.Status = resp.StatusCode
	if resp.StatusCode/100 == 2 {
		s := c.streams.Get().(*stream)
		s.read(ctx, c, resp, keep, reply)
		s.drain(cancel)
		c.streams.Put(s)
		return 0, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	if err != nil && len(body) == 0 {
		if _, over := ended(ctx); over {
			c.fail(ctx, reply, statusOutcome(resp.StatusCode), err.Error())
			return 0, nil
		}
	}
	said := statusWords(resp, body)
	if resp.StatusCode == http.StatusBadRequest || resp.StatusCode == http.StatusUnprocessableEntity {
		if refused := refusedIn(said, carried); refused != 0 {
			return refused, nil
		}
	}
	reply.End = time.Since(reply.Sent)
	reply.Outcome = statusOutcome(resp.StatusCode)
	reply.Detail = c.words(fmt.Sprintf("HTTP %d: %s", resp.StatusCode, said))
	return 0, nil
}

// fail gives reply its outcome, or that of the context where it has ended.
func (c *Client) fail(ctx context.Context, reply *loadtest.Reply, o loadtest.Outcome, detail string) {
	reply.End = time.Since(reply.Sent)
	if over, ok := ended(ctx); ok {
		o = over
		detail = "stopped"
		if o == loadtest.Timeout {
			detail = "timed out"
		}
		switch n := len(reply.Arrivals); {
		case reply.Status == 0:
			detail += fmt.Sprintf(" after %s before an answer began", round(reply.End))
		case n == 0:
			detail += fmt.Sprintf(" after %s before the first token", round(reply.End))
		default:
			detail += fmt.Sprintf(" after %s, %d events, the last at %s", round(reply.End), n, round(reply.Arrivals[n-1]))
		}
	}
	reply.Outcome = o
	reply.Detail = c.words(detail)
}

func round(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// words makes text from outside fit to be shown.
func (c *Client) words(s string) string { return words(s, c.secrets) }

// requestError is a request that cannot be made at all.
type requestError struct{ err error }

func (e *requestError) Error() string { return "make request: " + e.err.Error() }
func (e *requestError) Unwrap() error { return e.err }

// send posts data and returns the answer once its header is there. net/http
// sends a POST again by itself only where not a byte of it was written, and
// then perhaps on the next stale connection; so that is left off (no GetBody)
// and done here, once, on a connection that is new for certain.
func (c *Client) send(ctx context.Context, path string, data []byte, reply *loadtest.Reply) (*http.Response, *trace, error) {
	resp, t, err := c.roundTrip(ctx, c.pooled, http.MethodPost, path, data)
	if err == nil || !t.stale() || ctx.Err() != nil || ownFault(err) {
		return resp, t, err
	}
	reply.Resends++
	return c.roundTrip(ctx, c.fresh, http.MethodPost, path, data)
}

func (c *Client) roundTrip(ctx context.Context, via *http.Transport, method, path string, data []byte) (*http.Response, *trace, error) {
	t := new(trace)
	ctx = httptrace.WithClientTrace(ctx, t.hooks())
	req, err := http.NewRequestWithContext(ctx, method, c.endpoint.at(path), nil)
	if err != nil {
		return nil, t, &requestError{err}
	}
	if data != nil {
		req.Body = io.NopCloser(bytes.NewReader(data))
		req.ContentLength = int64(len(data))
	}
	req.Header = c.header
	req.Host = c.host
	resp, err := via.RoundTrip(req)
	return resp, t, err
}

// trace is how far a request got. The transport calls its hooks from other
// goroutines, also after the request is over.
type trace struct{ got atomic.Uint32 }

const (
	gotConn uint32 = 1 << iota
	gotReused
	gotHandshake
	gotByte
)

func (t *trace) hooks() *httptrace.ClientTrace {
	return &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) {
			t.got.Or(gotConn)
			if info.Reused {
				t.got.Or(gotReused)
			}
		},
		TLSHandshakeStart:    func() { t.got.Or(gotHandshake) },
		GotFirstResponseByte: func() { t.got.Or(gotByte) },
	}
}

func (t *trace) connected() bool   { return t.got.Load()&gotConn != 0 }
func (t *trace) handshaking() bool { return t.got.Load()&gotHandshake != 0 }

// stale reports whether the connection was a reused one and no byte came back.
func (t *trace) stale() bool {
	return t.got.Load()&(gotConn|gotReused|gotByte) == gotConn|gotReused
}
