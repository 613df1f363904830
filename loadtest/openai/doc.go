// Package openai drives servers that speak OpenAI's HTTP API: it sends a
// request, reads the answer's event stream and fills a loadtest.Reply with the
// arrival time of every event.
//
// The layers, from the wire up:
//
//	sse.go       bytes → events, by WHATWG's rules, each read stamped at once
//	scan.go      event → chunk, the quick way for the events that make up a stream
//	decode.go    event → chunk, the full way; decides wherever scan is not certain
//	stream.go    chunks → Reply: payload, usage, finish reason, outcome
//	request.go   loadtest.Request → body, and what this server refused in one
//	client.go    options and transport
//	do.go        one request: send, send again where a reused connection was closed
//	failure.go   transport errors and HTTP statuses → outcome and words
//	preflight.go readiness, the model, what the engine tells of itself
package openai
