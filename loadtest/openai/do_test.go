package openai

import (
	"bufio"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

const (
	tokenEvent  = `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":null}]}` + "\n\n"
	finishEvent = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n"
	usageEvent  = `data: {"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":1}}` + "\n\n"
	doneEvent   = "data: [DONE]\n\n"
	goodStream  = tokenEvent + finishEvent + usageEvent + doneEvent
)

// answer writes a 200 event stream.
func answerStream(w http.ResponseWriter, stream string) {
	w.Header().Set("Content-Type", "text/event-stream")
	io.WriteString(w, stream)
}

func TestOutcomesOfAnswers(t *testing.T) {
	html := `<!DOCTYPE html><html><head><title>Welcome</title></head></html>`
	for _, c := range []struct {
		name     string
		status   int
		kind     string
		body     string
		want     loadtest.Outcome
		contains string
	}{
		{"good", 200, "text/event-stream", goodStream, loadtest.OK, ""},
		{"good under another type", 200, "text/plain; charset=utf-8", goodStream, loadtest.OK, ""},
		{"DONE without finish_reason", 200, "text/event-stream", tokenEvent + doneEvent, loadtest.OK, ""},
		{"finish_reason without DONE", 200, "text/event-stream", tokenEvent + finishEvent, loadtest.OK, ""},
		{"an empty answer", 200, "text/event-stream", finishEvent + doneEvent, loadtest.OK, ""},
		{"what follows DONE is nothing", 200, "text/event-stream", goodStream + "data: {broken\n\n", loadtest.OK, ""},
		{"DONE alone", 200, "text/event-stream", doneEvent, loadtest.Malformed, "no completion chunk"},
		{"pings alone", 200, "text/event-stream", ": ping\n\n: ping\n\n", loadtest.Truncated, "neither finish_reason nor [DONE]"},
		{"empty body", 200, "text/event-stream", "", loadtest.Truncated, "no body"},
		{"half an event at the end", 200, "text/event-stream", tokenEvent + `data: {"choices":[{"del`, loadtest.Truncated, "within an event"},
		{"a list in place of an object", 200, "text/event-stream", "data: []\n\n" + doneEvent, loadtest.Malformed, "event 1 is not a completion chunk"},
		{"finish_reason abort", 200, "text/event-stream", tokenEvent + `data: {"choices":[{"delta":{},"finish_reason":"abort"}]}` + "\n\n" + doneEvent, loadtest.StreamError, `finish_reason "abort"`},
		{"error event of plain text", 200, "text/event-stream", tokenEvent + "event: error\ndata: worker died\n\n", loadtest.StreamError, "worker died"},
		{"old vLLM error object", 200, "text/event-stream", tokenEvent + `data: {"object":"error","message":"out of blocks","code":500}` + "\n\n", loadtest.StreamError, "out of blocks"},
		{"error object and no stream", 200, "application/json", `{"error":{"message":"no GPU"}}`, loadtest.StreamError, "no GPU"},
		{"JSON and no stream", 200, "application/json", `{"id":"x","choices":[{"message":{"content":"hi"}}]}`, loadtest.Malformed, `no event stream (application/json): {"id":"x"`},
		{"a web page", 200, "text/html", html, loadtest.Malformed, "no event stream (text/html): <!DOCTYPE html>"},
		{"a web page without a type", 200, "", html, loadtest.Malformed, "<!DOCTYPE html>"},
		{"400", 400, "application/json", `{"error":{"code":400,"message":"request (5002 tokens) exceeds the available context size (2048 tokens)","type":"exceed_context_size_error"}}`, loadtest.HTTP4xx, "HTTP 400: request (5002 tokens) exceeds"},
		{"401", 401, "application/json", `{"error":"Unauthorized"}`, loadtest.HTTP4xx, "HTTP 401: Unauthorized"},
		{"404", 404, "text/plain", "404 page not found\n", loadtest.HTTP4xx, "HTTP 404: 404 page not found"},
		{"404 without a body", 404, "text/plain", "", loadtest.HTTP4xx, "HTTP 404: Not Found"},
		{"422 of FastAPI", 422, "application/json", `{"detail":[{"loc":["body","messages"],"msg":"Field required"}]}`, loadtest.HTTP4xx, "messages: Field required"},
		{"429", 429, "application/json", `{"message":"slow down"}`, loadtest.HTTP429, "HTTP 429: slow down"},
		{"500", 500, "application/json", `{"error":{"code":500,"message":"parse error"}}`, loadtest.HTTP5xx, "HTTP 500: parse error"},
		{"502 page", 502, "text/html", "<h1>Bad\x00\x1b[31m Gateway</h1>", loadtest.HTTP5xx, "HTTP 502: <h1>Bad [31m Gateway</h1>"},
		{"a long error", 500, "text/plain", strings.Repeat("é", 4000), loadtest.HTTP5xx, "é…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
				w.Header()["Content-Type"] = nil
				if c.kind != "" {
					w.Header().Set("Content-Type", c.kind)
				}
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			reply := do(t, client, request())
			if reply.Outcome != c.want || !strings.Contains(reply.Detail, c.contains) {
				t.Errorf("outcome %q, detail %q; want %q with %q", reply.Outcome, reply.Detail, c.want, c.contains)
			}
			if (reply.Outcome == loadtest.OK) != (reply.Detail == "") {
				t.Errorf("outcome %q with detail %q", reply.Outcome, reply.Detail)
			}
			if reply.Status != c.status || reply.Sent.IsZero() || reply.End <= 0 || len(reply.Detail) > maxWords {
				t.Errorf("status %d, sent %v, end %v, detail of %d bytes", reply.Status, reply.Sent, reply.End, len(reply.Detail))
			}
		})
	}
}

func TestOutcomesWithoutAnswer(t *testing.T) {
	// hang accepts, reads the request and says nothing.
	hang := func(t *testing.T) string {
		block := make(chan struct{})
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			io.Copy(io.Discard, r.Body)
			select {
			case <-block:
			case <-r.Context().Done():
			}
		}))
		t.Cleanup(func() { close(block); server.Close() })
		return server.URL
	}
	// raw answers a connection's first bytes with reply and closes.
	raw := func(reply string) func(t *testing.T) string {
		return func(t *testing.T) string {
			ln := listen(t)
			go func() {
				for {
					conn, err := ln.Accept()
					if err != nil {
						return
					}
					readRequest(conn)
					io.WriteString(conn, reply)
					conn.Close()
				}
			}()
			return "http://" + ln.Addr().String()
		}
	}
	tlsServer := func(t *testing.T) string {
		server := httptest.NewUnstartedServer(http.NotFoundHandler())
		server.Config.ErrorLog = quiet()
		server.StartTLS()
		t.Cleanup(server.Close)
		return server.URL
	}
	for _, c := range []struct {
		name     string
		url      func(t *testing.T) string
		ctx      func(context.Context) (context.Context, context.CancelFunc)
		timeout  time.Duration
		want     loadtest.Outcome
		contains string
	}{
		{name: "refused", url: func(t *testing.T) string {
			ln := listen(t)
			ln.Close()
			return "http://" + ln.Addr().String()
		}, want: loadtest.Connect, contains: "connection refused"},
		{name: "certificate", url: tlsServer, want: loadtest.TLS, contains: "certificate"},
		{name: "TLS to a plain server", url: func(t *testing.T) string { return strings.Replace(raw("")(t), "http", "https", 1) }, want: loadtest.TLS},
		{name: "TLS to plain HTTP", url: func(t *testing.T) string {
			return strings.Replace(raw("HTTP/1.1 400 Bad Request\r\n\r\n")(t), "http", "https", 1)
		}, want: loadtest.TLS, contains: "plain HTTP, not TLS"},
		{name: "plain HTTP to TLS", url: func(t *testing.T) string { return strings.Replace(tlsServer(t), "https", "http", 1) }, want: loadtest.HTTP4xx, contains: "HTTPS server"},
		{name: "closed at once", url: raw(""), want: loadtest.Truncated, contains: "before an answer began"},
		{name: "cut header", url: raw("HTTP/1.1 200 OK\r\nServer: x\r\n"), want: loadtest.Truncated, contains: "before an answer began"},
		{name: "no HTTP", url: raw("SSH-2.0-OpenSSH_9.2\r\n"), want: loadtest.Malformed, contains: "malformed HTTP"},
		{name: "broken chunks", url: raw("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"), want: loadtest.Malformed, contains: "chunk"},
		{name: "short of its length", url: raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + goodStream[:60]), want: loadtest.Truncated, contains: "cut short"},
		{name: "encoded", url: raw("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nxx"), want: loadtest.Malformed, contains: "encoded (br)"},
		{name: "deadline", url: hang, ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			return context.WithTimeout(ctx, 50*time.Millisecond)
		}, want: loadtest.Timeout, contains: "before an answer began"},
		{name: "timeout option", url: hang, timeout: 50 * time.Millisecond, want: loadtest.Timeout, contains: "timed out"},
		{name: "cancelled", url: hang, ctx: func(ctx context.Context) (context.Context, context.CancelFunc) {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return ctx, cancel
		}, want: loadtest.Unfinished, contains: "stopped"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client := newClient(t, Options{BaseURL: c.url(t), Timeout: c.timeout})
			ctx, cancel := t.Context(), context.CancelFunc(func() {})
			if c.ctx != nil {
				ctx, cancel = c.ctx(ctx)
			}
			defer cancel()
			var reply loadtest.Reply
			if err := client.Do(ctx, request(), &reply); err != nil {
				t.Fatal(err)
			}
			if reply.Outcome != c.want || !strings.Contains(reply.Detail, c.contains) || reply.Detail == "" {
				t.Errorf("outcome %q, detail %q; want %q with %q", reply.Outcome, reply.Detail, c.want, c.contains)
			}
			if reply.Resends != 0 {
				t.Errorf("%d resends on fresh connections", reply.Resends)
			}
		})
	}
}

// TestMiddleOfStream: a stream that stalls is a timeout or unfinished, with
// what came so far.
func TestMiddleOfStream(t *testing.T) {
	for _, want := range []loadtest.Outcome{loadtest.Timeout, loadtest.Unfinished} {
		ctx, cancel := context.WithCancel(t.Context())
		if want == loadtest.Timeout {
			ctx, cancel = context.WithTimeout(t.Context(), 200*time.Millisecond)
		}
		client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
			answerStream(w, tokenEvent)
			w.(http.Flusher).Flush()
			if want == loadtest.Unfinished {
				cancel()
			}
			<-r.Context().Done()
		})
		var reply loadtest.Reply
		if err := client.Do(ctx, request(), &reply); err != nil {
			t.Fatal(err)
		}
		cancel()
		if reply.Outcome != want {
			t.Errorf("outcome %q (%s), want %q", reply.Outcome, reply.Detail, want)
		}
	}
}

func TestOwnShortage(t *testing.T) {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.EADDRNOTAVAIL, syscall.ENOMEM} {
		client := newClient(t, Options{BaseURL: "http://127.0.0.1:1"})
		client.pooled.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
		}
		if reply := do(t, client, request()); reply.Outcome != loadtest.Client {
			t.Errorf("%v: outcome %q, want client", errno, reply.Outcome)
		}
	}
}

// TestFirstTokens: k of the first chunk by per-chunk usage, by log
// probabilities, else unknown.
func TestFirstTokens(t *testing.T) {
	role := `data: {"choices":[{"delta":{"role":"assistant","content":""}}],"usage":{"prompt_tokens":3,"completion_tokens":0}}` + "\n\n"
	for _, c := range []struct {
		name, stream string
		want         int
	}{
		{"usage", role + `data: {"choices":[{"delta":{"content":"a b c"}}],"usage":{"prompt_tokens":3,"completion_tokens":3}}` + "\n\n" + goodStream, 3},
		{"chat logprobs", `data: {"choices":[{"delta":{"content":"a b"},"logprobs":{"content":[{},{}]}}]}` + "\n\n" + goodStream, 2},
		{"completions logprobs", `data: {"choices":[{"text":"a b","logprobs":{"tokens":["a"," b"]}}]}` + "\n\n" + goodStream, 2},
		{"usage before logprobs", `data: {"choices":[{"delta":{"content":"a b"},"logprobs":{"content":[{}]}}],"usage":{"prompt_tokens":3,"completion_tokens":2}}` + "\n\n" + goodStream, 2},
		{"neither", goodStream, 0},
		{"later usage does not count", tokenEvent + role + goodStream, 0},
	} {
		client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) { answerStream(w, c.stream) })
		if reply := do(t, client, request()); reply.Outcome != loadtest.OK || reply.FirstTokens != c.want {
			t.Errorf("%s: %d first tokens (%s %s), want %d", c.name, reply.FirstTokens, reply.Outcome, reply.Detail, c.want)
		}
	}
}

// TestUsageThatContradicts: no tokens in a stream with content is no count.
func TestUsageThatContradicts(t *testing.T) {
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		answerStream(w, tokenEvent+finishEvent+`data: {"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`+"\n\n"+doneEvent)
	})
	if reply := do(t, client, request()); reply.Outcome != loadtest.OK || reply.Usage != nil {
		t.Errorf("outcome %q, usage %+v, want ok and none", reply.Outcome, reply.Usage)
	}
}

func TestReplyIsReset(t *testing.T) {
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) { answerStream(w, goodStream) })
	var reply loadtest.Reply
	for range 3 {
		if err := client.Do(t.Context(), request(), &reply); err != nil {
			t.Fatal(err)
		}
		if len(reply.Arrivals) != 1 || string(reply.Content) != "a" || reply.Answer != 0 || reply.Usage == nil || reply.Usage.CompletionTokens != 1 {
			t.Fatalf("reply %+v", reply)
		}
	}
}

// TestDoneEndsTheAnswer: a server that keeps the body open behind [DONE] does
// not hold the request up.
func TestDoneEndsTheAnswer(t *testing.T) {
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		answerStream(w, goodStream)
		w.(http.Flusher).Flush()
		<-r.Context().Done() // until the client hangs up
	})
	if reply := do(t, client, request()); reply.Outcome != loadtest.OK {
		t.Errorf("outcome %q (%s)", reply.Outcome, reply.Detail)
	}
}

// TestConnectionsAreReused: an answer read to its [DONE] leaves its connection
// for the next request, be its last chunk there yet or not.
func TestConnectionsAreReused(t *testing.T) {
	var opened atomic.Int32
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerStream(w, goodStream)
		w.(http.Flusher).Flush()
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	server.Start()
	defer server.Close()
	client := newClient(t, Options{BaseURL: server.URL})
	for range 5 {
		if reply := do(t, client, request()); reply.Outcome != loadtest.OK {
			t.Fatal(reply.Outcome, reply.Detail)
		}
	}
	// One is usual; a last chunk that a busy machine delays past drainTime costs
	// its connection. Without reuse there would be five.
	if n := opened.Load(); n > 3 {
		t.Errorf("%d connections for 5 requests in a row, want 1", n)
	}
}

// TestTrickle: an answer in single bytes.
func TestTrickle(t *testing.T) {
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range goodStream {
			io.WriteString(w, goodStream[i:i+1])
			w.(http.Flusher).Flush()
		}
	})
	if reply := do(t, client, request()); reply.Outcome != loadtest.OK || len(reply.Arrivals) != 1 {
		t.Errorf("outcome %q (%s), %d payload events", reply.Outcome, reply.Detail, len(reply.Arrivals))
	}
}

// TestEndlessLine: a line of a gigabyte is malformed and costs bounded memory.
func TestEndlessLine(t *testing.T) {
	client := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		answerStream(w, "data: ")
		block := strings.Repeat("x", 1<<20)
		for range 1 << 10 {
			if _, err := io.WriteString(w, block); err != nil {
				return
			}
		}
	})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	reply := do(t, client, request())
	runtime.ReadMemStats(&after)
	if reply.Outcome != loadtest.Malformed || !strings.Contains(reply.Detail, "too long") {
		t.Errorf("outcome %q (%s), want malformed", reply.Outcome, reply.Detail)
	}
	// The buffer doubles up to 16 MiB: 32 MiB in all, and the server's block.
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 64<<20 {
		t.Errorf("%d MiB allocated", grown>>20)
	}
}

func TestRedirectIsNotFollowed(t *testing.T) {
	var reached atomic.Bool
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Store(true) }))
	defer other.Close()
	client := serve(t, Options{APIKey: "sk-secret-key"}, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/x?token=hidden", http.StatusTemporaryRedirect)
	})
	reply := do(t, client, request())
	if reply.Outcome != loadtest.HTTP4xx || !strings.Contains(reply.Detail, "redirects to "+other.URL+"/x;") || reached.Load() {
		t.Errorf("outcome %q, detail %q, followed %v", reply.Outcome, reply.Detail, reached.Load())
	}
}

// TestSecretsStayHidden: whatever the server repeats of key and headers is masked.
func TestSecretsStayHidden(t *testing.T) {
	client := serve(t, Options{APIKey: "sk-very-secret", Header: http.Header{"x-token": {"Basic dG9wOnNlY3JldA=="}}}, func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
		fmt.Fprintf(w, `{"error":{"message":"bad key %s, token %s"}}`, r.Header.Get("Authorization"), r.Header.Get("X-Token"))
	})
	reply := do(t, client, request())
	if want := "HTTP 401: bad key Bearer ***, token ***"; reply.Detail != want {
		t.Errorf("detail %q, want %q", reply.Detail, want)
	}
}

func TestTLS(t *testing.T) {
	for _, http2 := range []bool{false, true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if (r.ProtoMajor == 2) != http2 {
				w.WriteHeader(http.StatusHTTPVersionNotSupported)
				return
			}
			answerStream(w, goodStream)
		}))
		server.EnableHTTP2 = http2
		server.StartTLS()
		defer server.Close()
		ca := filepath.Join(t.TempDir(), "ca.pem")
		block := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
		if err := os.WriteFile(ca, block, 0o600); err != nil {
			t.Fatal(err)
		}
		client := newClient(t, Options{BaseURL: server.URL, CAFile: ca})
		for range 2 {
			if reply := do(t, client, request()); reply.Outcome != loadtest.OK {
				t.Errorf("HTTP/2 %v: outcome %q (%s)", http2, reply.Outcome, reply.Detail)
			}
		}
	}
}

// readRequest reads one request from conn, as far as it comes.
func readRequest(conn net.Conn) (*http.Request, error) {
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return nil, err
	}
	_, err = io.Copy(io.Discard, req.Body)
	return req, err
}

// members decodes a request's body.
func members(t testing.TB, r *http.Request) map[string]json.RawMessage {
	t.Helper()
	var m map[string]json.RawMessage
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		t.Errorf("request body: %v", err)
	}
	return m
}
