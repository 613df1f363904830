package baselines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/org/llm-gate/loadtest"
)

func encoded(t testing.TB) []byte {
	t.Helper()
	data, err := sampleEntry(t, "chat-8b", 1).Encode()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestEntryReadsBack(t *testing.T) {
	e := sampleEntry(t, "chat-8b", 1)
	got, err := ReadEntry("f", encoded(t))
	if err != nil {
		t.Fatal(err)
	}
	asJSON := func(e *Entry) string { b, _ := json.MarshalIndent(e, "", " "); return string(b) }
	if diff := cmp.Diff(asJSON(e), asJSON(got)); diff != "" {
		t.Errorf("read back (-want +got):\n%s", diff)
	}
	want, _ := e.Result.Segments[0].Total.TTFT.AtRank(1)
	if ms, ok := got.Result.Segments[0].Total.TTFT.AtRank(1); !ok || ms != want {
		t.Errorf("smallest TTFT reads back as %v, %v: want %v ms", ms, ok, want)
	}
	// Reformatted by a person or a tool, it is still the same baseline.
	var pretty bytes.Buffer
	if err := json.Indent(&pretty, encoded(t), "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadEntry("f", pretty.Bytes()); err != nil {
		t.Errorf("indented: %v", err)
	}
}

func TestEntryCutAnywhereIsCorrupt(t *testing.T) {
	data := encoded(t)
	whole := len(data) - 1 // without the last line break it is still whole
	for n := range whole {
		_, err := ReadEntry("store/f.json", data[:n])
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) {
			t.Fatalf("cut at byte %d: %v, want a CorruptError", n, err)
		}
		if corrupt.Path != "store/f.json" || corrupt.Offset != int64(n) {
			t.Fatalf("cut at byte %d: says %s byte %d", n, corrupt.Path, corrupt.Offset)
		}
	}
	_, err := ReadEntry("store/f.json", data[:whole/2])
	if !strings.Contains(err.Error(), "store/f.json:1 (byte") || !strings.Contains(err.Error(), "cut off") {
		t.Errorf("error does not say which file and where: %v", err)
	}
}

// A flipped bit either does not matter to the entry or is found.
func TestEntryWithAFlippedBit(t *testing.T) {
	data := encoded(t)
	start := bytes.Index(data, []byte(`"result":`)) + len(`"result":`)
	for i := start; i < len(data)-2; i++ {
		bad := bytes.Clone(data)
		bad[i] ^= 1
		if e, err := ReadEntry("f", bad); err == nil {
			t.Fatalf("bit 0 of byte %d flipped (%q): read as %s", i, bad[max(0, i-10):i+10], e.ID)
		}
	}
}

func TestEntriesThatAreRefused(t *testing.T) {
	resum := func(m map[string]any) {
		data, _ := json.Marshal(m["result"])
		m["sha256"] = sum(data)
	}
	change := func(edit func(map[string]any)) []byte {
		var m map[string]any
		if err := json.Unmarshal(encoded(t), &m); err != nil {
			t.Fatal(err)
		}
		resum(m) // the members come in another order now
		edit(m)
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	for _, test := range []struct {
		name string
		data []byte
		want string
	}{
		{"empty", nil, "empty"},
		{"white space", []byte(" \n\n"), "empty"},
		{"null", []byte("null"), "schema"},
		{"another document", []byte(`{"hello":1}`), "schema"},
		{"newer schema", change(func(m map[string]any) { m["schema"] = "llm-gate/baseline/v2" }), "v2"},
		{"trailing text", append(encoded(t), "{}"...), "follows"},
		{"other hash", change(func(m map[string]any) { m["sha256"] = strings.Repeat("0", 64) }), "was changed"},
		{"result edited", change(func(m map[string]any) { m["result"].(map[string]any)["seed"] = 7 }), "was changed"},
		{"no result", change(func(m map[string]any) { delete(m, "result") }), "no result"},
		{"null result", change(func(m map[string]any) { m["result"] = nil; resum(m) }), "no result"},
		{"result of another schema", change(func(m map[string]any) { m["result"].(map[string]any)["schema"] = "x"; resum(m) }), "schema"},
		{"result of another shape", change(func(m map[string]any) { m["result"].(map[string]any)["segments"] = 3; resum(m) }), "segments"},
		{"key of another", change(func(m map[string]any) { m["key"].(map[string]any)["name"] = "other" }), "key"},
		{"id of another", change(func(m map[string]any) { m["id"] = "other" }), "id"},
		{"unknown conclusion", change(func(m map[string]any) { m["conclusion"] = "red" }), "red"},
		{"promoted without a reason", change(func(m map[string]any) { m["conclusion"] = "promoted" }), "reason"},
		{"without a time", change(func(m map[string]any) { m["recorded_at"] = "0001-01-01T00:00:00Z" }), "when"},
		{"incomplete", change(func(m map[string]any) { m["result"].(map[string]any)["incomplete"] = "SIGTERM"; resum(m) }), "incomplete"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadEntry("f", test.data)
			var corrupt *CorruptError
			if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want a CorruptError with %q", err, test.want)
			}
		})
	}
}

func TestCorruptErrorSaysTheLine(t *testing.T) {
	_, err := ReadEntry("f", []byte("{\n\"schema\": \"x\",\n!"))
	var corrupt *CorruptError
	if !errors.As(err, &corrupt) || corrupt.Line != 3 {
		t.Errorf("got %v, want line 3", err)
	}
}

func TestWhatCanBeNoBaseline(t *testing.T) {
	for _, test := range []struct {
		name       string
		conclusion string
		reason     string
		edit       func(*loadtest.Result)
	}{
		{"incomplete", Green, "", func(r *loadtest.Result) { r.Incomplete = "SIGINT" }},
		{"unfit generator", Green, "", func(r *loadtest.Result) { r.Generator.Unfit = "late" }},
		{"unfit in a round", Green, "", func(r *loadtest.Result) { r.Segments[0].Generator.Unfit = "late" }},
		{"cut round", Green, "", func(r *loadtest.Result) { r.Segments[0].Incomplete = "cut" }},
		{"nothing judged", Green, "", func(r *loadtest.Result) { r.Segments = nil }},
		{"no name", Green, "", func(r *loadtest.Result) { r.Name = "" }},
		{"no id", Green, "", func(r *loadtest.Result) { r.ID = "" }},
		{"red", "red", "", func(*loadtest.Result) {}},
		{"yellow", "yellow", "", func(*loadtest.Result) {}},
		{"promoted without a reason", Promoted, "", func(*loadtest.Result) {}},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := sampleResult("chat", "id")
			test.edit(r)
			if _, err := NewEntry(r, test.conclusion, test.reason, day); err == nil {
				t.Error("taken for a baseline")
			}
		})
	}
}

func FuzzReadEntry(f *testing.F) {
	data := encoded(f)
	f.Add(data)
	f.Add(data[:len(data)/2])
	f.Add([]byte(`{"schema":"llm-gate/baseline/v1","sha256":"","result":null}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		e, err := ReadEntry("f", data)
		if err == nil {
			if err := e.valid(); err != nil {
				t.Fatalf("read an entry that is not valid: %v", err)
			}
			return
		}
		var corrupt *CorruptError
		if !errors.As(err, &corrupt) || corrupt.Offset > int64(len(data)) {
			t.Fatalf("%v is no sound CorruptError", err)
		}
	})
}

// What passes the hash is decoded: that must not panic either.
func FuzzReadResult(f *testing.F) {
	data, err := json.Marshal(sampleResult("chat-8b", "id"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Fuzz(func(t *testing.T, result []byte) {
		var compact bytes.Buffer
		if json.Compact(&compact, result) != nil {
			return
		}
		file := fmt.Appendf(nil, `{"schema":%q,"key":{"name":"chat-8b","gpu":"2×NVIDIA H100","workload":"sha256:9f2c"},"id":"id",`+
			`"recorded_at":"2026-12-01T05:00:00Z","conclusion":"green","sha256":%q,"result":%s}`, EntrySchema, sum(compact.Bytes()), result)
		_, err := ReadEntry("f", file)
		var corrupt *CorruptError
		if err != nil && !errors.As(err, &corrupt) {
			t.Fatalf("%v is no CorruptError", err)
		}
	})
}

func TestRecordedAtKeepsMilliseconds(t *testing.T) {
	e, err := NewEntry(sampleResult("chat", "id"), Green, "", day.Add(123456789*time.Nanosecond).In(time.FixedZone("X", 3600)))
	if err != nil {
		t.Fatal(err)
	}
	ref, err := refAt(e.path())
	if err != nil || !ref.RecordedAt.Equal(e.RecordedAt) || ref.ID != "id" {
		t.Errorf("%s reads back as %+v, %v", e.path(), ref, err)
	}
}
