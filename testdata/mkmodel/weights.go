package main

import (
	"fmt"
	"math"
	"math/rand"
)

// shape is the model's architecture, in GGUF's llama terms.
type shape struct {
	embedding, hidden, layers, context int
	// endBias is the output bias of the end token; 0 makes it as likely as a
	// word, a large negative one makes answers exactly as long as asked.
	endBias float64
}

const (
	heads   = 8
	kvHeads = 4
	// never is the output bias of what must not be said.
	never = -40
)

func (s shape) validate() error {
	switch {
	case s.embedding <= 0 || s.embedding%heads != 0:
		return fmt.Errorf("-dim %d: want a positive multiple of %d", s.embedding, heads)
	case s.hidden <= 0 || s.layers <= 0 || s.context <= 0:
		return fmt.Errorf("-hidden %d, -layers %d, -ctx %d: want positive numbers", s.hidden, s.layers, s.context)
	}
	return nil
}

type tensor struct {
	name   string
	extent []int // GGUF's order: the innermost first
	data   []float32
}

// weights draws the model's tensors from seed. Channel 0 of the residual stream
// is a constant that no layer writes to, so that the output rows can carry a
// bias by it.
func (s shape) weights(v *vocabulary, seed int64) []tensor {
	draw := normal{rand.New(rand.NewSource(seed))} //nolint:gosec // made-up weights, which must be the same for one seed
	d, size := s.embedding, len(v.tokens)
	kv := d / heads * kvHeads

	embedding, head := draw.values(size*d, 0.5), draw.values(size*d, 0.25)
	for token := range size {
		row := head[token*d : (token+1)*d]
		embedding[token*d], row[0] = 1, 0
		if !v.said[token] {
			clear(row)
			row[0] = never
		}
	}
	head[endToken*d] = float32(s.endBias)

	tensors := []tensor{
		{"token_embd.weight", []int{d, size}, embedding},
		{"output_norm.weight", []int{d}, ones(d)},
		{"output.weight", []int{d, size}, head},
	}
	spread := 1 / math.Sqrt(float64(d))
	down := spread / math.Sqrt(float64(2*s.layers)) // keeps the stream's size over any number of layers
	for layer := range s.layers {
		name := func(part string) string { return fmt.Sprintf("blk.%d.%s.weight", layer, part) }
		tensors = append(tensors,
			tensor{name("attn_norm"), []int{d}, ones(d)},
			tensor{name("attn_q"), []int{d, d}, draw.values(d*d, spread)},
			tensor{name("attn_k"), []int{d, kv}, draw.values(d*kv, spread)},
			tensor{name("attn_v"), []int{d, kv}, draw.values(d*kv, spread)},
			tensor{name("attn_output"), []int{d, d}, sparing(draw.values(d*d, down), d)},
			tensor{name("ffn_norm"), []int{d}, ones(d)},
			tensor{name("ffn_gate"), []int{d, s.hidden}, draw.values(d*s.hidden, spread)},
			tensor{name("ffn_up"), []int{d, s.hidden}, draw.values(d*s.hidden, spread)},
			tensor{name("ffn_down"), []int{s.hidden, d}, sparing(draw.values(s.hidden*d, down), s.hidden)})
	}
	return tensors
}

// normal draws normally distributed values.
type normal struct{ *rand.Rand }

func (r normal) values(n int, deviation float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(r.NormFloat64() * deviation)
	}
	return out
}

func ones(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

// sparing clears the first row: channel 0 is never written to.
func sparing(matrix []float32, columns int) []float32 {
	clear(matrix[:columns])
	return matrix
}
