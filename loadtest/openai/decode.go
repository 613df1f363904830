package openai

import (
	"encoding/json"
	"fmt"
	"math"
)

// decode fills c from the JSON of one event. It is exact about member names
// (encoding/json's structs ignore case), takes the last of duplicate members,
// and fails on what is not the protocol: no object, choices that are no list, a
// delta that is no object, content that is neither text nor a list of parts.
func decode(data []byte, c *chunk) error {
	c.reset()
	top, err := object(data)
	if err != nil {
		return err
	}
	if raw := top["error"]; !null(raw) {
		c.failed = true
		c.message = errorText(data)
		return nil
	}
	if text(top["object"]) == "error" {
		c.failed = true
		c.message = errorText(data)
		return nil
	}
	if raw := top["choices"]; !null(raw) {
		var choices []json.RawMessage
		if err := json.Unmarshal(raw, &choices); err != nil {
			return fmt.Errorf("choices: %w", err)
		}
		c.known = true
		c.choices = len(choices)
		for i, choice := range choices {
			if err := decodeChoice(choice, c); err != nil {
				return fmt.Errorf("choices[%d]: %w", i, err)
			}
		}
	}
	if raw := top["usage"]; !null(raw) {
		if err := decodeUsage(raw, c); err != nil {
			return fmt.Errorf("usage: %w", err)
		}
	}
	if raw := top["timings"]; !null(raw) {
		if timings, err := object(raw); err == nil {
			c.cacheN = count(timings["cache_n"])
		}
	}
	return nil
}

func decodeChoice(data []byte, c *chunk) error {
	choice, err := object(data)
	if err != nil {
		return err
	}
	if err := decodeContent(choice["text"], c); err != nil {
		return fmt.Errorf("text: %w", err)
	}
	if raw := choice["delta"]; !null(raw) {
		delta, err := object(raw)
		if err != nil {
			return fmt.Errorf("delta: %w", err)
		}
		if err := decodeContent(delta["content"], c); err != nil {
			return fmt.Errorf("delta.content: %w", err)
		}
		for _, name := range []string{"reasoning", "reasoning_content"} {
			if raw := delta[name]; !null(raw) {
				var s string
				if err := json.Unmarshal(raw, &s); err != nil {
					return fmt.Errorf("delta.%s: %w", name, err)
				}
				c.thought = c.thought || s != ""
			}
		}
		if raw := delta["tool_calls"]; !null(raw) {
			var calls []json.RawMessage
			if err := json.Unmarshal(raw, &calls); err != nil {
				return fmt.Errorf("delta.tool_calls: %w", err)
			}
			c.tools = c.tools || len(calls) > 0
		}
	}
	if raw := choice["finish_reason"]; !null(raw) {
		var s string
		if err := json.Unmarshal(raw, &s); err != nil {
			return fmt.Errorf("finish_reason: %w", err)
		}
		if s != "" {
			c.finish = append(c.finish[:0], s...)
		}
	}
	if raw := choice["logprobs"]; !null(raw) {
		if logprobs, err := object(raw); err == nil {
			c.logprobs += max(length(logprobs["content"]), length(logprobs["tokens"]))
		}
	}
	return nil
}

// decodeContent adds a text, or the texts of a list of parts as some engines
// send them; a part of another type (thinking, say) is thought.
func decodeContent(raw json.RawMessage, c *chunk) error {
	if null(raw) {
		return nil
	}
	if raw[0] == '[' {
		var parts []json.RawMessage
		if err := json.Unmarshal(raw, &parts); err != nil {
			return err
		}
		for _, raw := range parts {
			part, err := object(raw)
			if err != nil {
				return err
			}
			switch s := text(part["text"]); {
			case s != "":
				c.content = append(c.content, s...)
				c.answer = true
			case text(part["type"]) != "text":
				c.thought = true
			}
		}
		return nil
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return err
	}
	c.content = append(c.content, s...)
	c.answer = c.answer || s != ""
	return nil
}

// decodeUsage takes the counts where both are whole numbers; a usage object
// without them says nothing.
func decodeUsage(raw json.RawMessage, c *chunk) error {
	usage, err := object(raw)
	if err != nil {
		return err
	}
	prompt, completion := count(usage["prompt_tokens"]), count(usage["completion_tokens"])
	if completion < 0 || prompt < 0 {
		return nil
	}
	c.known = true
	c.usage, c.prompt, c.completion = true, prompt, completion
	if details, err := object(usage["prompt_tokens_details"]); err == nil {
		c.cached = count(details["cached_tokens"])
	}
	return nil
}

// object splits a JSON object into its members.
func object(raw []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, err
	}
	if members == nil {
		return nil, fmt.Errorf("null in place of an object")
	}
	return members, nil
}

// null reports whether a member is absent or null.
func null(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// text is the member's string, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

// count is the member's value where it is a whole number from 0 to 2³¹−1,
// otherwise -1.
func count(raw json.RawMessage) int {
	var f float64
	if null(raw) || json.Unmarshal(raw, &f) != nil || f != math.Trunc(f) || f < 0 || f > math.MaxInt32 {
		return -1
	}
	return int(f)
}

// length is the number of elements where the member is a list, otherwise 0.
func length(raw json.RawMessage) int {
	var list []json.RawMessage
	if len(raw) == 0 || json.Unmarshal(raw, &list) != nil {
		return 0
	}
	return len(list)
}
