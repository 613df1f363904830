package openai

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/org/llm-gate/loadtest"
)

// TestFiveHundredStreamsInMemory holds 500 streams open in the middle of their
// answers: client and server together live in under 100 MB of heap.
func TestFiveHundredStreamsInMemory(t *testing.T) {
	const streams, limit = 500, 100e6
	var streaming sync.WaitGroup
	streaming.Add(streams)
	release := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range 64 {
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" word%d\"},\"finish_reason\":null}]}\n\n", i)
		}
		w.(http.Flusher).Flush()
		streaming.Done()
		<-release
		fmt.Fprint(w, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	client, err := New(Options{BaseURL: server.URL, Model: "m"})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()

	var before, held runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var done sync.WaitGroup
	replies := make([]loadtest.Reply, streams)
	for i := range replies {
		done.Go(func() {
			req := &loadtest.Request{Messages: []loadtest.Message{{Role: "user", Content: "hi"}}, MaxTokens: 64}
			if err := client.Do(context.WithoutCancel(t.Context()), req, &replies[i]); err != nil {
				t.Error(err)
			}
		})
	}
	streaming.Wait()
	runtime.GC()
	runtime.ReadMemStats(&held)
	close(release)
	done.Wait()

	live := float64(held.HeapAlloc) - float64(before.HeapAlloc)
	t.Logf("%d streams: %.1f MB of live heap, client and server together", streams, live/1e6)
	if live > limit {
		t.Errorf("%d streams live in %.1f MB, want under %.0f", streams, live/1e6, limit/1e6)
	}
	for i := range replies {
		if r := &replies[i]; r.Outcome != loadtest.OK || len(r.Arrivals) != 64 {
			t.Fatalf("stream %d: %s (%s), %d payload events, want ok and 64", i, r.Outcome, r.Detail, len(r.Arrivals))
		}
	}
}
