package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// stream reads one answer at a time into a Reply; it is reused for its buffers.
type stream struct {
	reader reader
	chunk  chunk
	event  event

	done    bool // [DONE] came
	known   bool // an event of the protocol came
	seen    int  // events with data
	drained bool // the body was read to its end, or is not worth it
}

// read reads the answer to its end, its [DONE] or its first fault, and fills
// reply.
func (s *stream) read(ctx context.Context, c *Client, resp *http.Response, keep bool, reply *loadtest.Reply) {
	s.reader.reset(resp.Body, c.options.MaxLine)
	s.done, s.known, s.seen, s.drained = false, false, 0, false
	if encoding := resp.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		s.drained = true
		c.fail(ctx, reply, loadtest.Malformed, fmt.Sprintf("the answer is encoded (%s) though that was not asked for", encoding))
		return
	}
	outcome, detail := s.events(resp, keep, reply)
	if outcome == loadtest.OK {
		reply.Outcome = loadtest.OK
		return
	}
	if s.drained { // the transport failed: perhaps because ctx ended
		c.fail(ctx, reply, outcome, detail)
		return
	}
	reply.Outcome, reply.Detail = outcome, c.words(detail)
}

// events consumes the events. The outcome it returns does not know of the
// context.
func (s *stream) events(resp *http.Response, keep bool, reply *loadtest.Reply) (loadtest.Outcome, string) {
	for {
		err := s.reader.next(&s.event)
		if err != nil {
			s.drained = true
			reply.End = time.Since(reply.Sent)
			if errors.Is(err, io.EOF) && !s.reader.at.IsZero() {
				return s.end(resp, reply)
			}
			return s.broken(err, resp)
		}
		if outcome, detail := s.take(keep, reply); outcome != "" {
			reply.End = s.event.at.Sub(reply.Sent)
			return outcome, detail
		}
	}
}

// take puts one event into reply. It returns an outcome where the event
// decides it.
func (s *stream) take(keep bool, reply *loadtest.Reply) (loadtest.Outcome, string) {
	ev, c := &s.event, &s.chunk
	data := bytes.TrimSpace(ev.data)
	if len(data) == 0 {
		return "", ""
	}
	s.seen++
	if len(ev.name) > 0 && string(ev.name) == "error" {
		return loadtest.StreamError, "error event: " + errorText(data)
	}
	if string(data) == "[DONE]" {
		s.done = true
		if !s.known {
			return loadtest.Malformed, "[DONE] came, but no completion chunk before it"
		}
		return s.verdict(reply)
	}
	if !scan(data, c) {
		if err := decode(data, c); err != nil {
			if ev.cut {
				return loadtest.Truncated, "the body ended within an event"
			}
			return loadtest.Malformed, fmt.Sprintf("event %d is not a completion chunk (%v): %s", s.seen, err, data[:min(len(data), maxWords)])
		}
	}
	if c.failed {
		return loadtest.StreamError, c.message
	}
	s.known = s.known || c.known
	if c.payload() {
		if len(reply.Arrivals) == 0 {
			reply.FirstTokens = c.logprobs
			if c.usage && c.completion > 0 {
				reply.FirstTokens = c.completion
			}
		}
		if c.answer {
			if reply.Answer < 0 {
				reply.Answer = len(reply.Arrivals)
			}
			reply.ContentLength += len(c.content)
			if keep {
				reply.Content = append(reply.Content, c.content...)
			}
		}
		reply.Arrivals = append(reply.Arrivals, ev.at.Sub(reply.Sent))
	}
	if len(c.finish) > 0 {
		reply.FinishReason = intern(c.finish)
	}
	if c.usage {
		reply.SetUsage(loadtest.Usage{PromptTokens: c.prompt, CompletionTokens: c.completion, CachedTokens: c.cached})
	}
	if c.cacheN >= 0 && reply.Usage != nil && reply.Usage.CachedTokens < 0 {
		reply.Usage.CachedTokens = c.cacheN
	}
	return "", ""
}

// verdict is the outcome of an answer that came whole.
func (s *stream) verdict(reply *loadtest.Reply) (loadtest.Outcome, string) {
	if reply.Usage != nil && reply.Usage.CompletionTokens == 0 && len(reply.Arrivals) > 0 {
		reply.Usage = nil // a count that contradicts the stream is no count
	}
	switch reply.FinishReason {
	case "error", "abort":
		return loadtest.StreamError, fmt.Sprintf("the server gave the answer up: finish_reason %q", reply.FinishReason)
	}
	return loadtest.OK, ""
}

// end is the outcome of a body that ended as HTTP says it should.
func (s *stream) end(resp *http.Response, reply *loadtest.Reply) (loadtest.Outcome, string) {
	switch {
	case s.reader.fields == 0:
		return s.strange(resp)
	case reply.FinishReason == "":
		return loadtest.Truncated, fmt.Sprintf("the body ended after %d events with neither finish_reason nor [DONE]", s.seen)
	}
	return s.verdict(reply)
}

// broken is the outcome of a body that could not be read to its end.
func (s *stream) broken(err error, resp *http.Response) (loadtest.Outcome, string) {
	switch {
	case errors.Is(err, errTooLong):
		return loadtest.Malformed, err.Error()
	case errors.Is(err, errNoStream):
		return s.strange(resp)
	case ownFault(err):
		return loadtest.Client, err.Error()
	case errors.Is(err, io.EOF):
		return loadtest.Truncated, "the answer has no body"
	case strings.Contains(err.Error(), "chunk"):
		return loadtest.Malformed, "the body is not chunked as HTTP says: " + err.Error()
	}
	return loadtest.Truncated, fmt.Sprintf("the body was cut short after %d events: %v", s.seen, err)
}

// strange is the outcome of a body that is no event stream: an error object
// says so itself, anything else is shown by its type and beginning.
func (s *stream) strange(resp *http.Response) (loadtest.Outcome, string) {
	head := s.reader.head
	if top, err := object(bytes.TrimSpace(head)); err == nil {
		if !null(top["error"]) || text(top["object"]) == "error" {
			return loadtest.StreamError, errorText(head)
		}
	}
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	return loadtest.Malformed, fmt.Sprintf("the answer is no event stream (%s): %s", kind, head[:min(len(head), maxWords)])
}

// drain reads what is left behind the answer, so that its connection can serve
// again, but not for long; cancel ends the request.
func (s *stream) drain(cancel func()) {
	if !s.drained && s.done {
		timer := time.AfterFunc(drainTime, cancel)
		_, _ = io.CopyN(io.Discard, s.reader.src, readSize) // whatever fails here costs the connection only
		timer.Stop()
	}
	s.reader.src = nil
}

// intern returns the reason as a string without allocating for the usual ones.
func intern(reason []byte) string {
	switch string(reason) {
	case "stop":
		return "stop"
	case "length":
		return "length"
	case "tool_calls":
		return "tool_calls"
	}
	return string(reason)
}
