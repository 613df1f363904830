package openai

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/org/llm-gate/loadtest"
)

func listen(t testing.TB) net.Listener {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	return ln
}

func newClient(t testing.TB, o Options) *Client {
	t.Helper()
	if o.Model == "" {
		o.Model = "m"
	}
	c, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// serve starts a server and returns a client of it.
func serve(t testing.TB, o Options, handler http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	o.BaseURL = server.URL
	return newClient(t, o)
}

func request() *loadtest.Request {
	return &loadtest.Request{
		Messages:    []loadtest.Message{{Role: "user", Content: "hi"}},
		MaxTokens:   8,
		KeepContent: true,
	}
}

// do sends one request and fails the test on a tool error.
func do(t testing.TB, c *Client, req *loadtest.Request) *loadtest.Reply {
	t.Helper()
	reply := new(loadtest.Reply)
	if err := c.Do(t.Context(), req, reply); err != nil {
		t.Fatal(err)
	}
	return reply
}

// quiet is a log for servers whose clients are meant to fail.
func quiet() *log.Logger { return log.New(io.Discard, "", 0) }
