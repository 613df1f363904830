package openai

import "unicode/utf8"

// scan fills c from the JSON of one event as decode would, without allocating,
// and reports whether it is certain of the result. It is certain only of valid
// JSON in the shapes that fill a stream: deltas and texts of plain strings,
// tool calls, log probabilities, usage. Error objects, timings, surrogate
// escapes, duplicate members, odd types and everything malformed are left to
// decode, which alone says what is not the protocol. FuzzScan holds the two
// against each other.
func scan(data []byte, c *chunk) (certain bool) {
	c.reset()
	s := scanner{in: data}
	return s.event(c) && s.atEnd()
}

// maxDepth bounds the nesting that scan follows.
const maxDepth = 32

// scanner walks JSON text. Its methods return ok false where the text is not
// valid or not plain enough; the scan is then over.
type scanner struct {
	in []byte
	i  int
}

// once marks bit in seen and is false where it was marked before.
func once(seen *uint, bit uint) bool {
	fresh := *seen&bit == 0
	*seen |= bit
	return fresh
}

func (s *scanner) event(c *chunk) bool {
	var seen uint
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok || !more {
			return ok
		}
		switch string(key) {
		case "choices":
			ok = once(&seen, 1) && (s.null() || s.choices(c))
		case "usage":
			ok = once(&seen, 2) && (s.null() || s.usage(c))
		case "error":
			ok = once(&seen, 4) && s.null()
		case "timings":
			ok = once(&seen, 8) && s.null()
		case "object":
			ok = once(&seen, 16) && s.peek() == '"'
			if ok {
				raw, escaped, valid := s.str()
				ok = valid && !escaped && string(raw) != "error"
			}
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) choices(c *chunk) bool {
	if !s.open('[') {
		return false
	}
	c.known = true
	for first := true; ; first = false {
		more, ok := s.element(first)
		if !ok || !more {
			return ok
		}
		c.choices++
		if !s.choice(c) {
			return false
		}
	}
}

func (s *scanner) choice(c *chunk) bool {
	var seen uint
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok || !more {
			return ok
		}
		switch string(key) {
		case "delta":
			ok = once(&seen, 1) && (s.null() || s.delta(c))
		case "text": // decode reads it before delta: behind one, the order differs
			ok = once(&seen, 2) && seen&1 == 0 && (s.null() || s.content(c))
		case "finish_reason":
			ok = once(&seen, 4) && (s.null() || s.finish(c))
		case "logprobs":
			ok = once(&seen, 8) && s.logprobs(c)
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

func (s *scanner) delta(c *chunk) bool {
	var seen uint
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok || !more {
			return ok
		}
		switch string(key) {
		case "content":
			ok = once(&seen, 1) && (s.null() || s.content(c))
		case "reasoning":
			ok = once(&seen, 2) && (s.null() || s.thought(c))
		case "reasoning_content":
			ok = once(&seen, 4) && (s.null() || s.thought(c))
		case "tool_calls":
			ok = once(&seen, 8)
			if ok && !s.null() {
				var n int
				n, ok = s.list(0)
				c.tools = c.tools || n > 0
			}
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// content appends a string's text, its escapes undone.
func (s *scanner) content(c *chunk) bool {
	raw, escaped, ok := s.str()
	if !ok || !utf8.Valid(raw) {
		return false
	}
	c.answer = c.answer || len(raw) > 0
	if !escaped {
		c.content = append(c.content, raw...)
		return true
	}
	c.content, ok = unescape(c.content, raw)
	return ok
}

func (s *scanner) thought(c *chunk) bool {
	raw, _, ok := s.str()
	c.thought = c.thought || len(raw) > 0
	return ok
}

func (s *scanner) finish(c *chunk) bool {
	raw, escaped, ok := s.str()
	if !ok || escaped || !utf8.Valid(raw) {
		return false
	}
	if len(raw) > 0 {
		c.finish = append(c.finish[:0], raw...)
	}
	return true
}

func (s *scanner) logprobs(c *chunk) bool {
	if s.peek() != '{' {
		return s.skip(0)
	}
	var seen uint
	var content, tokens int
	s.i++
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok {
			return false
		}
		if !more {
			c.logprobs += max(content, tokens)
			return true
		}
		switch string(key) {
		case "content":
			content, ok = s.length()
			ok = once(&seen, 1) && ok
		case "tokens":
			tokens, ok = s.length()
			ok = once(&seen, 2) && ok
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// length steps over a value and counts the elements of a list.
func (s *scanner) length() (n int, ok bool) {
	if s.peek() != '[' {
		return 0, s.skip(0)
	}
	return s.list(0)
}

func (s *scanner) usage(c *chunk) bool {
	var seen uint
	prompt, completion, cached := -1, -1, -1
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok {
			return false
		}
		if !more {
			break
		}
		switch string(key) {
		case "prompt_tokens":
			ok = once(&seen, 1) && s.count(&prompt)
		case "completion_tokens":
			ok = once(&seen, 2) && s.count(&completion)
		case "prompt_tokens_details":
			ok = once(&seen, 4) && (s.null() || s.details(&cached))
		default:
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
	if prompt >= 0 && completion >= 0 {
		c.known, c.usage = true, true
		c.prompt, c.completion, c.cached = prompt, completion, cached
	}
	return true
}

func (s *scanner) details(cached *int) bool {
	var seen uint
	if !s.open('{') {
		return false
	}
	for first := true; ; first = false {
		key, more, ok := s.member(first)
		if !ok || !more {
			return ok
		}
		if string(key) == "cached_tokens" {
			ok = once(&seen, 1) && s.count(cached)
		} else {
			ok = s.skip(0)
		}
		if !ok {
			return false
		}
	}
}

// count reads null (nothing said) or a plain whole number of at most nine
// digits.
func (s *scanner) count(into *int) bool {
	if s.null() {
		return true
	}
	start := s.i
	if !s.number() || s.i-start > 9 {
		return false
	}
	n := 0
	for _, b := range s.in[start:s.i] {
		if b < '0' || b > '9' {
			return false
		}
		n = 10*n + int(b-'0')
	}
	*into = n
	return true
}

// unescape appends raw, a valid JSON string's inside, with its escapes undone.
// ok is false for surrogates, which decode pairs up.
func unescape(dst, raw []byte) (_ []byte, ok bool) {
	for i := 0; i < len(raw); i++ {
		b := raw[i]
		if b != '\\' {
			dst = append(dst, b)
			continue
		}
		i++
		switch raw[i] {
		case 'b':
			dst = append(dst, '\b')
		case 'f':
			dst = append(dst, '\f')
		case 'n':
			dst = append(dst, '\n')
		case 'r':
			dst = append(dst, '\r')
		case 't':
			dst = append(dst, '\t')
		case 'u':
			var r rune
			for _, h := range raw[i+1 : i+5] {
				r = r<<4 | rune(hexDigit(h))
			}
			if r >= 0xD800 && r < 0xE000 {
				return dst, false
			}
			dst = utf8.AppendRune(dst, r)
			i += 4
		default: // '"', '\\', '/'
			dst = append(dst, raw[i])
		}
	}
	return dst, true
}

// hexDigit is the value of a hexadecimal digit, -1 for anything else.
func hexDigit(b byte) int {
	switch {
	case b >= '0' && b <= '9':
		return int(b - '0')
	case b >= 'a' && b <= 'f':
		return int(b-'a') + 10
	case b >= 'A' && b <= 'F':
		return int(b-'A') + 10
	}
	return -1
}
