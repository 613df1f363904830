package sim

import (
	"errors"
	"fmt"
	"net/http"
	"time"
)

// Config holds every knob of an Engine. It is flat and of basic types; Knobs
// lists the fields for a command line to bind a flag to each. Start from
// DefaultConfig: the zero Config is refused.
type Config struct {
	// Model is the only model served and the model_name label of every metric.
	Model string
	// Version is the engine version that /version tells.
	Version string
	// Flags are the engine's start-up flags that /server_info tells.
	Flags string
	// APIKey is the key that /v1 asks for as a bearer token; empty asks for none.
	APIKey string
	// Seed makes noise, answers, accepted drafts and injected errors repeatable.
	Seed uint64
	// SendTimes puts a comment into every event of a stream that says when it
	// left: ": sent " and nanoseconds since 1970, in the event's own write. It is
	// the truth that a client's measurement can be held against.
	SendTimes bool
	// StartupTime is how long /health and /v1 answer 503 after the start (≥ 0).
	StartupTime time.Duration

	// StepBase is the part of a step's time that does not depend on the batch (> 0).
	StepBase time.Duration
	// StepPerSequence is the step time that each decoding sequence adds (≥ 0).
	StepPerSequence time.Duration
	// StepPerPrefillToken is the step time that each prompt token computed adds (≥ 0).
	StepPerPrefillToken time.Duration
	// StepFactor multiplies every step's time; 1.2 is an engine 20 % slower (> 0).
	StepFactor float64
	// StepNoise is the sigma of the lognormal noise on a step's time, of mean 1 (0–1).
	StepNoise float64
	// StallEvery is how much time of work lies between two stalls, ±50 %; 0 for none.
	StallEvery time.Duration
	// StallFor is how long a stall holds up the whole batch (≥ 0).
	StallFor time.Duration

	// PrefillBudget is the most prompt tokens computed in one step (≥ 1).
	PrefillBudget int
	// MaxRunning is the most sequences in the batch (≥ 1).
	MaxRunning int
	// KVBlocks is the size of the KV pool in blocks (≥ 1).
	KVBlocks int
	// BlockSize is the number of tokens in a KV block (≥ 1).
	BlockSize int
	// PrefixCache keeps computed blocks for prompts that begin alike.
	PrefixCache bool
	// ContextLength is the most tokens of prompt and answer together (≥ 2); a smaller KV pool lowers it.
	ContextLength int
	// AnswerTokens is the length of an answer whose request names no max_tokens (≥ 1).
	AnswerTokens int

	// SpecTokens is the draft length of speculative decoding; 0 turns it off (0–16).
	SpecTokens int
	// SpecAcceptance is the share of drafted tokens that is accepted (0–1).
	SpecAcceptance float64

	// ErrorRate is the share of requests answered at once with ErrorStatus (0–1).
	ErrorRate float64
	// ErrorStatus is the HTTP status of injected errors (400–599).
	ErrorStatus int
	// StreamErrorRate is the share of requests that break off with an error halfway through the answer (0–1).
	StreamErrorRate float64
	// CrashAfter resets every connection once so many requests were accepted, and all later ones; 0 never crashes.
	CrashAfter int

	// GPU is the modelName label of the DCGM gauges.
	GPU string
	// GPUs is how many devices the DCGM gauges show (1–64).
	GPUs int
	// GPUMemoryMiB is the memory of one device in MiB (> 0).
	GPUMemoryMiB float64
	// GPUMemoryUsedMiB is the mean memory in use on one device in MiB (0–GPUMemoryMiB).
	GPUMemoryUsedMiB float64
	// GPUMemoryJitterMiB is how far the memory in use strays either way in MiB (≥ 0).
	GPUMemoryJitterMiB float64
}

// DefaultConfig is a healthy engine of one GPU, in steps of 8 ms and more. It
// saturates at about 45 requests/s of 512 prompt and 128 output tokens, and at
// about 60 where half of each prompt is in the prefix cache.
func DefaultConfig() Config {
	return Config{
		Model:               "sim/model",
		Version:             "0.11.0",
		Flags:               "--enable-prefix-caching",
		Seed:                1,
		StepBase:            8 * time.Millisecond,
		StepPerSequence:     50 * time.Microsecond,
		StepPerPrefillToken: 20 * time.Microsecond,
		StepFactor:          1,
		StepNoise:           0.03,
		PrefillBudget:       2048,
		MaxRunning:          256,
		KVBlocks:            8192,
		BlockSize:           16,
		PrefixCache:         true,
		ContextLength:       8192,
		AnswerTokens:        128,
		SpecAcceptance:      0.7,
		ErrorStatus:         http.StatusInternalServerError,
		GPU:                 "NVIDIA H100 80GB HBM3",
		GPUs:                1,
		GPUMemoryMiB:        81559,
		GPUMemoryUsedMiB:    73400,
	}
}

// maxContext is the most tokens one request may take: the context length, or
// the whole pool where that is smaller.
func (c Config) maxContext() int {
	if pool := int64(c.KVBlocks) * int64(c.BlockSize); pool < int64(c.ContextLength) {
		return int(pool)
	}
	return c.ContextLength
}

// check names the first field that is out of its range.
func (c Config) check() error {
	for _, knob := range c.Knobs() {
		if err := knob.check(); err != nil {
			return fmt.Errorf("configure simulated engine: %w", err)
		}
	}
	if c.Model == "" {
		return errors.New("configure simulated engine: Model is empty: name the model to serve")
	}
	if c.maxContext() < 2 {
		return errors.New("configure simulated engine: KVBlocks is 1 and BlockSize is 1: want room for at least 2 tokens")
	}
	return nil
}
