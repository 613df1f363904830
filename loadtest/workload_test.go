package loadtest

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func draw(t *testing.T, w *Workload, seg Segment, nonce string, n int) []string {
	t.Helper()
	scenario := w.Scenario(seg, 1, nonce)
	rng := newRand(seg.Seed(1), "prompts")
	var out []string
	for range n {
		req, ok := scenario.Session(rng).Next(nil)
		if !ok {
			t.Fatal("a session without a request")
		}
		data, err := json.Marshal(req.Messages)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

func words(s string) []string {
	var m []Message
	if err := json.Unmarshal([]byte(s), &m); err != nil {
		panic(err)
	}
	return strings.Fields(m[0].Content)
}

func TestSyntheticPrompts(t *testing.T) {
	spec := DefaultSpec()
	spec.Prompts = Prompts{InputMean: 100, InputSD: 10, SharedPrefix: 40, Groups: 4, OutputMean: 20}
	w, err := NewWorkload(spec)
	if err != nil {
		t.Fatal(err)
	}
	seg := Segment{Stage: SteadyStage, Round: 1}
	prompts := draw(t, w, seg, "aa", 400)
	prefixes := map[string]int{}
	total := 0
	for _, p := range prompts {
		ws := words(p)
		prefixes[strings.Join(ws[:40], " ")]++
		total += len(ws)
		if len(ws) < 70 || len(ws) > 130 {
			t.Fatalf("a prompt of %d tokens, want 100 ± 3 deviations of 10", len(ws))
		}
	}
	if len(prefixes) != 4 {
		t.Errorf("%d prefixes, want 4 groups", len(prefixes))
	}
	if mean := float64(total) / 400; mean < 98 || mean > 102 {
		t.Errorf("mean length %.1f, want 100", mean)
	}
	again := draw(t, w, seg, "aa", 400)
	for i := range prompts {
		if prompts[i] != again[i] {
			t.Fatal("the same seed and nonce give other prompts")
		}
	}
	other := draw(t, w, seg, "bb", 400)
	for i := range prompts {
		a, b := words(prompts[i]), words(other[i])
		if strings.Join(a[:NonceTokens], " ") == strings.Join(b[:NonceTokens], " ") {
			t.Fatal("another nonce opens the prompt alike")
		}
		if strings.Join(a[NonceTokens:], " ") != strings.Join(b[NonceTokens:], " ") {
			t.Fatal("another nonce changes more than the nonce")
		}
	}
	if words(draw(t, w, Segment{Stage: SteadyStage, Round: 2}, "aa", 1)[0])[0] == "" {
		t.Fatal("empty")
	}
	arm := seg
	arm.Arm = "candidate"
	if draw(t, w, arm, "aa", 1)[0] != prompts[0] {
		t.Error("the arms of one round get different prompts")
	}
}

func TestUnsharedPromptsOpenDifferently(t *testing.T) {
	spec := DefaultSpec()
	spec.Prompts = Prompts{InputMean: 30, OutputMean: 20}
	w, err := NewWorkload(spec)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, p := range draw(t, w, Segment{Stage: SteadyStage, Round: 1}, "aa", 200) {
		ws := words(p)
		if len(ws) != 30 {
			t.Fatalf("%d tokens, want 30", len(ws))
		}
		seen[strings.Join(ws[:NonceTokens], " ")] = true
	}
	if len(seen) != 200 {
		t.Errorf("%d different openings of 200 prompts", len(seen))
	}
}

func TestPromptFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "prompts.jsonl")
	lines := `{"messages":[{"role":"system","content":"be brief"},{"role":"user","content":"one"}],"max_tokens":7,"temperature":0}

{"messages":[{"role":"user","content":[{"type":"text","text":"two"}]}],"model":"other"}
`
	if err := os.WriteFile(path, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	spec := DefaultSpec()
	spec.Prompts = Prompts{File: path, OutputMean: 50}
	w, err := NewWorkload(spec)
	if err != nil {
		t.Fatal(err)
	}
	scenario := w.Scenario(Segment{Stage: SteadyStage, Round: 1}, 1, "aa")
	rng := newRand(1, "prompts")
	seen := map[int]int{}
	for range 6 {
		req, _ := scenario.Session(rng).Next(nil)
		seen[req.MaxTokens]++
		switch req.MaxTokens {
		case 7:
			if len(req.Messages) != 2 || !strings.HasSuffix(req.Messages[0].Content, " be brief") || len(strings.Fields(req.Messages[0].Content)) != NonceTokens+2 {
				t.Errorf("messages %+v: want the nonce before the first", req.Messages)
			}
			if string(req.Extra["temperature"]) != "0" {
				t.Errorf("extra %v", req.Extra)
			}
		case 50:
			if req.Messages[0].Raw == nil || req.Extra["model"] != nil {
				t.Errorf("messages %+v extra %v: want parts kept as they are, the model left to the target", req.Messages, req.Extra)
			}
		default:
			t.Errorf("max tokens %d", req.MaxTokens)
		}
	}
	if seen[7] != 3 || seen[50] != 3 {
		t.Errorf("lines drawn %v, want each once a pass", seen)
	}
	hash := w.Hash()
	moved := filepath.Join(t.TempDir(), "elsewhere.jsonl")
	if err := os.WriteFile(moved, []byte(lines), 0o600); err != nil {
		t.Fatal(err)
	}
	spec.Prompts.File = moved
	if w, err = NewWorkload(spec); err != nil || w.Hash() != hash {
		t.Errorf("the same content elsewhere hashes to %s, want %s (%v)", w.Hash(), hash, err)
	}
}

func TestPromptFileErrors(t *testing.T) {
	for text, want := range map[string]string{
		"":                                  "holds no prompts",
		"{}\n":                              `p.jsonl:1: "messages"`,
		"{\"messages\":[]}":                 `p.jsonl:1: "messages"`,
		"\n\nnot json":                      "p.jsonl:3: want a JSON object",
		`{"messages":[{"content":"x"}]}`:    `"messages"[0]`,
		`{"messages":[{"role":"user"}]} {}`: "more than one JSON value",
		`{"messages":[{"role":"u"}],"max_tokens":"x"}`: `"max_tokens"`,
	} {
		_, err := parsePrompts("p.jsonl", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v, want %q", text, err, want)
		}
	}
}

func TestHashCoversTheLoad(t *testing.T) {
	hash := func(change func(*Spec)) string {
		spec := DefaultSpec()
		change(&spec)
		w, err := NewWorkload(spec)
		if err != nil {
			t.Fatal(err)
		}
		return w.Hash()
	}
	base := hash(func(*Spec) {})
	for name, change := range map[string]func(*Spec){
		"rounds":     func(s *Spec) { s.Rounds = 8 },
		"budget":     func(s *Spec) { s.Budget = 1 },
		"late limit": func(s *Spec) { s.LateLimit = 1 },
	} {
		if hash(change) != base {
			t.Errorf("%s changes the workload hash", name)
		}
	}
	for name, change := range map[string]func(*Spec){
		"rate":   func(s *Spec) { s.Arrivals.RatePerS = 5 },
		"input":  func(s *Spec) { s.Prompts.InputMean++ },
		"groups": func(s *Spec) { s.Prompts.Groups++ },
		"length": func(s *Spec) { s.Length++ },
	} {
		if hash(change) == base {
			t.Errorf("%s does not change the workload hash", name)
		}
	}
}

func FuzzPrompts(f *testing.F) {
	f.Add([]byte(`{"messages":[{"role":"user","content":"hi"}],"max_tokens":3}`))
	f.Add([]byte("{}\n[]\nnull"))
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := parsePrompts("p.jsonl", data)
		if err == nil && len(lines) == 0 {
			t.Error("neither prompts nor an error")
		}
		for _, line := range lines {
			if _, err := json.Marshal(line.messages); err != nil {
				t.Errorf("messages that cannot be sent: %v", err)
			}
		}
	})
}
