package sim

import "time"

// sequence is one request in the scheduler: its prompt, how far it has come and
// the blocks it holds. Once submitted it belongs to the scheduler.
type sequence struct {
	prompt []token
	seed   uint64 // of the answer and of which drafts are accepted
	target int    // tokens to generate (≥ 1)
	stop   bool   // the answer ends by itself (finish_reason stop), not by max_tokens

	// mail takes the tokens to the request's goroutine; nil where nobody reads.
	mail *mailbox

	generated int      // tokens generated
	computed  int      // tokens whose KV entries are there
	planned   int      // tokens to compute in the step under way
	drafted   int      // of these, drafted ones
	held      []int32  // blocks, in order
	hashes    []uint64 // chained hash of each full block so far
	hits      int      // prompt tokens found in the cache when first admitted
	admitted  bool     // was in the batch before
	running   bool
	cancelled bool

	arrived, scheduled, first, last time.Duration
}

// newSequence makes a request of target answer tokens. The answer depends on
// the engine's seed and on the prompt only.
func newSequence(seed uint64, prompt []token, target int, stop bool) *sequence {
	answer := mix(seed, streamAnswers)
	for _, t := range prompt {
		answer = mix(answer, uint64(t))
	}
	return &sequence{prompt: prompt, seed: answer, target: target, stop: stop}
}

// total is the number of tokens so far, prompt and answer.
func (q *sequence) total() int { return len(q.prompt) + q.generated }

// prefilling tells whether the next step computes prompt tokens (or, after a
// preemption, recomputes) instead of decoding.
func (q *sequence) prefilling() bool { return q.generated == 0 || q.computed < q.total()-1 }

// token at position i, of the prompt or of the answer.
func (q *sequence) token(i int, words vocabulary) token {
	if i < len(q.prompt) {
		return q.prompt[i]
	}
	return words.tokens[words.index(q.seed, i-len(q.prompt))]
}

// extendHashes hashes the full blocks among the first n tokens, each chained
// to the one before.
func (q *sequence) extendHashes(n, blockSize int, words vocabulary) {
	for (len(q.hashes)+1)*blockSize <= n {
		var h uint64
		if k := len(q.hashes); k > 0 {
			h = q.hashes[k-1]
		}
		start := len(q.hashes) * blockSize
		for i := start; i < start+blockSize; i++ {
			h = mix(h, uint64(q.token(i, words)))
		}
		q.hashes = append(q.hashes, h)
	}
}
