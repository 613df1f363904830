// Package loadtest is what llm-gate did to a server and what it saw: the plan
// of segments, the schedule of arrivals, the prompts, the runner, the recorder
// and the versioned Result that everything downstream reads.
//
// The package imports nothing else of this module. Protocols (openai), server
// metrics (telemetry) and the simulated engine (sim) plug in through the small
// interfaces declared here.
package loadtest
