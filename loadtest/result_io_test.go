package loadtest

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func encoded(t testing.TB) []byte {
	t.Helper()
	f := NewFigures(SLO{})
	f.Outcomes[OK] = 3
	for i := range 3 {
		f.TTFT.Record(time.Duration(i+1) * time.Millisecond)
	}
	res := &Result{Schema: ResultSchema, ID: "x", Name: "chat", Segments: []SegmentResult{{Segment: Segment{Stage: SteadyStage, Kind: Judged, Round: 1, Rounds: 2}, Total: f}}}
	var buf bytes.Buffer
	if err := res.Encode(&buf); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

func TestResultRoundTrip(t *testing.T) {
	data := encoded(t)
	res, err := DecodeResult(data)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	if err := res.Encode(&again); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(data, again.Bytes()) {
		t.Errorf("read and written again:\n%s\nwant\n%s", again.Bytes(), data)
	}
}

func TestResultCutAnywhereIsAnError(t *testing.T) {
	data := encoded(t)
	for n := range len(bytes.TrimSpace(data)) {
		if _, err := DecodeResult(data[:n]); err == nil {
			t.Fatalf("cut after %d of %d bytes: no error", n, len(data))
		}
	}
	if _, err := DecodeResult(append(bytes.Clone(data), "{}"...)); err == nil {
		t.Error("something after the result: no error")
	}
	_, err := DecodeResult(data[:len(data)/2])
	if err == nil || !strings.Contains(err.Error(), "line ") {
		t.Errorf("error %v does not say where", err)
	}
	if _, err := DecodeResult([]byte(`{"schema":"llm-gate/result/v9"}`)); err == nil || !strings.Contains(err.Error(), "v9") {
		t.Errorf("another schema: %v", err)
	}
}

func TestWriteFileLeavesNothingHalfWritten(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "result.json")
	if err := WriteFile(path, func(w io.Writer) error { _, err := io.WriteString(w, "old"); return err }); err != nil {
		t.Fatal(err)
	}
	full := errors.New("no space left")
	err := WriteFile(path, func(w io.Writer) error {
		if _, err := io.WriteString(w, "ne"); err != nil {
			return err
		}
		return full
	})
	if !errors.Is(err, full) || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, want the cause and the path", err)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "old" {
		t.Errorf("file holds %q (%v), want what was there", data, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("folder holds %v (%v), want the one file", entries, err)
	}
	if err := WriteFile(filepath.Join(dir, "absent", "x"), func(io.Writer) error { return nil }); err == nil {
		t.Error("a folder that is not there: no error")
	}
}

func FuzzDecodeResult(f *testing.F) {
	f.Add(encoded(f))
	f.Add([]byte(`{"schema":"llm-gate/result/v1","segments":[{"total":{}}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		res, err := DecodeResult(data)
		if err != nil {
			return
		}
		if err := res.Encode(io.Discard); err != nil {
			t.Errorf("a result that was read cannot be written: %v", err)
		}
		for _, seg := range res.Segments {
			seg.Total.TTFT.AtRank(seg.Total.TTFT.N())
		}
	})
}
