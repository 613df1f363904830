package loadtest

import (
	"context"
	"encoding/json"
	"time"
)

// Target is a server under load.
type Target interface {
	// Do sends req once and fills reply, which the caller reuses between
	// requests: Do calls reply.Reset before anything else.
	//
	// A request that fails is a result: reply.Outcome says how and Do returns
	// nil. An error means that the tool itself could not do its work (the
	// request cannot be expressed in this protocol, say) and ends the run.
	//
	// Do honours ctx: its end is Timeout when a deadline passed and Unfinished
	// when it was cancelled. Do is safe for concurrent use with distinct replies.
	Do(ctx context.Context, req *Request, reply *Reply) error
}

// Request is one request to a language model, in no engine's dialect.
type Request struct {
	// Scenario names the workload item the request belongs to.
	Scenario string
	// Messages is the conversation. A completions API gets the joined text.
	Messages []Message
	// MaxTokens caps the answer; 0 leaves it to the server.
	MaxTokens int
	// ExactOutput asks engines that can to generate exactly MaxTokens
	// (ignore_eos), so that lengths are equal across runs.
	ExactOutput bool
	// Extra holds further members of the request object, passed through
	// verbatim (temperature, tools, response_format, ...).
	Extra map[string]json.RawMessage
	// KeepContent asks for the answer's text in Reply.Content and its tool
	// calls in Reply.ToolCalls.
	KeepContent bool
	// Think is how long the user thinks before this request: it is sent that
	// long after the last answer of its session ended, and its intended start
	// is that moment. The first request of a session has none.
	Think time.Duration
	// Assert, where set, looks at a successful reply and says what is wrong
	// with it; the outcome is then Assertion.
	Assert func(*Reply) error
}

// Message is one turn of a conversation. Raw, where set, is the whole message
// object as a workload file gave it and wins over Role and Content.
type Message struct {
	Role    string          `json:"role"`
	Content string          `json:"content"`
	Raw     json.RawMessage `json:"-"`
}

// MarshalJSON writes Raw where it is set.
func (m Message) MarshalJSON() ([]byte, error) {
	if m.Raw != nil {
		return m.Raw, nil
	}
	type plain Message
	return json.Marshal(plain(m))
}

// ToolCall is one call that an answer asks for.
type ToolCall struct {
	Name      string
	Arguments string // JSON as the model wrote it
}

// Clock says which clock the arrivals of a reply were read from.
type Clock string

// The clocks. KernelClock is the moment at which the kernel received the bytes,
// which no scheduler, collector or busy core can lengthen; ReadClock is the
// moment at which this process had read them.
const (
	KernelClock Clock = "kernel"
	ReadClock   Clock = "read"
)

// Phases are how long the parts of sending a request took; zero where a part
// did not happen (a reused connection is neither dialled nor greeted).
type Phases struct {
	Queue     time.Duration // waiting for a connection, its making (DNS, Connect, TLS) excepted
	DNS       time.Duration
	Connect   time.Duration
	TLS       time.Duration
	Write     time.Duration // from the connection to the last byte of the request
	FirstByte time.Duration // from the request's last byte to the answer's first
}

// Usage is the server's own count of tokens for one request.
type Usage struct {
	PromptTokens     int
	CompletionTokens int
	// CachedTokens is prompt_tokens_details.cached_tokens (or llama.cpp's
	// timings.cache_n); -1 where the server did not say.
	CachedTokens int
}

// Reply is what came back for one request. All durations count from Sent on
// the monotonic clock.
type Reply struct {
	// Sent is when the request was handed to the transport.
	Sent time.Time
	// Arrivals holds the arrival of every payload event: an event that carries
	// content, reasoning or tool calls. Role-only, null or empty deltas,
	// comments and pings are not payload.
	Arrivals []time.Duration
	// Answer indexes Arrivals at the first event with content (not reasoning,
	// not tool calls); -1 where there was none.
	Answer int
	// FirstTokens is the number of tokens in the first payload event by the
	// server's own per-chunk usage or logprobs; 0 where it did not say.
	FirstTokens int
	// End is when the body ended (terminator or close), or when it failed.
	End time.Duration

	Outcome Outcome
	// Detail says in words what went wrong: the server's own text, cut to a
	// sane length, never a header or a key.
	Detail string
	// Status is the HTTP status, 0 where no answer arrived.
	Status int
	// FinishReason is the last finish_reason, "" where there was none.
	FinishReason string
	// Usage is nil where the server reported none: tokens are then unknown,
	// never guessed from the number of chunks.
	Usage *Usage
	// Content is the answer's text where the request asked to keep it;
	// ContentLength is its length in bytes in any case.
	Content       []byte
	ContentLength int
	// ToolCalls are the answer's tool calls where the request asked to keep it.
	ToolCalls []ToolCall
	// Clock is what Arrivals were read from. Under KernelClock, Lag is the
	// longest that a payload event lay in the kernel before it was read, and
	// Blurred counts payload events whose stamp may be late because a later
	// segment came in the same read: by Blur at the most.
	Clock   Clock
	Lag     time.Duration
	Blurred int
	Blur    time.Duration
	// Phases are how long the parts of sending took.
	Phases Phases
	// Resends counts how often the request was sent again on a fresh
	// connection because a reused one was closed before its first byte.
	Resends int

	usage Usage
}

// Reset empties the reply for reuse and keeps its buffers.
func (r *Reply) Reset() {
	*r = Reply{Arrivals: r.Arrivals[:0], Content: r.Content[:0], ToolCalls: r.ToolCalls[:0], Answer: -1}
}

// SetUsage stores u without allocating.
func (r *Reply) SetUsage(u Usage) {
	r.usage = u
	r.Usage = &r.usage
}
