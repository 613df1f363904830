package openai

import (
	"bufio"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// streamCase is a file of testdata/streams: what a server writes, each write
// alone, and what the client must make of it.
type streamCase struct {
	Name    string            `json:"name"`
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Chunked bool              `json:"chunked"`
	End     string            `json:"end"` // "", "close" (no last chunk) or "reset"
	Writes  []struct {
		AfterMS int    `json:"after_ms"`
		Text    string `json:"text"`
		Hex     string `json:"hex"`
	} `json:"writes"`
	Expect struct {
		Outcome           loadtest.Outcome `json:"outcome"`
		Content           *string          `json:"content"`
		ContentLength     *int             `json:"content_length"`
		OutputTokens      json.RawMessage  `json:"output_tokens"`
		PayloadEvents     *int             `json:"payload_events"`
		FirstPayloadWrite *int             `json:"first_payload_write"`
		FirstAnswerWrite  *int             `json:"first_answer_write"`
		FinishReason      *string          `json:"finish_reason"`
		ErrorContains     string           `json:"error_contains"`
	} `json:"expect"`
}

func (c streamCase) write(t testing.TB, i int) []byte {
	w := c.Writes[i]
	if w.Hex == "" {
		return []byte(w.Text)
	}
	raw, err := hex.DecodeString(w.Hex)
	if err != nil {
		t.Fatalf("%s: writes[%d]: %v", c.Name, i, err)
	}
	return raw
}

func (c streamCase) whole(t testing.TB) (all []byte) {
	for i := range c.Writes {
		all = append(all, c.write(t, i)...)
	}
	return all
}

func streamCases(t testing.TB) []streamCase {
	files, err := filepath.Glob("testdata/streams/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("list testdata/streams: %v, %d files", err, len(files))
	}
	cases := make([]streamCase, len(files))
	for i, file := range files {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &cases[i]); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	return cases
}

// watchedConn is the client's end of a connection. It tells when the client
// has taken everything that was sent and asks for more: then all events in it
// are dispatched and stamped. So a server can write on without guessing a
// pause, and an arrival lies between its write and the next for certain.
type watchedConn struct {
	net.Conn
	mu      sync.Mutex
	changed *sync.Cond
	taken   int
	asking  bool
	closed  bool
}

func watch(conn net.Conn) *watchedConn {
	w := &watchedConn{Conn: conn}
	w.changed = sync.NewCond(&w.mu)
	return w
}

func (w *watchedConn) set(change func()) {
	w.mu.Lock()
	change()
	w.mu.Unlock()
	w.changed.Broadcast()
}

func (w *watchedConn) Read(p []byte) (int, error) {
	w.set(func() { w.asking = true })
	n, err := w.Conn.Read(p)
	w.set(func() { w.asking, w.taken = false, w.taken+n })
	return n, err
}

func (w *watchedConn) Close() error {
	w.set(func() { w.closed = true })
	return w.Conn.Close()
}

// await returns once the client has taken n bytes and asks for more, or has
// closed the connection.
func (w *watchedConn) await(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for !w.closed && (!w.asking || w.taken != n) {
		w.changed.Wait()
	}
}

func TestStreamCases(t *testing.T) {
	for _, c := range streamCases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			playCase(t, c)
		})
	}
}

func playCase(t *testing.T, c streamCase) {
	ln := listen(t)
	watched := make(chan *watchedConn, 1)
	client := newClient(t, Options{BaseURL: "http://" + ln.Addr().String()})
	client.pooled.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		w := watch(conn)
		watched <- w
		return w, nil
	}

	sentAt := make([]time.Time, len(c.Writes)+1)
	served := make(chan error, 1)
	go func() { served <- serveCase(t, c, ln, watched, sentAt) }()

	var reply loadtest.Reply
	if err := client.Do(t.Context(), request(), &reply); err != nil {
		t.Fatal(err)
	}
	if err := <-served; err != nil {
		t.Fatalf("server: %v", err)
	}

	want := c.Expect
	if reply.Outcome != want.Outcome {
		t.Fatalf("outcome %q (%s), want %q", reply.Outcome, reply.Detail, want.Outcome)
	}
	if want.Outcome != loadtest.OK && reply.Detail == "" {
		t.Error("a failure without a word of detail")
	}
	if !strings.Contains(reply.Detail, want.ErrorContains) {
		t.Errorf("detail %q, want it to hold %q", reply.Detail, want.ErrorContains)
	}
	if want.Content != nil && string(reply.Content) != *want.Content {
		t.Errorf("content %q, want %q", reply.Content, *want.Content)
	}
	if want.Content != nil && reply.ContentLength != len(*want.Content) {
		t.Errorf("content length %d, want %d", reply.ContentLength, len(*want.Content))
	}
	if want.ContentLength != nil && reply.ContentLength != *want.ContentLength {
		t.Errorf("content length %d, want %d", reply.ContentLength, *want.ContentLength)
	}
	if want.OutputTokens != nil {
		got := "null"
		if reply.Usage != nil {
			got = fmt.Sprint(reply.Usage.CompletionTokens)
		}
		if got != string(want.OutputTokens) {
			t.Errorf("output tokens %s, want %s", got, want.OutputTokens)
		}
	}
	if want.PayloadEvents != nil && len(reply.Arrivals) != *want.PayloadEvents {
		t.Errorf("%d payload events, want %d", len(reply.Arrivals), *want.PayloadEvents)
	}
	if want.FinishReason != nil && reply.FinishReason != *want.FinishReason {
		t.Errorf("finish reason %q, want %q", reply.FinishReason, *want.FinishReason)
	}
	arrivedIn := func(what string, index, write int) {
		at := reply.Sent.Add(reply.Arrivals[index])
		if at.Before(sentAt[write]) || !sentAt[write+1].After(at) {
			t.Errorf("%s arrived %s after write %d, want it before write %d, %s after", what,
				at.Sub(sentAt[write]), write, write+1, sentAt[write+1].Sub(sentAt[write]))
		}
	}
	if want.FirstPayloadWrite != nil {
		arrivedIn("first payload", 0, *want.FirstPayloadWrite)
	}
	if want.FirstAnswerWrite != nil {
		arrivedIn("first answer", reply.Answer, *want.FirstAnswerWrite)
	}
}

// serveCase plays the case on the first connection and notes when each write
// began; the last entry is when the server ended the connection.
func serveCase(t testing.TB, c streamCase, ln net.Listener, watched <-chan *watchedConn, sentAt []time.Time) error {
	conn, err := ln.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, req.Body); err != nil {
		return err
	}
	client := <-watched
	total := 0
	send := func(format string, args ...any) {
		n, _ := fmt.Fprintf(conn, format, args...) // the client may have hung up: then await returns
		total += n
		client.await(total)
	}
	head := fmt.Sprintf("HTTP/1.1 %d %s\r\n", c.Status, http.StatusText(c.Status))
	for name, value := range c.Headers {
		head += name + ": " + value + "\r\n"
	}
	if c.Chunked {
		head += "Transfer-Encoding: chunked\r\n"
	}
	send("%s\r\n", head)
	for i := range c.Writes {
		time.Sleep(time.Duration(c.Writes[i].AfterMS) * time.Millisecond) // the case's own pace
		sentAt[i] = time.Now()
		raw := c.write(t, i)
		if c.Chunked {
			send("%x\r\n%s\r\n", len(raw), raw)
		} else {
			send("%s", raw)
		}
	}
	sentAt[len(c.Writes)] = time.Now()
	switch {
	case c.End == "reset":
		return conn.(*net.TCPConn).SetLinger(0)
	case c.Chunked && c.End == "":
		_, err = io.WriteString(conn, "0\r\n\r\n")
	}
	return err
}

// TestRealSamples decodes streams recorded from real engines.
func TestRealSamples(t *testing.T) {
	for _, c := range []struct {
		file, api       string
		payload, answer int
		content, finish string
		usage           loadtest.Usage
		firstTokens     int
	}{
		{"llama-chat.sse", Chat, 8, 0, ", there was a little girl", "length", loadtest.Usage{PromptTokens: 5, CompletionTokens: 8, CachedTokens: 0}, 0},
		{"llama-completions.sse", Completions, 3, 0, " upon a time", "length", loadtest.Usage{PromptTokens: 2, CompletionTokens: 3, CachedTokens: 1}, 1},
		{"ollama-chat.sse", Chat, 8, 0, ", there was a little girl", "length", loadtest.Usage{PromptTokens: 5, CompletionTokens: 8, CachedTokens: -1}, 0},
		{"vllm-like-chat.sse", Chat, 2, 0, "Testing, ", "stop", loadtest.Usage{PromptTokens: 24, CompletionTokens: 2, CachedTokens: 0}, 0},
	} {
		t.Run(c.file, func(t *testing.T) {
			raw, err := os.ReadFile("testdata/real/" + c.file)
			if err != nil {
				t.Fatal(err)
			}
			client := serve(t, Options{API: c.api}, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				w.Write(raw)
			})
			var reply loadtest.Reply
			if err := client.Do(t.Context(), request(), &reply); err != nil {
				t.Fatal(err)
			}
			if reply.Outcome != loadtest.OK || reply.Usage == nil {
				t.Fatalf("outcome %q (%s), usage %v", reply.Outcome, reply.Detail, reply.Usage)
			}
			if len(reply.Arrivals) != c.payload || reply.Answer != c.answer || string(reply.Content) != c.content ||
				reply.FinishReason != c.finish || *reply.Usage != c.usage || reply.FirstTokens != c.firstTokens {
				t.Errorf("got %d payload events, answer at %d, content %q, finish %q, usage %+v, first tokens %d; want %+v",
					len(reply.Arrivals), reply.Answer, reply.Content, reply.FinishReason, *reply.Usage, reply.FirstTokens, c)
			}
		})
	}
}
