package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
)

// fact is one key of the file's metadata.
type fact struct {
	key   string
	value any
}

// metadata describes the model to the engine.
func (s shape) metadata(v *vocabulary) []fact {
	number := func(n int) uint32 { return uint32(n) } //nolint:gosec // small and positive, see validate
	return []fact{
		{"general.architecture", "llama"},
		{"general.name", fmt.Sprintf("tiny-%dx%d", s.layers, s.embedding)},
		{"llama.context_length", number(s.context)},
		{"llama.embedding_length", number(s.embedding)},
		{"llama.feed_forward_length", number(s.hidden)},
		{"llama.block_count", number(s.layers)},
		{"llama.attention.head_count", number(heads)},
		{"llama.attention.head_count_kv", number(kvHeads)},
		{"llama.rope.dimension_count", number(s.embedding / heads)},
		{"llama.vocab_size", number(len(v.tokens))},
		{"llama.attention.layer_norm_rms_epsilon", float32(1e-5)},
		{"tokenizer.ggml.model", "llama"},
		{"tokenizer.ggml.tokens", v.tokens},
		{"tokenizer.ggml.scores", v.scores},
		{"tokenizer.ggml.token_type", v.types},
		{"tokenizer.ggml.unknown_token_id", number(0)},
		{"tokenizer.ggml.bos_token_id", number(1)},
		{"tokenizer.ggml.eos_token_id", number(endToken)},
		{"tokenizer.ggml.add_bos_token", true},
		{"tokenizer.ggml.add_eos_token", false},
		{"tokenizer.chat_template", "{% for m in messages %}{{ m['content'] }}{% endfor %}"},
	}
}

// The value types of the GGUF format.
const (
	typeUint32  uint32 = 4
	typeInt32   uint32 = 5
	typeFloat32 uint32 = 6
	typeBool    uint32 = 7
	typeString  uint32 = 8
	typeArray   uint32 = 9
)

// alignment is that of the tensors' data, in bytes.
const alignment = 32

func aligned(n int) int { return (n + alignment - 1) / alignment * alignment }

// encode writes a GGUF file of version 3 with tensors of 32-bit floats.
func encode(w io.Writer, facts []fact, tensors []tensor) error {
	var h header
	h.WriteString("GGUF")
	h.put(uint32(3))
	h.put(uint64(len(tensors)))
	h.put(uint64(len(facts)))
	for _, f := range facts {
		h.text(f.key)
		h.value(f.value)
	}
	offset := 0
	for _, t := range tensors {
		h.text(t.name)
		h.put(uint32(len(t.extent))) //nolint:gosec // 1 or 2
		for _, n := range t.extent {
			h.put(uint64(n)) //nolint:gosec // positive
		}
		h.put(uint32(0))      // 32-bit floats
		h.put(uint64(offset)) //nolint:gosec // positive
		offset += aligned(4 * len(t.data))
	}
	h.Write(make([]byte, aligned(h.Len())-h.Len()))
	if _, err := w.Write(h.Bytes()); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := binary.Write(w, binary.LittleEndian, t.data); err != nil {
			return err
		}
		if _, err := w.Write(make([]byte, aligned(4*len(t.data))-4*len(t.data))); err != nil {
			return err
		}
	}
	return nil
}

// header is all that stands before the tensors' data.
type header struct{ bytes.Buffer }

// put appends a number, or a slice of them.
func (h *header) put(v any) {
	if err := binary.Write(h, binary.LittleEndian, v); err != nil {
		panic(err) // a type of no fixed size: a mistake in this program
	}
}

func (h *header) text(s string) {
	h.put(uint64(len(s)))
	h.WriteString(s)
}

func (h *header) value(v any) {
	switch v := v.(type) {
	case string:
		h.put(typeString)
		h.text(v)
	case bool:
		h.put(typeBool)
		h.put(v)
	case uint32:
		h.put(typeUint32)
		h.put(v)
	case float32:
		h.put(typeFloat32)
		h.put(v)
	case []string:
		h.array(typeString, len(v))
		for _, s := range v {
			h.text(s)
		}
	case []float32:
		h.array(typeFloat32, len(v))
		h.put(v)
	case []int32:
		h.array(typeInt32, len(v))
		h.put(v)
	default:
		panic(fmt.Sprintf("metadata of type %T", v))
	}
}

func (h *header) array(kind uint32, length int) {
	h.put(typeArray)
	h.put(kind)
	h.put(uint64(length)) //nolint:gosec // positive
}
