package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody bounds a request's body in bytes.
const maxBody = 64 << 20

// imageTokens is what one image or other non-text part of a message takes.
const imageTokens = 256

// apiRequest is the part of a chat or completions request that matters here;
// sampling parameters are accepted and ignored.
type apiRequest struct {
	Model               string          `json:"model"`
	Messages            []chatMessage   `json:"messages"`
	Prompt              json.RawMessage `json:"prompt"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	N                   *int            `json:"n"`
	Stream              bool            `json:"stream"`
	StreamOptions       *struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

type chatMessage struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
}

// refusal is an error that the client gets with its status.
type refusal struct {
	status int
	text   string
}

func (r *refusal) Error() string { return r.text }

func refuse(format string, args ...any) *refusal {
	return &refusal{status: http.StatusBadRequest, text: fmt.Sprintf(format, args...)}
}

// readRequest decodes the body and checks what both endpoints have in common.
func (e *Engine) readRequest(body io.Reader) (*apiRequest, *refusal) {
	data, err := io.ReadAll(io.LimitReader(body, maxBody+1))
	if err != nil {
		return nil, refuse("Could not read the body: %v", err)
	}
	if len(data) > maxBody {
		return nil, &refusal{status: http.StatusRequestEntityTooLarge, text: fmt.Sprintf("The body exceeds %d bytes", maxBody)}
	}
	req := new(apiRequest)
	if err := json.Unmarshal(data, req); err != nil {
		return nil, refuse("Invalid JSON body: %v", err)
	}
	if req.Model != e.cfg.Model && req.Model != "" {
		return nil, &refusal{status: http.StatusNotFound, text: fmt.Sprintf("The model `%s` does not exist.", req.Model)}
	}
	if req.N != nil && *req.N != 1 {
		return nil, refuse("n must be 1, got %d.", *req.N)
	}
	if req.StreamOptions != nil && !req.Stream {
		return nil, refuse("Stream options can only be defined when `stream=True`.")
	}
	return req, nil
}

// limit is how many tokens to generate and whether the answer ends by itself
// before any limit of the request.
func (r *apiRequest) limit(cfg Config, promptTokens int) (tokens int, stop bool, err *refusal) {
	asked := r.MaxCompletionTokens
	if asked == nil {
		asked = r.MaxTokens
	}
	room := cfg.maxContext() - promptTokens
	if asked == nil {
		tokens, stop = max(cfg.AnswerTokens, r.MinTokens), true
		if tokens > room && room > 0 {
			return room, false, nil
		}
	} else {
		tokens = *asked
	}
	switch {
	case tokens < 1:
		return 0, false, refuse("max_tokens must be at least 1, got %d.", tokens)
	case r.MinTokens > tokens:
		return 0, false, refuse("min_tokens must be less than or equal to max_tokens=%d, got %d.", tokens, r.MinTokens)
	case tokens > room:
		return 0, false, refuse("This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
			cfg.maxContext(), promptTokens+tokens, promptTokens, tokens)
	}
	return tokens, stop, nil
}

// chatPrompt lays the messages out by a fixed template: <|role|> words <|end|>,
// and <|assistant|> for the answer to follow. An answer that comes back as an
// assistant message so continues the tokens it was generated after. Past limit
// tokens it reads no further: the request is refused for its length anyway.
func chatPrompt(messages []chatMessage, limit int) ([]token, *refusal) {
	if len(messages) == 0 {
		return nil, refuse("messages: at least one message is required")
	}
	var prompt []token
	for i, m := range messages {
		if m.Role == "" {
			return nil, refuse("messages[%d]: role is required", i)
		}
		prompt = append(prompt, tokenOf("<|"+m.Role+"|>"))
		var err error
		if prompt, err = appendContent(prompt, m.Content, limit); err != nil {
			return nil, refuse("messages[%d]: %v", i, err)
		}
		prompt = append(prompt, tokenOf("<|end|>"))
		if len(prompt) > limit {
			break
		}
	}
	return append(prompt, tokenOf("<|assistant|>")), nil
}

// appendContent reads a message's content: null, text, or a list of parts, of
// which none is read past limit tokens.
func appendContent(prompt []token, content json.RawMessage, limit int) ([]token, error) {
	content = bytes.TrimSpace(content)
	if len(content) == 0 || bytes.Equal(content, []byte("null")) {
		return prompt, nil
	}
	if content[0] == '"' {
		var text string
		if err := json.Unmarshal(content, &text); err != nil {
			return nil, err
		}
		return appendTokens(prompt, text), nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(content, &parts); err != nil {
		return nil, errors.New("content must be text or a list of parts")
	}
	for _, raw := range parts {
		if len(prompt) > limit {
			break
		}
		var part struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if err := json.Unmarshal(raw, &part); err != nil {
			return nil, fmt.Errorf("content part: %w", err)
		}
		if part.Type == "text" {
			prompt = appendTokens(prompt, part.Text)
			continue
		}
		image := tokenOf(string(raw))
		for i := range imageTokens {
			prompt = append(prompt, token(mix(uint64(image), uint64(i))))
		}
	}
	return prompt, nil
}

// plainPrompt reads the prompt of a completions request: text, a list of one
// text, or a list of token numbers.
func plainPrompt(raw json.RawMessage) ([]token, *refusal) {
	var text string
	var texts []string
	var numbers []uint32
	var prompt []token
	switch {
	case len(raw) == 0 || bytes.Equal(raw, []byte("null")):
		return nil, refuse("prompt: field required")
	case json.Unmarshal(raw, &text) == nil:
		prompt = appendTokens(nil, text)
	case json.Unmarshal(raw, &texts) == nil:
		if len(texts) != 1 {
			return nil, refuse("prompt: want one text, got %d", len(texts))
		}
		prompt = appendTokens(nil, texts[0])
	case json.Unmarshal(raw, &numbers) == nil:
		for _, n := range numbers {
			prompt = append(prompt, token(n))
		}
	default:
		return nil, refuse("prompt: want a text or a list of token numbers")
	}
	if len(prompt) == 0 {
		return nil, refuse("prompt: must not be empty")
	}
	return prompt, nil
}
