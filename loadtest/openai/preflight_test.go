package openai

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// pages is a fake engine: the body of every path, "" for the good stream. A
// path that is not listed is 404. A body may open with a status: "503 loading".
type pages map[string]string

const completionPath = "/v1/chat/completions"

func (p pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := p[r.URL.Path]
	var status int
	switch n, _ := fmt.Sscanf(body, "%3d ", &status); {
	case !ok:
		http.NotFound(w, r)
	case n == 1:
		w.WriteHeader(status)
		io.WriteString(w, strings.TrimPrefix(body, fmt.Sprint(status, " ")))
	case body == "" && r.URL.Path == completionPath:
		answerStream(w, goodStream)
	default:
		io.WriteString(w, body)
	}
}

const oneModel = `{"object":"list","data":[{"id":"meta/llama-8b","object":"model","owned_by":"vllm","max_model_len":4096}]}`

// fast are options for tests: patient enough for a busy machine, polling often.
func fast(timeout time.Duration) PreflightOptions {
	return PreflightOptions{ReadyTimeout: timeout, Poll: time.Millisecond}
}

// target returns a client that names no model.
func target(t testing.TB, handler http.Handler, model string) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	c, err := New(Options{BaseURL: server.URL, Model: model, APIKey: "sk-very-secret"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func TestPreflightEngines(t *testing.T) {
	llamaModels, err := os.ReadFile("testdata/real/llama-models.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		pages pages
		want  Info
	}{
		{"vLLM", pages{"/health": "", "/v1/models": oneModel, completionPath: "", "/version": `{"version":"0.11.0"}`},
			Info{Model: "meta/llama-8b", Engine: "vllm", EngineVersion: "0.11.0", Flags: map[string]string{"owned_by": "vllm", "max_model_len": "4096"}}},
		{"llama.cpp", pages{"/health": `{"status":"ok"}`, "/v1/models": string(llamaModels), completionPath: "",
			"/props": `{"build_info":"b1-80fb11a","total_slots":4,"model_path":"m.gguf","chat_template":"long","default_generation_settings":{"n_ctx":2048}}`},
			Info{Model: "stories260k", Engine: "llama.cpp", EngineVersion: "b1-80fb11a", Flags: map[string]string{"owned_by": "llamacpp", "total_slots": "4", "n_ctx": "2048", "model_path": "m.gguf"}}},
		{"SGLang", pages{"/health": "", "/v1/models": `{"data":[{"id":"q","owned_by":"sglang"}]}`, completionPath: "",
			"/get_server_info": `{"version":"0.5.4","mem_fraction_static":0.88,"tp_size":2,"api_key":"sk-admin","disable_radix_cache":false,"quantization":null}`},
			Info{Model: "q", Engine: "sglang", EngineVersion: "0.5.4", Flags: map[string]string{"owned_by": "sglang", "mem_fraction_static": "0.88", "tp_size": "2", "disable_radix_cache": "false"}}},
		{"TGI", pages{"/health": "", "/v1/models": `{"data":[{"id":"q"}]}`, completionPath: "", "/info": `{"model_id":"q","model_sha":"abc123","version":"3.0"}`},
			Info{Model: "q", ModelRevision: "abc123", Engine: "tgi", EngineVersion: "3.0", Flags: map[string]string{}}},
		{"Ollama", pages{"/v1/models": `{"data":[{"id":"stories:latest","owned_by":"library"}]}`, completionPath: "", "/api/version": `{"version":"0.5.1"}`},
			Info{Model: "stories:latest", Engine: "ollama", EngineVersion: "0.5.1", Flags: map[string]string{"owned_by": "library"}}},
		{"unknown", pages{"/v1/models": `{"data":[{"id":"q"}]}`, completionPath: ""},
			Info{Model: "q", Flags: map[string]string{}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := target(t, c.pages, Auto)
			got, err := client.Preflight(t.Context(), fast(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			if got.ReadyAfter <= 0 {
				t.Error("ready after no time")
			}
			got.ReadyAfter = 0
			if diff := cmp.Diff(c.want, *got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if client.Model() != c.want.Model {
				t.Errorf("client asks for %q", client.Model())
			}
		})
	}
}

func TestPreflightModel(t *testing.T) {
	two := `{"data":[{"id":"meta/llama-8b"},{"id":"qwen-7b","aliases":["small"]}]}`
	for _, c := range []struct {
		name, model, list, want, refusal string
		status                           int
	}{
		{name: "the only one", list: oneModel, want: "meta/llama-8b"},
		{name: "named", model: "qwen-7b", list: two, want: "qwen-7b"},
		{name: "alias", model: "small", list: two, want: "small"},
		{name: "several", model: Auto, list: two, refusal: "it serves 2 models, name one with --model: meta/llama-8b, qwen-7b"},
		{name: "unknown", model: "gwen-7b", list: two, refusal: `it has no model "gwen-7b", did you mean "qwen-7b"? It serves: meta/llama-8b, qwen-7b`},
		{name: "part of a name", model: "llama-8B", list: two, refusal: `did you mean "meta/llama-8b"?`},
		{name: "far off", model: "gpt-4", list: two, refusal: `it has no model "gpt-4". It serves: meta/llama-8b, qwen-7b`},
		{name: "no list, named", model: "x", list: "404 no", want: "x"},
		{name: "no list, not named", list: "404 no", status: 404, refusal: "name one with --model"},
		{name: "a page for a list", list: "<html>", status: 200, refusal: "is no model list: <html>"},
		{name: "401", list: `401 {"error":"Invalid key sk-very-secret"}`, status: 401, refusal: "HTTP 401: Invalid key ***"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := target(t, pages{"/v1/models": c.list, completionPath: ""}, c.model)
			info, err := client.Preflight(t.Context(), fast(time.Minute))
			var refused *RefusedError
			switch {
			case c.refusal == "" && err != nil:
				t.Fatal(err)
			case c.refusal == "" && info.Model != c.want:
				t.Errorf("model %q, want %q", info.Model, c.want)
			case c.refusal != "" && !errors.As(err, &refused):
				t.Errorf("error %v, want a refusal", err)
			case c.refusal != "" && (!strings.Contains(err.Error(), c.refusal) || refused.Status != c.status):
				t.Errorf("status %d, %v; want status %d with %q", refused.Status, err, c.status, c.refusal)
			}
		})
	}
}

// TestPreflightRefusals: what waiting does not mend is told at once, however
// long the timeout.
func TestPreflightRefusals(t *testing.T) {
	html := "<!DOCTYPE html><title>Welcome</title>"
	for _, c := range []struct {
		name   string
		pages  pages
		status int
		want   string
	}{
		{"401", pages{completionPath: `401 {"error":{"message":"no key"}}`}, 401, completionPath + ": HTTP 401: no key"},
		{"403", pages{completionPath: `403 forbidden`}, 403, "HTTP 403: forbidden"},
		{"404", pages{}, 404, "HTTP 404: 404 page not found"},
		{"400", pages{completionPath: `400 {"message":"bad template"}`}, 400, "HTTP 400: bad template"},
		{"a web page", pages{"/health": html, "/v1/models": html, completionPath: html}, 0, "no event stream"},
		{"no stream", pages{completionPath: `{"choices":[]}`}, 0, "no event stream"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := target(t, c.pages, "m").Preflight(t.Context(), fast(time.Hour))
			var refused *RefusedError
			if !errors.As(err, &refused) || refused.Status != c.status || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want a refusal, status %d, with %q", err, c.status, c.want)
			}
		})
	}
	for _, change := range [][2]string{{"https", "https"}, {"http", "https"}} {
		server := httptest.NewUnstartedServer(pages{})
		server.Config.ErrorLog = quiet()
		want := "plain HTTP"
		if change[0] == "https" {
			server.StartTLS()
			want = "certificate does not verify"
		} else {
			server.Start()
		}
		defer server.Close()
		client := newClient(t, Options{BaseURL: change[1] + strings.TrimPrefix(server.URL, change[0])})
		_, err := client.Preflight(t.Context(), fast(time.Hour))
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want a refusal with %q", change[1], err, want)
		}
	}
}

// TestPreflightNotReady: what may get better is waited for, and told with the
// address, the wait and the last error.
func TestPreflightNotReady(t *testing.T) {
	var closed string
	{
		ln := listen(t)
		closed = "http://" + ln.Addr().String()
		ln.Close()
	}
	serveURL := func(p pages) string {
		server := httptest.NewServer(p)
		t.Cleanup(server.Close)
		return server.URL
	}
	for _, c := range []struct {
		name, url string
		timeout   time.Duration
		want      string
	}{
		{"refused", closed, 50 * time.Millisecond, "/health: waited "},
		{"refused, asked once", closed, 0, "connection refused"},
		{"loading", serveURL(pages{"/health": `503 {"error":{"message":"Loading model"}}`}), 50 * time.Millisecond, "HTTP 503: Loading model"},
		{"models not there yet", serveURL(pages{"/v1/models": `{"data":[]}`}), 50 * time.Millisecond, "lists no model yet"},
		{"overloaded", serveURL(pages{"/v1/models": oneModel, completionPath: "503 no worker"}), 50 * time.Millisecond, "completions: waited "},
		{"limited", serveURL(pages{"/v1/models": oneModel, completionPath: "429 slow down"}), 50 * time.Millisecond, "HTTP 429: slow down"},
		{"a fault each time", serveURL(pages{"/v1/models": oneModel, completionPath: "500 boom"}), time.Hour, "HTTP 500: boom"},
		{"a broken stream each time", serveURL(pages{"/v1/models": oneModel, completionPath: tokenEvent}), time.Hour, "neither finish_reason nor [DONE]"},
		{"no model list, a fault", serveURL(pages{"/v1/models": "500 boom"}), time.Hour, "HTTP 500: boom"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, err := New(Options{BaseURL: c.url})
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			var said []string
			p := fast(c.timeout)
			p.Progress = func(s string) { said = append(said, s) }
			_, err = client.Preflight(t.Context(), p)
			var notReady *NotReadyError
			if !errors.As(err, &notReady) || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.url) || notReady.Last == nil {
				t.Errorf("%v, want not ready with %q and %q", err, c.url, c.want)
			}
			for _, s := range said { // on a slow machine the first attempt may outlast the timeout: then none
				if !strings.Contains(s, c.url) {
					t.Errorf("progress %q, want it to name %s", s, c.url)
				}
			}
		})
	}
}

// TestPreflightWaits: a server that comes up late: nothing listens, then it
// loads, then its model appears, then it answers.
func TestPreflightWaits(t *testing.T) {
	ln := listen(t)
	addr := ln.Addr().String()
	ln.Close()
	client, err := New(Options{BaseURL: "http://" + addr})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	var asked [3]atomic.Int32
	late := func(i int, path, before string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			p := pages{"/health": "", "/v1/models": oneModel, completionPath: ""}
			if asked[i].Add(1) < 3 {
				p[path] = before
			}
			p.ServeHTTP(w, r)
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/health", late(0, "/health", "503 loading"))
	mux.Handle("/v1/models", late(1, "/v1/models", `{"data":[]}`))
	mux.Handle(completionPath, late(2, completionPath, "503 warming up"))
	server := &http.Server{Handler: mux}
	defer server.Close()
	var said []string
	p := fast(time.Minute)
	p.Progress = func(s string) {
		if len(said) == 0 { // refused once: now it starts
			ln, err := net.Listen("tcp", addr)
			if err != nil {
				t.Errorf("listen again: %v", err)
				return
			}
			go server.Serve(ln)
		}
		said = append(said, s)
	}
	info, err := client.Preflight(t.Context(), p)
	if err != nil {
		t.Fatalf("%v\n%s", err, strings.Join(said, "\n"))
	}
	if info.Model != "meta/llama-8b" {
		t.Errorf("model %q", info.Model)
	}
	for i, want := range []string{"connection refused", "HTTP 503: loading", "lists no model yet", "HTTP 503: warming up"} {
		if i >= len(said) || !strings.Contains(said[i], want) {
			t.Fatalf("progress %q, want %q at %d", said, want, i)
		}
	}
	if len(said) != 4 {
		t.Errorf("progress %q, want one line a change", said)
	}
}

func TestPreflightCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := fast(time.Hour)
	p.Progress = func(string) { cancel() }
	_, err := target(t, pages{"/health": "503 loading"}, "m").Preflight(ctx, p)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
}

// TestPreflightLearns: members that the server refuses are known before the load.
func TestPreflightLearns(t *testing.T) {
	client := target(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			io.WriteString(w, oneModel)
		case completionPath:
			if members(t, r)["min_tokens"] != nil {
				w.WriteHeader(http.StatusBadRequest)
				io.WriteString(w, `{"detail":[{"loc":["body","min_tokens"],"msg":"Extra inputs are not permitted"}]}`)
				return
			}
			answerStream(w, goodStream)
		default:
			http.NotFound(w, r)
		}
	}), "")
	p := fast(time.Minute)
	p.ExactOutput = true
	info, err := client.Preflight(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"min_tokens"}, info.Refused); diff != "" {
		t.Error(diff)
	}
}

// FuzzModels: no list of models makes the checks of a name panic, and every
// listed model answers to its own name.
func FuzzModels(f *testing.F) {
	f.Add([]byte(oneModel), "llama")
	f.Add([]byte(`{"data":[{"id":"\u0000"},null,{}]}`), "")
	f.Fuzz(func(t *testing.T, list []byte, wanted string) {
		models, err := parseModels(http.StatusOK, list)
		if err != nil {
			return
		}
		for _, m := range models {
			if m.ID == "" || !m.is(m.ID) {
				t.Errorf("model %+v does not answer to its name", m)
			}
		}
		nearest(wanted, models)
		names(models)
	})
}
