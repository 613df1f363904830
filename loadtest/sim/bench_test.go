package sim

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// engineEnv makes the test binary serve an engine instead of running tests, so
// that a benchmark can give the engine one core and count its CPU time apart
// from the client's.
const engineEnv = "SIM_SERVE_STEP"

func TestMain(m *testing.M) {
	if step := os.Getenv(engineEnv); step != "" {
		if err := serveForBenchmark(step); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serveForBenchmark prints the engine's address and serves until standard
// input ends.
func serveForBenchmark(step string) error {
	cfg := DefaultConfig()
	var err error
	if cfg.StepBase, err = time.ParseDuration(step); err != nil {
		return err
	}
	cfg.StepPerSequence, cfg.StepPerPrefillToken, cfg.StepNoise = 0, 0, 0
	cfg.MaxRunning, cfg.KVBlocks = 4096, 1<<20
	e, err := New(cfg)
	if err != nil {
		return err
	}
	defer e.Close()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	server := &http.Server{Handler: e}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	fmt.Println(listener.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// BenchmarkEvents measures how many events a second an engine on one core
// (GOMAXPROCS=1, a process of its own) streams over loopback. events/read near
// 1 shows that each event was written and flushed by itself. events/cpu-s is what one whole core would serve, by the
// engine's own CPU time; lag-ms is how far its schedule ran behind, so a large
// one means that events/s was the engine's limit and not the offered rate.
func BenchmarkEvents(b *testing.B) {
	for _, bench := range []struct {
		streams int
		step    time.Duration
	}{
		{64, 5 * time.Millisecond},
		{256, 5 * time.Millisecond},
		{512, 10 * time.Millisecond},
		{512, 5 * time.Millisecond},
	} {
		offered := float64(bench.streams) / bench.step.Seconds()
		b.Run(fmt.Sprintf("streams=%d/offered=%.0f", bench.streams, offered), func(b *testing.B) {
			benchmarkEvents(b, bench.streams, bench.step)
		})
	}
}

func benchmarkEvents(b *testing.B, streams int, step time.Duration) {
	address := startEngine(b, step)
	var events, reads atomic.Int64
	var clients sync.WaitGroup
	conns := make([]net.Conn, streams)
	for i := range conns {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Fatal(err)
		}
		conns[i] = conn
		clients.Go(func() { drink(conn, &events, &reads) })
	}
	for events.Load() < int64(streams) {
		time.Sleep(time.Millisecond) // every stream is about to be in the batch
	}
	cpu := processCPU(b, address)
	first, firstRead, start := events.Load(), reads.Load(), time.Now()
	b.ResetTimer()
	for events.Load() < first+int64(b.N) {
		time.Sleep(time.Millisecond)
	}
	b.StopTimer()
	elapsed, got := time.Since(start).Seconds(), float64(events.Load()-first)
	packets := float64(reads.Load() - firstRead)
	used := processCPU(b, address) - cpu
	b.ReportMetric(got/elapsed, "events/s")
	b.ReportMetric(got/used, "events/cpu-s")
	b.ReportMetric(got/packets, "events/read")
	b.ReportMetric(1000*metric(b, address, "sim:step_lag_seconds"), "lag-ms")
	for _, conn := range conns {
		_ = conn.Close()
	}
	clients.Wait()
}

// startEngine runs an engine in a process of its own until the test ends.
func startEngine(b *testing.B, step time.Duration) (address string) {
	b.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), engineEnv+"="+step.String(), "GOMAXPROCS=1")
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(line)
}

// drink streams answers from conn and counts their events until it is closed.
func drink(conn net.Conn, events, reads *atomic.Int64) {
	body := `{"messages":[{"role":"user","content":"go"}],"max_tokens":8000,"stream":true}`
	request := fmt.Appendf(nil, "POST /v1/chat/completions HTTP/1.1\r\nHost: sim\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	buf := make([]byte, 64<<10)
	if _, err := conn.Write(request); err != nil {
		return
	}
	for {
		n, err := conn.Read(buf)
		if err != nil {
			return
		}
		reads.Add(1)
		// Writes are whole events, and reads far larger than a write: none is
		// split unless the reader is behind by the whole buffer.
		events.Add(int64(bytes.Count(buf[:n], []byte("data: {"))))
		if bytes.Contains(buf[:n], []byte("[DONE]")) {
			if _, err := conn.Write(request); err != nil {
				return
			}
		}
	}
}

// processCPU is the CPU time that the engine's process has used, in seconds.
func processCPU(b *testing.B, address string) float64 {
	return metric(b, address, "process_cpu_seconds_total")
}

// metric reads the first series of that name from the engine's page.
func metric(b *testing.B, address, name string) float64 {
	b.Helper()
	_, page := get(b, "http://"+address+"/metrics", "")
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, name) {
			fields := strings.Fields(line)
			var v float64
			if _, err := fmt.Sscan(fields[len(fields)-1], &v); err != nil {
				b.Fatal(err)
			}
			return v
		}
	}
	b.Fatalf("no %s on the page", name)
	return 0
}
