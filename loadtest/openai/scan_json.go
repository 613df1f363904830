package openai

// The grammar below scan: RFC 8259, read strictly.

// peek skips white space and returns the next byte, 0 at the end.
func (s *scanner) peek() byte {
	for s.i < len(s.in) {
		switch b := s.in[s.i]; b {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return b
		}
	}
	return 0
}

// atEnd reports whether nothing but white space is left.
func (s *scanner) atEnd() bool { return s.peek() == 0 && s.i == len(s.in) }

// open steps over an opening bracket.
func (s *scanner) open(bracket byte) bool {
	if s.peek() != bracket {
		return false
	}
	s.i++
	return true
}

// member steps to the value of an object's next member; more is false behind
// the closing brace. A name with escapes is not plain.
func (s *scanner) member(first bool) (name []byte, more, ok bool) {
	more, ok = s.next(first, '}')
	if !more || !ok {
		return nil, more, ok
	}
	if s.peek() != '"' {
		return nil, false, false
	}
	name, escaped, ok := s.str()
	if !ok || escaped || s.peek() != ':' {
		return nil, false, false
	}
	s.i++
	s.peek()
	return name, true, true
}

// element steps to a list's next element; more is false behind the closing
// bracket.
func (s *scanner) element(first bool) (more, ok bool) {
	more, ok = s.next(first, ']')
	if more && ok {
		s.peek()
	}
	return more, ok
}

func (s *scanner) next(first bool, closing byte) (more, ok bool) {
	switch b := s.peek(); {
	case b == closing:
		s.i++
		return false, true
	case first:
		return true, true
	case b == ',':
		s.i++
		return true, true
	}
	return false, false
}

// null steps over null where it comes next.
func (s *scanner) null() bool { return s.peek() == 'n' && s.literal("null") }

func (s *scanner) literal(word string) bool {
	if len(s.in)-s.i < len(word) || string(s.in[s.i:s.i+len(word)]) != word {
		return false
	}
	s.i += len(word)
	return true
}

// str reads a string and returns its inside as it stands.
func (s *scanner) str() (raw []byte, escaped, ok bool) {
	if s.i >= len(s.in) || s.in[s.i] != '"' {
		return nil, false, false
	}
	start := s.i + 1
	for i := start; i < len(s.in); i++ {
		switch b := s.in[i]; {
		case b == '"':
			s.i = i + 1
			return s.in[start:i], escaped, true
		case b < 0x20:
			return nil, false, false
		case b == '\\':
			escaped = true
			i++
			if i >= len(s.in) {
				return nil, false, false
			}
			switch s.in[i] {
			case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
			case 'u':
				if len(s.in)-i < 5 {
					return nil, false, false
				}
				for _, h := range s.in[i+1 : i+5] {
					if hexDigit(h) < 0 {
						return nil, false, false
					}
				}
				i += 4
			default:
				return nil, false, false
			}
		}
	}
	return nil, false, false
}

// number reads a number.
func (s *scanner) number() bool {
	if s.i < len(s.in) && s.in[s.i] == '-' {
		s.i++
	}
	start := s.i
	if n := s.digits(); n == 0 || n > 1 && s.in[start] == '0' {
		return false
	}
	if s.i < len(s.in) && s.in[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return false
		}
	}
	if s.i < len(s.in) && s.in[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.in) && (s.in[s.i] == '+' || s.in[s.i] == '-') {
			s.i++
		}
		return s.digits() > 0
	}
	return true
}

func (s *scanner) digits() (n int) {
	for s.i < len(s.in) && s.in[s.i] >= '0' && s.in[s.i] <= '9' {
		s.i++
		n++
	}
	return n
}

// skip steps over any value.
func (s *scanner) skip(depth int) bool {
	if depth > maxDepth {
		return false
	}
	switch s.peek() {
	case '"':
		_, _, ok := s.str()
		return ok
	case '{':
		s.i++
		for first := true; ; first = false {
			_, more, ok := s.member(first)
			if !ok || !more {
				return ok
			}
			if !s.skip(depth + 1) {
				return false
			}
		}
	case '[':
		_, ok := s.list(depth)
		return ok
	case 't':
		return s.literal("true")
	case 'f':
		return s.literal("false")
	case 'n':
		return s.literal("null")
	default:
		return s.number()
	}
}

// list steps over a list and counts its elements.
func (s *scanner) list(depth int) (n int, ok bool) {
	if !s.open('[') {
		return 0, false
	}
	for first := true; ; first = false {
		more, ok := s.element(first)
		if !ok || !more {
			return n, ok
		}
		if !s.skip(depth + 1) {
			return 0, false
		}
		n++
	}
}
