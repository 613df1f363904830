package loadtest

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"strings"
)

// Scenario is a kind of user.
type Scenario interface {
	// Session starts one user. The scenario draws from rng alone, in the order
	// of the calls, from one goroutine.
	Session(rng *rand.Rand) Session
}

// Session is one user's conversation; a single shot is a session of one turn.
type Session interface {
	// Next returns the next request given the reply to the last, nil at first;
	// ok is false when the session is over. It does not keep prev.
	Next(prev *Reply) (req *Request, ok bool)
}

// once is a session of one turn.
type once struct{ req *Request }

func (o *once) Next(prev *Reply) (*Request, bool) { return o.req, prev == nil }

// NonceTokens is the length of the nonce that opens each prefix group and each
// unshared prompt.
const NonceTokens = 8

// vocabulary holds words that are one token each in the vocabularies of common
// models, a leading space included.
var vocabulary = strings.Fields(`the a and of to in is was he she it they we you his her that this with for on at by from up out if then
when where there here not no yes all some one two three day night time year man woman boy girl dog cat ball park tree house door water fire
light dark big small red blue green old new good bad happy sad run walk play see look say said tell ask give take make made find found went
go come came home school friend mother father story end begin server token cache batch model latency queue load test gate pass fail`)

// synthetic writes prompts of whole words with lengths from a distribution.
type synthetic struct {
	spec     Prompts
	prefixes []string // one a group, SharedPrefix tokens with the nonce
	lead     string   // seeds the nonce of unshared prompts
	n        int
}

func newSynthetic(spec Prompts, seed uint64, lead string) *synthetic {
	s := &synthetic{spec: spec, lead: lead}
	if spec.SharedPrefix > 0 {
		rng := newRand(seed, "prefixes")
		for g := range max(spec.Groups, 1) {
			var b strings.Builder
			n := min(NonceTokens, spec.SharedPrefix)
			writeWords(&b, newRand(hash64(fmt.Sprintf("%s/%d", lead, g)), "nonce"), n)
			writeWords(&b, rng, spec.SharedPrefix-n)
			s.prefixes = append(s.prefixes, b.String())
		}
	}
	return s
}

func (s *synthetic) Session(rng *rand.Rand) Session {
	s.n++
	var b strings.Builder
	input := drawLength(rng, s.spec.InputMean, s.spec.InputSD)
	if len(s.prefixes) > 0 {
		b.WriteString(s.prefixes[rng.IntN(len(s.prefixes))])
		writeWords(&b, rng, max(input-s.spec.SharedPrefix, 1))
	} else {
		n := min(NonceTokens, input)
		writeWords(&b, newRand(hash64(fmt.Sprintf("%s#%d", s.lead, s.n)), "nonce"), n)
		writeWords(&b, rng, input-n)
	}
	return &once{&Request{
		Scenario:    "synthetic",
		Messages:    []Message{{Role: "user", Content: strings.TrimPrefix(b.String(), " ")}},
		MaxTokens:   drawLength(rng, s.spec.OutputMean, s.spec.OutputSD),
		ExactOutput: true,
	}}
}

// writeWords appends n words, each with a leading space.
func writeWords(b *strings.Builder, rng *rand.Rand, n int) {
	for range n {
		b.WriteByte(' ')
		b.WriteString(vocabulary[rng.IntN(len(vocabulary))])
	}
}

// drawLength draws from a normal distribution cut at three deviations and at 1.
func drawLength(rng *rand.Rand, mean, sd int) int {
	if sd == 0 {
		return max(mean, 1)
	}
	z := min(max(rng.NormFloat64(), -3), 3)
	return max(int(math.Round(float64(mean)+z*float64(sd))), 1)
}

func (p Prompts) validate() error {
	if p.File != "" {
		return nil
	}
	if p.InputMean < 1 || p.OutputMean < 1 || p.InputSD < 0 || p.OutputSD < 0 {
		return fmt.Errorf("prompts: want input and output lengths of at least 1 token")
	}
	if p.SharedPrefix < 0 || p.SharedPrefix >= p.InputMean {
		return fmt.Errorf("prompts: a shared prefix of %d tokens does not fit into an input of %d: want 0 to %d", p.SharedPrefix, p.InputMean, p.InputMean-1)
	}
	if p.SharedPrefix > 0 && p.Groups < 1 {
		return fmt.Errorf("prompts: a shared prefix needs at least one group")
	}
	return nil
}

// hash64 is FNV-1a: stable across versions and machines.
func hash64(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// NewNonce makes a nonce from random bytes.
func NewNonce(random [4]byte) string { return hex.EncodeToString(random[:]) }
