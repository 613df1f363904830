package sim

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

// FuzzRequest demands that whatever a client sends is refused with a 4xx or
// becomes a request that the scheduler takes.
func FuzzRequest(f *testing.F) {
	for _, seed := range []string{
		chatBody(`"max_tokens":7,"stream":true,"stream_options":{"include_usage":true},`, "hello there"),
		`{"messages":[{"role":"user","content":[{"type":"text","text":"a b"},{"type":"image_url","image_url":{"url":"data:"}}]},{"role":"assistant","content":null}]}`,
		`{"prompt":["one two"],"min_tokens":3}`, `{"prompt":[1,2,3],"max_tokens":-1}`, `{"n":2}`, `[]`, `null`, `{"messages":null,"prompt":null}`,
	} {
		f.Add([]byte(seed))
	}
	cfg := fast()
	e, err := New(cfg)
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(func() { _ = e.Close() })
	f.Fuzz(func(t *testing.T, body []byte) {
		req, refused := e.readRequest(bytes.NewReader(body))
		if refused != nil {
			if refused.status < 400 || refused.status > 499 || refused.text == "" {
				t.Fatalf("refused with %d %q", refused.status, refused.text)
			}
			return
		}
		chat, chatRefused := chatPrompt(req.Messages, cfg.maxContext())
		text, textRefused := plainPrompt(req.Prompt)
		for i, refused := range []*refusal{chatRefused, textRefused} {
			prompt := [][]token{chat, text}[i]
			if refused != nil {
				continue
			}
			limit, _, refused := req.limit(cfg, len(prompt))
			if refused == nil && (len(prompt) < 1 || limit < 1 || len(prompt)+limit > cfg.maxContext()) {
				t.Fatalf("%d prompt and %d answer tokens passed a limit of %d", len(prompt), limit, cfg.maxContext())
			}
		}
	})
}

// FuzzScheduler runs random loads on random engines, with requests cancelled
// at random: every other one gets exactly its tokens, in order, and no block is
// lost or held by two owners.
func FuzzScheduler(f *testing.F) {
	for seed := range uint64(40) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		var draws uint64
		draw := func(n int) int {
			draws++
			return int(mix(seed, draws) % uint64(n))
		}
		cfg := DefaultConfig()
		cfg.Seed = seed
		cfg.BlockSize = 1 + draw(16)
		cfg.KVBlocks = 8 + draw(60)
		cfg.MaxRunning = 1 + draw(8)
		cfg.PrefillBudget = 1 + draw(64)
		cfg.PrefixCache = draw(2) == 0
		cfg.SpecTokens = draw(5)
		s := newScheduler(cfg)
		got := make(map[*sequence]int)
		var all []*sequence
		left, now := 30, time.Duration(0)
		for steps := 0; ; steps++ {
			if steps > 100000 {
				t.Fatal("the scheduler makes no progress")
			}
			if left > 0 && draw(3) == 0 {
				left--
				room := cfg.maxContext()
				p := prompt(fmt.Sprint(draw(3)), draw(room), 1+draw(room-1), fmt.Sprint(left, "-"))
				q := newSequence(seed, p, 1+draw(room-len(p)), false)
				if err := s.submit(q, now); err != nil {
					t.Fatal(err)
				}
				all = append(all, q)
			}
			end, ok := s.begin(now)
			if !ok {
				if left == 0 {
					break
				}
				continue
			}
			var gone *sequence
			if draw(10) == 0 {
				gone = all[draw(len(all))]
				s.cancel(gone)
				got[gone] = gone.target
			}
			for _, out := range s.finish() {
				if out.seq == gone {
					t.Fatal("a cancelled request got tokens")
				}
				got[out.seq] += out.tokens
			}
			checkPool(t, s)
			now = end
		}
		for _, q := range all {
			if got[q] != q.target {
				t.Errorf("got %d tokens, want %d", got[q], q.target)
			}
		}
		if s.pool.free != s.pool.size() {
			t.Errorf("%d of %d blocks free at the end", s.pool.free, s.pool.size())
		}
	})
}

// checkPool demands that every block's references are those of the running
// sequences, that the rest is free, and that the index leads to what it says.
func checkPool(t *testing.T, s *scheduler) {
	t.Helper()
	refs := make([]int32, s.pool.size())
	for _, q := range s.running {
		for _, id := range q.held {
			refs[id]++
		}
	}
	free := 0
	for id, n := range refs {
		if s.pool.blocks[id].refs != n {
			t.Fatalf("block %d has %d references, held %d times", id, s.pool.blocks[id].refs, n)
		}
		if n == 0 {
			free++
		}
	}
	if free != s.pool.free {
		t.Fatalf("%d blocks are free, the pool says %d", free, s.pool.free)
	}
	for hash, id := range s.pool.byHash {
		if b := s.pool.blocks[id]; !b.cached || b.hash != hash {
			t.Fatalf("the index leads to block %d, which holds something else", id)
		}
	}
}
