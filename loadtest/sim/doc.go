// Package sim is a simulated LLM engine: an http.Handler that speaks the
// OpenAI-compatible API, vLLM's metrics page and the DCGM exporter's gauges,
// for demos, tests and calibration where no GPU is at hand.
//
// It answers with words from a fixed vocabulary, but its timing is not a table
// of latencies: a scheduler batches requests continuously, computes prompts in
// chunks within a budget, keeps KV blocks in a pool with an LRU prefix cache,
// preempts the newest request when the pool is full and drafts tokens
// speculatively. Queueing, saturation, cache hits and preemptions follow from
// that and from the load. Every knob of Config is one way to make it worse.
//
// Nothing but the command line and tests imports this package; everything else
// reaches it over HTTP, as it would a real server.
package sim
