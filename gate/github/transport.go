package github

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	maxAttempts  = 6                // of one call, whatever went wrong
	firstBackoff = time.Second      // doubled with every attempt
	maxBackoff   = 16 * time.Second // of one wait after a server error
	// secondaryWait is what GitHub asks for where a secondary limit names no time.
	secondaryWait = 60 * time.Second
	// errorBody is how much of an error's answer is read to tell its kind.
	errorBody = 64 << 10
)

// transport authenticates and retries. What is retried:
//
//   - a refusal by rate (429, or 403 that says so), any method: the request
//     was not carried out;
//   - a connection that could not be made, any method, for the same reason;
//   - 5xx and broken connections, for methods and paths that may be repeated.
//
// A create that may have been carried out is not repeated here: its error is
// ambiguous (IsAmbiguous), and CreateOnce looks before it creates again.
type transport struct {
	base         http.RoundTripper
	scheme, host string // of the API: the token goes nowhere else
	token        string
	log          *slog.Logger
	maxWait      time.Duration
	now          func() time.Time
	sleep        Sleep
	jitter       func() float64 // in [0, 1)
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	body, err := replayable(req)
	if err != nil {
		return nil, err
	}
	var waited time.Duration
	for attempt := 1; ; attempt++ {
		try, err := t.prepare(req, body)
		if err != nil {
			return nil, err
		}
		resp, err := t.base.RoundTrip(try)
		again, wait, rate := t.classify(req, resp, err, attempt)
		if !again {
			return t.finish(resp), err
		}
		if attempt == maxAttempts || waited+wait > t.maxWait || pastDeadline(req.Context(), t.now().Add(wait)) {
			if rate != nil {
				_ = resp.Body.Close()
				rate.Waited = waited
				return nil, rate
			}
			return t.finish(resp), err
		}
		t.log.Warn("GitHub could not answer, trying again", "method", req.Method, "path", req.URL.Path,
			"why", describe(resp, err, rate), "wait_s", wait.Seconds(), "attempt", attempt)
		if resp != nil {
			// Read to the end so that the connection can be used again.
			_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, errorBody))
			_ = resp.Body.Close()
		}
		if err := t.sleep(req.Context(), wait); err != nil {
			return nil, err
		}
		waited += wait
	}
}

// prepare copies req for one attempt and adds the token.
func (t *transport) prepare(req *http.Request, body func() (io.ReadCloser, error)) (*http.Request, error) {
	try := req.Clone(req.Context())
	if body != nil {
		b, err := body()
		if err != nil {
			return nil, fmt.Errorf("send request body again: %w", err)
		}
		try.Body = b
	}
	if t.token != "" && req.URL.Host == t.host && req.URL.Scheme == t.scheme {
		try.Header.Set("Authorization", "Bearer "+t.token)
	}
	return try, nil
}

// classify decides whether an attempt is worth another, after how long, and
// whether it was refused by rate.
func (t *transport) classify(req *http.Request, resp *http.Response, err error, attempt int) (again bool, wait time.Duration, rate *RateError) {
	gaveUp := req.Context().Err() != nil
	if gaveUp {
		return false, 0, nil
	}
	if err != nil {
		return repeatable(req) || neverConnected(err), t.backoff(attempt), nil
	}
	switch {
	case resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusForbidden:
		rate = t.rateLimit(resp)
		if rate == nil {
			return false, 0, nil
		}
		return true, max(rate.Until.Sub(t.now()), t.backoff(attempt)), rate
	case resp.StatusCode >= 500:
		wait = t.backoff(attempt)
		if asked, ok := t.retryAfter(resp); ok {
			wait = max(wait, asked)
		}
		return repeatable(req), wait, nil
	}
	return false, 0, nil
}

// rateLimit tells a refusal by rate, with the time until which GitHub asks to
// wait, from one for want of a permission, which is nil.
func (t *transport) rateLimit(resp *http.Response) *RateError {
	head, err := io.ReadAll(io.LimitReader(resp.Body, errorBody))
	resp.Body = rejoined{io.MultiReader(bytes.NewReader(head), resp.Body), resp.Body}
	if err != nil {
		head = nil
	}
	var answer struct {
		Message string `json:"message"`
		DocURL  string `json:"documentation_url"`
	}
	_ = json.Unmarshal(head, &answer) // a proxy's page is not JSON; the headers decide then
	message := strings.ToLower(answer.Message)
	if strings.Contains(message, "not accessible by") {
		return nil
	}
	rate := &RateError{Status: resp.StatusCode, Message: answer.Message}
	if after, ok := t.retryAfter(resp); ok {
		rate.Until = t.now().Add(after)
		return rate
	}
	if resp.Header.Get("X-RateLimit-Remaining") == "0" {
		rate.Until = t.now().Add(secondaryWait)
		if reset, err := strconv.ParseInt(resp.Header.Get("X-RateLimit-Reset"), 10, 64); err == nil {
			rate.Until = time.Unix(reset, 0).Add(time.Second) // the second named has to be over
		}
		return rate
	}
	if resp.StatusCode == http.StatusTooManyRequests || strings.Contains(message, "rate limit") ||
		strings.Contains(message, "abuse detection") || strings.Contains(answer.DocURL, "rate-limit") {
		rate.Until = t.now().Add(secondaryWait)
		return rate
	}
	return nil
}

// retryAfter reads Retry-After in either form.
func (t *transport) retryAfter(resp *http.Response) (time.Duration, bool) {
	value := resp.Header.Get("Retry-After")
	if value == "" {
		return 0, false
	}
	if s, err := strconv.Atoi(value); err == nil && s >= 0 && s < int((24*time.Hour).Seconds()) {
		return time.Duration(s) * time.Second, true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(t.now()), 0), true
	}
	return 0, false
}

// backoff doubles with the attempt; half of it is drawn, so that parallel legs
// do not come back together.
func (t *transport) backoff(attempt int) time.Duration {
	d := min(firstBackoff<<(attempt-1), maxBackoff)
	return d/2 + time.Duration(t.jitter()*float64(d/2))
}

// finish hides an exhausted limit on an answer that goes to the caller: the
// client would take any 403 for a refusal by rate and refuse its next request
// without sending it, where telling and waiting are our business.
func (t *transport) finish(resp *http.Response) *http.Response {
	if resp != nil && resp.Header.Get("X-RateLimit-Remaining") == "0" {
		resp.Header.Del("X-RateLimit-Remaining")
		resp.Header.Del("X-RateLimit-Reset")
	}
	return resp
}

// repeatable reports whether carrying req out twice comes to the same as once.
// PATCH sets a value in every call that is made here. Blobs, trees and commits
// are addressed by their content.
func repeatable(req *http.Request) bool {
	if req.Method != http.MethodPost {
		return true
	}
	for _, suffix := range []string{"/git/blobs", "/git/trees", "/git/commits"} {
		if strings.HasSuffix(req.URL.Path, suffix) {
			return true
		}
	}
	return false
}

// neverConnected reports that the request cannot have arrived.
func neverConnected(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

func pastDeadline(ctx context.Context, at time.Time) bool {
	deadline, ok := ctx.Deadline()
	return ok && at.After(deadline)
}

func describe(resp *http.Response, err error, rate *RateError) string {
	switch {
	case rate != nil:
		return "rate limit"
	case err != nil:
		return err.Error()
	default:
		return resp.Status
	}
}

// replayable returns a function that opens the request's body again, nil where
// there is none.
func replayable(req *http.Request) (func() (io.ReadCloser, error), error) {
	if req.Body == nil || req.Body == http.NoBody {
		return nil, nil
	}
	if req.GetBody != nil {
		_ = req.Body.Close() // each attempt opens its own
		return req.GetBody, nil
	}
	data, err := io.ReadAll(req.Body)
	_ = req.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read request body: %w", err)
	}
	return func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }, nil
}

// rejoined is a body whose beginning was read and put back.
type rejoined struct {
	io.Reader
	io.Closer
}
