package openai

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/org/llm-gate/loadtest"
)

// chunkedAnswer is a whole HTTP answer that promises to keep the connection.
var chunkedAnswer = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nKeep-Alive: timeout=5, max=100\r\nTransfer-Encoding: chunked\r\n\r\n" +
	fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(goodStream), goodStream)

// handleConns serves every connection by handle until the test ends.
func handleConns(t *testing.T, handle func(n int, conn net.Conn, in *bufio.Reader)) *Client {
	ln := listen(t)
	go func() {
		for n := 0; ; n++ {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				handle(n, conn, bufio.NewReader(conn))
			}()
		}
	}()
	return newClient(t, Options{BaseURL: "http://" + ln.Addr().String()})
}

// take reads one request.
func take(in *bufio.Reader) bool {
	req, err := http.ReadRequest(in)
	if err != nil {
		return false
	}
	_, err = io.Copy(io.Discard, req.Body)
	return err == nil
}

// TestResend: the second request on a connection gets no byte of an answer; it
// is sent again on a fresh one.
func TestResend(t *testing.T) {
	client := handleConns(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		if take(in) {
			io.WriteString(conn, chunkedAnswer)
			take(in) // and close
		}
	})
	for i := range 6 {
		reply := do(t, client, request())
		if reply.Outcome != loadtest.OK {
			t.Fatalf("request %d: %q (%s)", i, reply.Outcome, reply.Detail)
		}
		// The fresh connection is not kept: every other request finds the
		// pooled one, or opens the next.
		if want := i % 2; reply.Resends != want {
			t.Errorf("request %d: %d resends, want %d", i, reply.Resends, want)
		}
	}
}

// TestResendLargeBody: the same where the server hangs up while a body of
// megabytes is still being written.
func TestResendLargeBody(t *testing.T) {
	client := handleConns(t, func(n int, conn net.Conn, in *bufio.Reader) {
		if n > 0 {
			take(in)
			io.WriteString(conn, chunkedAnswer)
			return
		}
		take(in)
		io.WriteString(conn, chunkedAnswer)
		in.Peek(1) // the second request begins, and is not read
		conn.(*net.TCPConn).SetLinger(0)
	})
	large := request()
	large.Messages[0].Content = strings.Repeat("x", 8<<20)
	do(t, client, request())
	if reply := do(t, client, large); reply.Outcome != loadtest.OK || reply.Resends != 1 {
		t.Errorf("outcome %q (%s), %d resends", reply.Outcome, reply.Detail, reply.Resends)
	}
}

// TestResendOnce: a server that hangs up on the fresh connection too has failed.
func TestResendOnce(t *testing.T) {
	client := handleConns(t, func(n int, conn net.Conn, in *bufio.Reader) {
		if take(in) && n == 0 {
			io.WriteString(conn, chunkedAnswer)
			take(in)
		}
	})
	do(t, client, request())
	if reply := do(t, client, request()); reply.Outcome != loadtest.Truncated || reply.Resends != 1 {
		t.Errorf("outcome %q (%s), %d resends; want truncated, 1", reply.Outcome, reply.Detail, reply.Resends)
	}
}

// TestNoResendAfterAByte: once a byte of the answer came, the failure counts.
func TestNoResendAfterAByte(t *testing.T) {
	var requests atomic.Int32
	client := handleConns(t, func(n int, conn net.Conn, in *bufio.Reader) {
		for take(in) {
			if requests.Add(1) == 2 {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
				return
			}
			io.WriteString(conn, chunkedAnswer)
		}
	})
	do(t, client, request())
	if reply := do(t, client, request()); reply.Outcome != loadtest.Truncated || reply.Resends != 0 {
		t.Errorf("outcome %q (%s), %d resends; want truncated, 0", reply.Outcome, reply.Detail, reply.Resends)
	}
}

// TestCloseAfterEachAnswer: a server that says keep-alive and closes, as
// llama-server does, costs no request.
func TestCloseAfterEachAnswer(t *testing.T) {
	client := handleConns(t, func(_ int, conn net.Conn, in *bufio.Reader) {
		if take(in) {
			io.WriteString(conn, chunkedAnswer)
		}
	})
	for i := range 200 {
		if reply := do(t, client, request()); reply.Outcome != loadtest.OK {
			t.Fatalf("request %d: %q (%s)", i, reply.Outcome, reply.Detail)
		}
	}
}
