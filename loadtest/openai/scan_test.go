package openai

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// same compares chunks; an empty buffer is a missing one.
func same(want, got chunk) string {
	return cmp.Diff(want, got, cmp.AllowUnexported(chunk{}), cmpopts.EquateEmpty())
}

// eventsOf lists the data of every event of a stream.
func eventsOf(t testing.TB, raw []byte) (data []string) {
	events, _ := readAll(bytes.NewReader(raw), DefaultMaxLine)
	for _, ev := range events {
		data = append(data, ev.Data)
	}
	return data
}

func chunkSeeds(t testing.TB) (seeds []string) {
	for _, c := range streamCases(t) {
		if c.Name != "long-line" {
			seeds = append(seeds, eventsOf(t, c.whole(t))...)
		}
	}
	samples, _ := filepath.Glob("testdata/real/*.sse")
	for _, file := range samples {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		seeds = append(seeds, eventsOf(t, raw)...)
	}
	return append(seeds, oddChunks...)
}

var oddChunks = []string{
	`{"choices":[{"delta":{"content":"a\n\"\\\/\b\f\r\té\u00e9\u4F60"}}]}`,
	`{"choices":[{"delta":{"content":"\ud83d\ude42"}}]}`,
	`{"choices":[{"delta":{"content":"\ud83d"}}]}`,
	"{\"choices\":[{\"delta\":{\"content\":\"\xff\"}}]}",
	`{"choices":[{"delta":{"content":"a","content":"b"}}]}`,
	`{"choices":[{"Delta":{"content":"a"},"delta":{"CONTENT":"b"}}]}`,
	`{"choices":[{"delta":{"content":"a"}},{"delta":{"content":"b"},"finish_reason":"stop"}]}`,
	`{"choices":[{"delta":{"content":[{"type":"text","text":"a"},{"type":"thinking"}]}}]}`,
	`{"choices":[{"delta":{"content":5}}]}`,
	`{"choices":[{"delta":{"\u0063ontent":"a"}}]}`,
	`{"choices":[{"delta":{"content":"a"},"text":"b"}]}`,
	`{"choices":[{"text":"b","delta":{"content":"a"}}]}`,
	`{"choices":[{"delta":{"tool_calls":[]}}]}`,
	`{"choices":[{"delta":{"tool_calls":null,"reasoning":null,"content":null}}]}`,
	`{"choices":[{"delta":{"reasoning":{"a":1}}}]}`,
	`{"choices":[{"delta":null,"finish_reason":""}]}`,
	`{"choices":[{"delta":[]}]}`,
	`{"choices":[null]}`, `{"choices":null}`, `{"choices":{}}`, `{"choices":[]}`,
	`{"choices":[{"logprobs":{"content":[1,2],"content":7,"tokens":["a"]}}]}`,
	`{"choices":[{"logprobs":{"tokens":["a","b"],"content":null}}]}`,
	`{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`,
	`{"usage":{"prompt_tokens":1,"completion_tokens":2.5}}`,
	`{"usage":{"prompt_tokens":1,"completion_tokens":-2}}`,
	`{"usage":{"prompt_tokens":1.0,"completion_tokens":2e1}}`,
	`{"usage":{"prompt_tokens":null,"completion_tokens":2}}`,
	`{"usage":{"prompt_tokens":1,"completion_tokens":99999999999}}`,
	`{"usage":{"completion_tokens":2}}`,
	`{"usage":7}`, `{"usage":null}`,
	`{"error":null}`, `{"error":"x"}`, `{"error":{"message":"x"}}`, `{"object":"error","message":"x"}`, `{"object":7}`,
	`{"timings":{"cache_n":3}}`, `{"timings":null}`, `{"timings":[]}`,
	`{}`, `{"a":1}`, `[]`, `null`, `1`, `"x"`, `{"a":1,}`, `{"a":01}`, `{"a":1.}`, `{"a":-}`, `{"a":1e}`, `{"a":tru}`,
	`{"a":[1,]}`, `{"a":[,1]}`, `{"a" 1}`, `{,"a":1}`, `{"a":1} x`, ` { "a" : [ 1 , { } , [ ] ] } `, "{\"a\":\"\x01\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`,
}

// TestScanIsCertain: the events that fill real streams need no full decoding.
func TestScanIsCertain(t *testing.T) {
	for _, data := range []string{
		`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"Hel"},"finish_reason":null}]}`,
		`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}],"usage":null}`,
		`{"choices":[{"index":0,"delta":{"content":"a\n\u4f60"}}],"usage":{"prompt_tokens":9,"total_tokens":10,"completion_tokens":1}}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\":1}"}}]},"finish_reason":null}]}`,
		`{"choices":[{"text":" upon","index":0,"logprobs":{"content":[{"id":407,"top_logprobs":[{"logprob":-0.01e-3}]}]},"finish_reason":null}]}`,
		`{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":0}}}`,
	} {
		var c, d chunk
		if !scan([]byte(data), &c) {
			t.Errorf("not certain of %s", data)
			continue
		}
		if err := decode([]byte(data), &d); err != nil {
			t.Errorf("decode %s: %v", data, err)
		}
		if diff := same(d, c); diff != "" {
			t.Errorf("%s (-decoded +scanned):\n%s", data, diff)
		}
	}
}

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		in   string
		want chunk
	}{
		{`{"choices":[{"delta":{"content":"\ud83d\ude42"}}]}`, chunk{known: true, choices: 1, content: []byte("🙂"), answer: true}},
		{`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[]},{"type":"text","text":"a"}]}}]}`, chunk{known: true, choices: 1, content: []byte("a"), answer: true, thought: true}},
		{`{"choices":[{"delta":{"Content":"x"}}]}`, chunk{known: true, choices: 1}},
		{`{"usage":{"prompt_tokens":1,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":1}}}`, chunk{known: true, usage: true, prompt: 1, completion: 2, cached: 1}},
		{`{"usage":{"prompt_tokens":1,"completion_tokens":2.5}}`, chunk{}},
		{`{"usage":{"prompt_tokens":1,"completion_tokens":null}}`, chunk{}},
		{`{"timings":{"cache_n":3}}`, chunk{cacheN: 3}},
		{`{"error":{"message":"x","code":500}}`, chunk{failed: true, message: "x"}},
		{`{"error":"x"}`, chunk{failed: true, message: "x"}},
		{`{"object":"error","message":"x"}`, chunk{failed: true, message: "x"}},
		{`{"choices":[{"logprobs":{"tokens":["a","b"]}}]}`, chunk{known: true, choices: 1, logprobs: 2}},
	} {
		var got chunk
		if err := decode([]byte(c.in), &got); err != nil {
			t.Errorf("%s: %v", c.in, err)
		}
		if c.want.cacheN == 0 {
			c.want.cacheN = -1
		}
		if c.want.cached == 0 {
			c.want.cached = -1
		}
		if diff := same(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.in, diff)
		}
	}
	for _, in := range []string{
		``, `1`, `[]`, `null`, `"x"`, `{`, `{"choices":{}}`, `{"choices":[1]}`, `{"choices":[null]}`, `{"choices":[{"delta":[]}]}`,
		`{"choices":[{"delta":{"content":5}}]}`, `{"choices":[{"delta":{"content":{}}}]}`, `{"choices":[{"finish_reason":1}]}`, `{"usage":7}`,
	} {
		if err := decode([]byte(in), new(chunk)); err == nil {
			t.Errorf("decode(%s) is fine, want an error", in)
		}
	}
}

// FuzzScan: where scan is certain, decode says the same.
func FuzzScan(f *testing.F) {
	for _, seed := range chunkSeeds(f) {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var scanned, decoded chunk
		if !scan(data, &scanned) {
			return
		}
		if err := decode(data, &decoded); err != nil {
			t.Fatalf("scan was certain of what decode refuses: %v", err)
		}
		if diff := same(decoded, scanned); diff != "" {
			t.Fatalf("(-decoded +scanned):\n%s", diff)
		}
	})
}
