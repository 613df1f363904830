package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// The two APIs, as Options.API names them.
const (
	Chat        = "chat"
	Completions = "completions"
)

// wish is a member of the request that a server may refuse and that the
// request can do without.
type wish uint32

const (
	wishUsage     wish = 1 << iota // stream_options.include_usage
	wishIgnoreEOS                  // ignore_eos
	wishMinTokens                  // min_tokens
)

// wishes are all of them, with the name by which a refusal is recognised.
var wishes = []struct {
	wish wish
	name string
}{
	{wishUsage, "stream_options"},
	{wishUsage, "include_usage"},
	{wishIgnoreEOS, "ignore_eos"},
	{wishMinTokens, "min_tokens"},
}

// refusedIn tells which of the wishes that a request carried a refusal's text
// names.
func refusedIn(text string, carried wish) (named wish) {
	for _, w := range wishes {
		if carried&w.wish != 0 && strings.Contains(text, w.name) {
			named |= w.wish
		}
	}
	return named
}

// body writes the request object. Members of req.Extra win over what is made
// here, except for those that decide what is measured: model, stream, the
// messages or prompt, and stream_options.include_usage. The wishes in without
// are left out; carried are those the body holds.
func body(api, model string, req *loadtest.Request, without wish) (data []byte, carried wish, err error) {
	members := make(map[string]any, len(req.Extra)+7)
	if req.MaxTokens > 0 {
		members["max_tokens"] = req.MaxTokens
	}
	if req.ExactOutput {
		if without&wishIgnoreEOS == 0 {
			members["ignore_eos"] = true
			carried |= wishIgnoreEOS
		}
		if without&wishMinTokens == 0 && req.MaxTokens > 0 {
			members["min_tokens"] = req.MaxTokens
			carried |= wishMinTokens
		}
	}
	for name, raw := range req.Extra {
		members[name] = raw
	}
	members["model"] = model
	members["stream"] = true
	delete(members, "stream_options")
	if without&wishUsage == 0 {
		options := map[string]any{}
		if raw := req.Extra["stream_options"]; !null(raw) {
			extra, err := object(raw)
			if err != nil {
				return nil, 0, fmt.Errorf("encode request: stream_options: %w", err)
			}
			for name, raw := range extra {
				options[name] = raw
			}
		}
		options["include_usage"] = true
		members["stream_options"] = options
		carried |= wishUsage
	}
	switch api {
	case Chat:
		members["messages"] = req.Messages
		delete(members, "prompt")
	default:
		prompt, err := prompt(req.Messages)
		if err != nil {
			return nil, 0, fmt.Errorf("encode request: %w", err)
		}
		members["prompt"] = prompt
		delete(members, "messages")
	}
	data, err = json.Marshal(members)
	if err != nil {
		return nil, 0, fmt.Errorf("encode request: %w", err)
	}
	return data, carried, nil
}

// prompt joins the messages' texts by a newline for an API without messages.
func prompt(messages []loadtest.Message) (string, error) {
	texts := make([]string, len(messages))
	for i, m := range messages {
		texts[i] = m.Content
		if m.Raw == nil {
			continue
		}
		s, err := rawText(m.Raw)
		if err != nil {
			return "", fmt.Errorf("messages[%d]: %w", i, err)
		}
		texts[i] = s
	}
	return strings.Join(texts, "\n"), nil
}

func rawText(raw json.RawMessage) (string, error) {
	message, err := object(raw)
	if err != nil {
		return "", err
	}
	var s string
	if json.Unmarshal(message["content"], &s) == nil {
		return s, nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(message["content"], &parts); err != nil {
		return "", errors.New("content is neither text nor a list of parts")
	}
	var b strings.Builder
	for _, part := range parts {
		if part.Type != "text" {
			return "", fmt.Errorf("a part of type %q cannot be sent to the completions API; use --api chat", part.Type)
		}
		b.WriteString(part.Text)
	}
	return b.String(), nil
}
