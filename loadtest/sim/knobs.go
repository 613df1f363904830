package sim

import (
	"fmt"
	"math"
	"time"
)

// Knob describes one field of a Config to a command line.
type Knob struct {
	// Field is the field's name and Flag the flag it goes by.
	Field, Flag string
	// Help is one line for the flag.
	Help string
	// Value points at the field: *string, *bool, *uint64, *int, *float64 or
	// *time.Duration. Its present value is the flag's default.
	Value any

	min, max float64 // the range of a number, a duration's in seconds
}

const day = 86400.0 // seconds

// Knobs lists every field of c in the order of the type, with pointers into c.
func (c *Config) Knobs() []Knob {
	return []Knob{
		{"Model", "model", "name of the model served", &c.Model, 0, 0},
		{"Version", "engine-version", "engine version that /version tells", &c.Version, 0, 0},
		{"Flags", "engine-flags", "start-up flags that /server_info tells", &c.Flags, 0, 0},
		{"APIKey", "api-key", "bearer token that /v1 asks for; empty asks for none", &c.APIKey, 0, 0},
		{"Seed", "seed", "makes noise, answers, accepted drafts and injected errors repeatable", &c.Seed, 0, math.MaxUint64},
		{"SendTimes", "send-times", "comment in every event of a stream with its send time: \": sent \" and nanoseconds since 1970", &c.SendTimes, 0, 0},
		{"StartupTime", "startup-time", "how long /health and /v1 answer 503 after the start", &c.StartupTime, 0, day},

		{"StepBase", "step-base", "part of a step's time that does not depend on the batch", &c.StepBase, 1e-6, 3600},
		{"StepPerSequence", "step-per-sequence", "step time that each decoding sequence adds", &c.StepPerSequence, 0, 3600},
		{"StepPerPrefillToken", "step-per-prefill-token", "step time that each prompt token computed adds", &c.StepPerPrefillToken, 0, 3600},
		{"StepFactor", "step-factor", "multiplies every step's time; 1.2 is an engine 20 % slower", &c.StepFactor, 1e-3, 1e6},
		{"StepNoise", "step-noise", "sigma of the lognormal noise on a step's time", &c.StepNoise, 0, 1},
		{"StallEvery", "stall-every", "time of work between two stalls, ±50 %; 0 for none", &c.StallEvery, 0, day},
		{"StallFor", "stall-for", "how long a stall holds up the whole batch", &c.StallFor, 0, day},

		{"PrefillBudget", "prefill-budget", "most prompt tokens computed in one step", &c.PrefillBudget, 1, 1 << 30},
		{"MaxRunning", "max-running", "most sequences in the batch", &c.MaxRunning, 1, 1 << 20},
		{"KVBlocks", "kv-blocks", "size of the KV pool in blocks", &c.KVBlocks, 1, 1 << 24},
		{"BlockSize", "block-size", "tokens in a KV block", &c.BlockSize, 1, 1 << 16},
		{"PrefixCache", "prefix-cache", "keep computed blocks for prompts that begin alike", &c.PrefixCache, 0, 0},
		{"ContextLength", "context-length", "most tokens of prompt and answer together", &c.ContextLength, 2, 1 << 30},
		{"AnswerTokens", "answer-tokens", "length of an answer whose request names no max_tokens", &c.AnswerTokens, 1, 1 << 30},

		{"SpecTokens", "spec-tokens", "draft length of speculative decoding; 0 turns it off", &c.SpecTokens, 0, 16},
		{"SpecAcceptance", "spec-acceptance", "share of drafted tokens that is accepted, 0 to 1", &c.SpecAcceptance, 0, 1},

		{"ErrorRate", "error-rate", "share of requests answered at once with the error status, 0 to 1", &c.ErrorRate, 0, 1},
		{"ErrorStatus", "error-status", "HTTP status of injected errors", &c.ErrorStatus, 400, 599},
		{"StreamErrorRate", "stream-error-rate", "share of requests that break off with an error halfway through the answer, 0 to 1", &c.StreamErrorRate, 0, 1},
		{"CrashAfter", "crash-after", "reset every connection once so many requests were accepted; 0 never crashes", &c.CrashAfter, 0, 1 << 40},

		{"GPU", "gpu", "device name in the DCGM gauges", &c.GPU, 0, 0},
		{"GPUs", "gpus", "number of devices in the DCGM gauges", &c.GPUs, 1, 64},
		{"GPUMemoryMiB", "gpu-memory-mib", "memory of one device in MiB", &c.GPUMemoryMiB, 1, 1e9},
		{"GPUMemoryUsedMiB", "gpu-memory-used-mib", "mean memory in use on one device in MiB", &c.GPUMemoryUsedMiB, 0, c.GPUMemoryMiB},
		{"GPUMemoryJitterMiB", "gpu-memory-jitter-mib", "how far the memory in use strays either way in MiB", &c.GPUMemoryJitterMiB, 0, c.GPUMemoryMiB},
	}
}

// check tells whether the value lies in its range; text and switches always do.
func (k Knob) check() error {
	var v float64
	low, high, unit := k.min, k.max, ""
	switch p := k.Value.(type) {
	case *int:
		v = float64(*p)
	case *uint64:
		v = float64(*p)
	case *float64:
		v = *p
	case *time.Duration:
		v, unit = p.Seconds(), " s"
	default:
		return nil
	}
	if math.IsNaN(v) || v < low || v > high {
		return fmt.Errorf("%s is %v%s: want %v to %v%s", k.Field, v, unit, low, high, unit)
	}
	return nil
}
