package main

import (
	"fmt"
	"strings"
)

// words are all that the model ever says, beside full stops and commas.
const words = `the a and of to in is was he she it they we you his her that
this with for on at by from up out if then when where there here not no yes all
some one two three day night time year man woman boy girl dog cat ball park tree
house door water fire light dark big small red blue green old new good bad happy
sad run walk play see look say said tell ask give take make made find found went
go come came home school friend mother father story end begin server token cache
batch model latency queue load test gate run pass fail`

// The token types of the GGUF format.
const (
	normalToken  int32 = 1
	unknownToken int32 = 2
	controlToken int32 = 3
	byteToken    int32 = 6
)

// endToken is the id of the end token.
const endToken = 2

// vocabulary is what the tokenizer holds. said marks the tokens that the model
// may say; the others only build them up.
type vocabulary struct {
	tokens []string
	types  []int32
	scores []float32
	said   []bool
	ids    map[string]int
}

func newVocabulary() *vocabulary {
	v := &vocabulary{ids: map[string]int{}}
	v.add("<unk>", unknownToken, 0, false)
	v.add("<s>", controlToken, 0, false)
	v.add("</s>", controlToken, 0, false)
	for b := range 256 {
		v.add(fmt.Sprintf("<0x%02X>", b), byteToken, 0, false)
	}
	for _, word := range strings.Fields(words) {
		letters := []rune("\u2581" + word)   // SentencePiece's blank
		for n := 1; n <= len(letters); n++ { // every prefix, so that merges can reach the word
			v.add(string(letters[:n]), normalToken, float32(n), n == len(letters))
		}
	}
	for c := '!'; c <= '~'; c++ {
		v.add(string(c), normalToken, -1, c == '.' || c == ',')
	}
	return v
}

func (v *vocabulary) add(token string, kind int32, score float32, said bool) {
	if id, known := v.ids[token]; known {
		v.said[id] = v.said[id] || said
		return
	}
	v.ids[token] = len(v.tokens)
	v.tokens = append(v.tokens, token)
	v.types = append(v.types, kind)
	v.scores = append(v.scores, score)
	v.said = append(v.said, said)
}
