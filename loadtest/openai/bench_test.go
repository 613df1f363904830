package openai

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/org/llm-gate/loadtest"
)

const benchEvent = `data: {"id":"chatcmpl-509","object":"chat.completion.chunk","created":1796096588,"model":"meta-llama/Llama-3.1-8B-Instruct","choices":[{"index":0,"delta":{"content":" there"},"logprobs":null,"finish_reason":null}]}` + "\n\n"

// eventReader gives one event a read, as a stream arrives.
type eventReader struct{ left int }

func (r *eventReader) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	r.left--
	return copy(p, benchEvent), nil
}

// BenchmarkStream reads events of a usual size, one a read; ns/op and
// allocs/op are of one event.
func BenchmarkStream(b *testing.B) {
	var (
		s     stream
		reply loadtest.Reply
	)
	reply.Reset()
	reply.Sent = time.Now()
	reply.Arrivals = make([]time.Duration, 0, 1024)
	s.reader.reset(&eventReader{left: b.N}, DefaultMaxLine)
	b.SetBytes(int64(len(benchEvent)))
	b.ReportAllocs()
	b.ResetTimer()
	for s.reader.next(&s.event) == nil {
		if len(reply.Arrivals) == cap(reply.Arrivals) {
			reply.Arrivals = reply.Arrivals[:0]
		}
		if outcome, detail := s.take(false, &reply); outcome != "" {
			b.Fatal(outcome, detail)
		}
	}
}

func BenchmarkScan(b *testing.B) {
	data := bytes.TrimSpace([]byte(strings.TrimPrefix(benchEvent, "data: ")))
	var c chunk
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if !scan(data, &c) {
			b.Fatal("not certain")
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := bytes.TrimSpace([]byte(strings.TrimPrefix(benchEvent, "data: ")))
	var c chunk
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if err := decode(data, &c); err != nil {
			b.Fatal(err)
		}
	}
}

// TestStreamAllocatesNothing: in a stream's steady state an event costs no
// allocation.
func TestStreamAllocatesNothing(t *testing.T) {
	const events = 1000
	var (
		s     stream
		reply loadtest.Reply
	)
	src := new(eventReader)
	got := testing.AllocsPerRun(10, func() {
		reply.Reset()
		src.left = events
		s.reader.reset(src, DefaultMaxLine)
		for s.reader.next(&s.event) == nil {
			if outcome, detail := s.take(true, &reply); outcome != "" {
				t.Fatal(outcome, detail)
			}
		}
	})
	if got > 1 {
		t.Errorf("%.0f allocations for %d events", got, events)
	}
}
