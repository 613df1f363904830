package openai

// chunk is what one event of the stream says, as far as it matters here.
type chunk struct {
	// choices is how many choices the event holds; known is set where it is
	// recognisably of the protocol (choices or usage were there).
	choices int
	known   bool

	// content is the answer's text (delta.content, or text of the completions
	// API), decoded; valid until the next event.
	content []byte
	// answer: a content that is not empty; thought: reasoning or
	// reasoning_content; tools: a tool_calls list that is not empty.
	answer, thought, tools bool

	// finish is finish_reason, empty where null or absent.
	finish []byte

	// usage is set where the event holds a usage object with both counts.
	// cached is prompt_tokens_details.cached_tokens, -1 where absent.
	usage                      bool
	prompt, completion, cached int
	// cacheN is llama.cpp's timings.cache_n, -1 where absent.
	cacheN int
	// logprobs is the number of tokens that the event gives log
	// probabilities for.
	logprobs int

	// failed is set where the event is an error object; message holds its text.
	failed  bool
	message string
}

// payload reports whether the event carries generated tokens: content,
// reasoning or tool calls. Role-only, null and empty deltas do not.
func (c *chunk) payload() bool { return c.answer || c.thought || c.tools }

// reset empties c and keeps its buffers.
func (c *chunk) reset() {
	*c = chunk{content: c.content[:0], finish: c.finish[:0], cached: -1, cacheN: -1}
}
