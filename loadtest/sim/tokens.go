package sim

import (
	"strings"
	"unicode"
)

// token is one word of a prompt or answer, known by its hash.
type token uint64

// tokenOf hashes a word with FNV-1a; equal words are equal tokens in every
// process.
func tokenOf(word string) token {
	h := uint64(14695981039346656037)
	for i := 0; i < len(word); i++ {
		h = (h ^ uint64(word[i])) * 1099511628211
	}
	return token(mix(h, uint64(len(word))))
}

// appendTokens splits text at white space, one token a word.
func appendTokens(tokens []token, text string) []token {
	for word := range strings.FieldsFuncSeq(text, unicode.IsSpace) {
		tokens = append(tokens, tokenOf(word))
	}
	return tokens
}
