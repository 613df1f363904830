package loadtest

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
)

// Workload turns a Spec's prompts into scenarios, one a segment. It is safe
// for concurrent use once made.
type Workload struct {
	spec    Spec
	lines   []promptLine // of a file; nil for synthetic prompts
	content string       // hash over the file's bytes
}

// NewWorkload reads the prompt file, where there is one. Its errors name the
// file and the line.
func NewWorkload(spec Spec) (*Workload, error) {
	w := &Workload{spec: spec}
	if spec.Prompts.File == "" {
		return w, nil
	}
	data, err := os.ReadFile(spec.Prompts.File)
	if err != nil {
		return nil, fmt.Errorf("read prompts: %w", err)
	}
	w.lines, err = parsePrompts(spec.Prompts.File, data)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(data)
	w.content = hex.EncodeToString(sum[:])
	return w, nil
}

// Lines is how many prompts the file holds; 0 for synthetic prompts.
func (w *Workload) Lines() int { return len(w.lines) }

// Hash identifies everything that shapes the load: the spec's canonical JSON
// with the prompt file's content in place of its path. Seed, nonce and the
// number of rounds are not part of it: more rounds repeat the same load. 16 hex
// digits.
func (w *Workload) Hash() string {
	spec := w.spec
	spec.Rounds = 0
	if w.content != "" {
		spec.Prompts.File = "sha256:" + w.content
	}
	data, err := json.Marshal(spec)
	if err != nil {
		panic(fmt.Sprintf("marshal a spec of plain fields: %v", err))
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:8])
}

// Scenario returns the prompts of one segment. The nonce is new in every run,
// and round and stage make it new in every segment; both arms of a round get
// the same prompts.
func (w *Workload) Scenario(seg Segment, seed uint64, nonce string) Scenario {
	lead := fmt.Sprintf("%s/%s/%d", nonce, seg.Stage, seg.Round)
	if w.lines != nil {
		return newReplay(w.lines, w.spec.Prompts, lead)
	}
	return newSynthetic(w.spec.Prompts, seg.Seed(seed), lead)
}

// promptLine is one line of a prompt file: an OpenAI request body, of which
// only messages is required.
type promptLine struct {
	messages  []Message
	maxTokens int
	extra     map[string]json.RawMessage
}

// maxPromptLine bounds a line of a prompt file: room for a long document or a
// few images as data URIs.
const maxPromptLine = 64 << 20

func parsePrompts(name string, data []byte) ([]promptLine, error) {
	var lines []promptLine
	scanner := bufio.NewScanner(bytes.NewReader(data))
	scanner.Buffer(make([]byte, 0, 64<<10), maxPromptLine)
	for n := 1; scanner.Scan(); n++ {
		raw := bytes.TrimSpace(scanner.Bytes())
		if len(raw) == 0 {
			continue
		}
		line, err := parsePrompt(raw)
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", name, n, err)
		}
		lines = append(lines, line)
	}
	if err := scanner.Err(); err != nil {
		return nil, fmt.Errorf("%s:%d: %w", name, len(lines)+1, err)
	}
	if len(lines) == 0 {
		return nil, fmt.Errorf("%s holds no prompts: want one {\"messages\": [...]} a line", name)
	}
	return lines, nil
}

// reserved are members of a request that the generator sets itself.
var reserved = []string{"messages", "max_tokens", "max_completion_tokens", "stream", "stream_options", "model"}

func parsePrompt(raw []byte) (promptLine, error) {
	var line promptLine
	dec := json.NewDecoder(bytes.NewReader(raw))
	members := map[string]json.RawMessage{}
	if err := dec.Decode(&members); err != nil {
		return line, fmt.Errorf("want a JSON object with \"messages\": %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return line, errors.New("more than one JSON value on the line")
	}
	var messages []json.RawMessage
	if err := json.Unmarshal(members["messages"], &messages); err != nil || len(messages) == 0 {
		return line, errors.New("\"messages\": want a list of at least one message")
	}
	for i, m := range messages {
		var plain struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		}
		if err := json.Unmarshal(m, &plain); err != nil || plain.Role == "" {
			return line, fmt.Errorf("\"messages\"[%d]: want an object with a \"role\"", i)
		}
		message := Message{Role: plain.Role, Raw: bytes.Clone(m)}
		if bytes.HasPrefix(plain.Content, []byte{'"'}) && onlyRoleAndContent(m) {
			if err := json.Unmarshal(plain.Content, &message.Content); err != nil {
				return line, fmt.Errorf("\"messages\"[%d].content: %w", i, err)
			}
			message.Raw = nil
		}
		line.messages = append(line.messages, message)
	}
	for _, key := range []string{"max_tokens", "max_completion_tokens"} {
		if v, ok := members[key]; ok && string(v) != "null" {
			if err := json.Unmarshal(v, &line.maxTokens); err != nil || line.maxTokens < 1 {
				return line, fmt.Errorf("%q: want a whole number of at least 1", key)
			}
		}
	}
	for _, key := range reserved {
		delete(members, key)
	}
	line.extra = members
	return line, nil
}

func onlyRoleAndContent(message json.RawMessage) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal(message, &members) == nil && len(members) == 2
}

// replay sends a file's prompts in an order drawn anew for every pass.
type replay struct {
	lines     []promptLine
	maxTokens int
	nonce     string
	order     []int
}

func newReplay(lines []promptLine, spec Prompts, lead string) *replay {
	var words bytes.Buffer
	rng := newRand(hash64(lead), "nonce")
	for range NonceTokens {
		words.WriteString(vocabulary[rng.IntN(len(vocabulary))])
		words.WriteByte(' ')
	}
	return &replay{lines: lines, maxTokens: spec.OutputMean, nonce: words.String()}
}

func (r *replay) Session(rng *rand.Rand) Session {
	if len(r.order) == 0 {
		r.order = rng.Perm(len(r.lines))
	}
	line := r.lines[r.order[0]]
	r.order = r.order[1:]
	req := &Request{Scenario: "prompts", Messages: line.messages, MaxTokens: line.maxTokens, Extra: line.extra}
	if req.MaxTokens == 0 {
		req.MaxTokens = r.maxTokens
	}
	// The nonce opens the first message, equal for all prompts of the round, so
	// that what they share stays shared. A message that is not plain text is
	// left as it is.
	if first := line.messages[0]; first.Raw == nil {
		req.Messages = append([]Message{{Role: first.Role, Content: r.nonce + first.Content}}, line.messages[1:]...)
	}
	return &once{req}
}
