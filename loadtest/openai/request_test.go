package openai

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/loadtest"
)

func TestBody(t *testing.T) {
	hello := []loadtest.Message{{Role: "user", Content: "hello"}}
	for _, c := range []struct {
		name, api string
		req       loadtest.Request
		without   wish
		want      string
	}{
		{"chat", Chat, loadtest.Request{Messages: hello, MaxTokens: 5}, 0,
			`{"max_tokens":5,"messages":[{"role":"user","content":"hello"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"no cap", Chat, loadtest.Request{Messages: hello}, 0,
			`{"messages":[{"role":"user","content":"hello"}],"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"exact", Chat, loadtest.Request{Messages: hello, MaxTokens: 5, ExactOutput: true}, 0,
			`{"ignore_eos":true,"max_tokens":5,"messages":[{"role":"user","content":"hello"}],"min_tokens":5,"model":"m","stream":true,"stream_options":{"include_usage":true}}`},
		{"refused", Chat, loadtest.Request{Messages: hello, MaxTokens: 5, ExactOutput: true}, wishUsage | wishIgnoreEOS | wishMinTokens,
			`{"max_tokens":5,"messages":[{"role":"user","content":"hello"}],"model":"m","stream":true}`},
		{"completions", Completions, loadtest.Request{Messages: append(hello, loadtest.Message{Raw: json.RawMessage(`{"role":"user","content":[{"type":"text","text":"wor"},{"type":"text","text":"ld"}]}`)})}, 0,
			`{"model":"m","prompt":"hello\nworld","stream":true,"stream_options":{"include_usage":true}}`},
		{"extra", Chat, loadtest.Request{Messages: []loadtest.Message{{Raw: json.RawMessage(`{"role":"tool","x":1}`)}}, MaxTokens: 5, Extra: map[string]json.RawMessage{
			"temperature": json.RawMessage(`0.5`), "max_tokens": json.RawMessage(`7`), "model": json.RawMessage(`"other"`), "stream": json.RawMessage(`false`),
			"stream_options": json.RawMessage(`{"continuous_usage_stats":true,"include_usage":false}`), "prompt": json.RawMessage(`"x"`),
		}}, 0,
			`{"max_tokens":7,"messages":[{"role":"tool","x":1}],"model":"m","stream":true,"stream_options":{"continuous_usage_stats":true,"include_usage":true},"temperature":0.5}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, _, err := body(c.api, "m", &c.req, c.without)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, string(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestBodyErrors(t *testing.T) {
	for want, req := range map[string]loadtest.Request{
		`type "image_url"`: {Messages: []loadtest.Message{{Raw: json.RawMessage(`{"content":[{"type":"image_url"}]}`)}}},
		"neither text":     {Messages: []loadtest.Message{{Raw: json.RawMessage(`{"content":5}`)}}},
		"stream_options":   {Extra: map[string]json.RawMessage{"stream_options": json.RawMessage(`5`)}},
		"encode request":   {Extra: map[string]json.RawMessage{"x": json.RawMessage(`{`)}},
	} {
		client := newClient(t, Options{BaseURL: "http://127.0.0.1:1", API: Completions})
		err := client.Do(t.Context(), &req, new(loadtest.Reply))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want it to hold %q", err, want)
		}
	}
	client := newClient(t, Options{BaseURL: "http://127.0.0.1:1", Model: Auto})
	if err := client.Do(t.Context(), request(), new(loadtest.Reply)); err == nil || !strings.Contains(err.Error(), "no model") {
		t.Errorf("error %v, want one about the model", err)
	}
}

// TestRefusedMembers: a server that names a member it does not take gets the
// request again without it, and no request with it after that.
func TestRefusedMembers(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses []string
		status  int
		want    []string
	}{
		{"takes all", nil, 0, nil},
		{"stream_options", []string{"stream_options"}, 400, []string{"stream_options"}},
		{"ignore_eos", []string{"ignore_eos"}, 400, []string{"ignore_eos"}},
		{"all, one after the other", []string{"min_tokens", "stream_options", "ignore_eos"}, 422, []string{"stream_options", "ignore_eos", "min_tokens"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var turned atomic.Int32
			client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				m := members(t, r)
				for _, name := range c.refuses {
					if m[name] != nil {
						turned.Add(1)
						w.WriteHeader(c.status)
						io.WriteString(w, `{"error":{"message":"Unrecognized request argument supplied: `+name+`"}}`)
						return
					}
				}
				answerStream(w, goodStream)
			})
			exact := request()
			exact.ExactOutput = true
			for range 3 {
				if reply := do(t, client, exact); reply.Outcome != loadtest.OK {
					t.Fatal(reply.Outcome, reply.Detail)
				}
			}
			if diff := cmp.Diff(c.want, client.Refused()); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
			if n := turned.Load(); int(n) != len(c.refuses) {
				t.Errorf("turned away %d times, want %d", n, len(c.refuses))
			}
		})
	}
}

// TestRefusedForAnotherReason: a 400 that names nothing we could leave out, or
// something that was not sent, is the answer.
func TestRefusedForAnotherReason(t *testing.T) {
	var n atomic.Int32
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		n.Add(1)
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"error":{"message":"max_tokens is too large (and no ignore_eos)"}}`)
	})
	if reply := do(t, client, request()); reply.Outcome != loadtest.HTTP4xx || n.Load() != 1 {
		t.Errorf("outcome %q after %d tries", reply.Outcome, n.Load())
	}
}

// TestConcurrentUse: many streams over one client, with a member refused at
// the same time.
func TestConcurrentUse(t *testing.T) {
	client := serve(t, Options{APIKey: "key-of-mine"}, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer key-of-mine" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if members(t, r)["stream_options"] != nil {
			w.WriteHeader(http.StatusBadRequest)
			io.WriteString(w, "stream_options: not permitted")
			return
		}
		answerStream(w, goodStream)
	})
	var all sync.WaitGroup
	for range 32 {
		all.Go(func() {
			var reply loadtest.Reply
			for range 5 {
				if err := client.Do(t.Context(), request(), &reply); err != nil || reply.Outcome != loadtest.OK || string(reply.Content) != "a" {
					t.Errorf("%v, %q (%s), content %q", err, reply.Outcome, reply.Detail, reply.Content)
				}
			}
		})
	}
	all.Wait()
}
