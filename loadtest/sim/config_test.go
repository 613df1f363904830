package sim

import (
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestConfigRange(t *testing.T) {
	if err := DefaultConfig().check(); err != nil {
		t.Fatal(err)
	}
	tests := map[string]func(*Config){
		"Model":               func(c *Config) { c.Model = "" },
		"StartupTime":         func(c *Config) { c.StartupTime = -1 },
		"StepBase":            func(c *Config) { c.StepBase = 0 },
		"StepPerSequence":     func(c *Config) { c.StepPerSequence = -time.Second },
		"StepPerPrefillToken": func(c *Config) { c.StepPerPrefillToken = -time.Second },
		"StepFactor":          func(c *Config) { c.StepFactor = 0 },
		"StepNoise":           func(c *Config) { c.StepNoise = math.NaN() },
		"StallEvery":          func(c *Config) { c.StallEvery = -1 },
		"StallFor":            func(c *Config) { c.StallFor = -1 },
		"PrefillBudget":       func(c *Config) { c.PrefillBudget = 0 },
		"MaxRunning":          func(c *Config) { c.MaxRunning = 0 },
		"KVBlocks":            func(c *Config) { c.KVBlocks = 0 },
		"BlockSize":           func(c *Config) { c.BlockSize = -16 },
		"ContextLength":       func(c *Config) { c.ContextLength = 1 },
		"AnswerTokens":        func(c *Config) { c.AnswerTokens = 0 },
		"SpecTokens":          func(c *Config) { c.SpecTokens = 17 },
		"SpecAcceptance":      func(c *Config) { c.SpecAcceptance = 1.1 },
		"ErrorRate":           func(c *Config) { c.ErrorRate = -0.1 },
		"ErrorStatus":         func(c *Config) { c.ErrorStatus = 200 },
		"StreamErrorRate":     func(c *Config) { c.StreamErrorRate = math.Inf(1) },
		"CrashAfter":          func(c *Config) { c.CrashAfter = -1 },
		"GPUs":                func(c *Config) { c.GPUs = 0 },
		"GPUMemoryMiB":        func(c *Config) { c.GPUMemoryMiB = 0 },
		"GPUMemoryUsedMiB":    func(c *Config) { c.GPUMemoryUsedMiB = 1e6 },
		"GPUMemoryJitterMiB":  func(c *Config) { c.GPUMemoryJitterMiB = -1 },
	}
	for field, change := range tests {
		cfg := DefaultConfig()
		change(&cfg)
		e, err := New(cfg)
		if err == nil {
			_ = e.Close()
			t.Errorf("%s out of range was accepted", field)
		} else if !strings.Contains(err.Error(), field+" ") {
			t.Errorf("%s out of range: %q does not name it", field, err)
		}
	}
}

func TestKnobsCoverConfig(t *testing.T) {
	cfg := DefaultConfig()
	fields := reflect.ValueOf(&cfg).Elem()
	knobs := cfg.Knobs()
	if len(knobs) != fields.NumField() {
		t.Fatalf("%d knobs for %d fields", len(knobs), fields.NumField())
	}
	flags := make(map[string]bool)
	for i, knob := range knobs {
		if want := fields.Type().Field(i).Name; knob.Field != want {
			t.Errorf("knob %d is %s, want %s", i, knob.Field, want)
		}
		if knob.Value != fields.Field(i).Addr().Interface() {
			t.Errorf("the knob of %s points elsewhere", knob.Field)
		}
		if flags[knob.Flag] || knob.Flag == "" || knob.Help == "" {
			t.Errorf("%s: flag %q, help %q", knob.Field, knob.Flag, knob.Help)
		}
		flags[knob.Flag] = true
	}
}
