package baselines

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// EntrySchema is the version of Entry that this build writes and reads.
const EntrySchema = "llm-gate/baseline/v1"

// How a result came to be accepted.
const (
	Green    = "green"    // judged green
	First    = "first"    // the first of its key; absolute limits held
	Promoted = "promoted" // put in by hand, with a reason
)

// Entry is one accepted result and where it came from.
type Entry struct {
	Schema string `json:"schema"`
	Key    Key    `json:"key"`
	// ID is the result's.
	ID string `json:"id"`
	// RecordedAt is when the result was accepted, in UTC to the millisecond.
	RecordedAt time.Time `json:"recorded_at"`
	// Conclusion is Green, First or Promoted; Reason is said by whoever
	// promoted it.
	Conclusion string `json:"conclusion"`
	Reason     string `json:"reason,omitempty"`
	// SHA256 is over the result's JSON without insignificant space, in hex.
	SHA256 string           `json:"sha256"`
	Result *loadtest.Result `json:"result"`
}

// NewEntry accepts a result at a time. It refuses what can be no baseline: a
// result that is incomplete, from an unfit generator or without its key, and a
// promotion without a reason.
func NewEntry(r *loadtest.Result, conclusion, reason string, at time.Time) (*Entry, error) {
	e := &Entry{
		Schema: EntrySchema, Key: KeyOf(r), ID: r.ID, RecordedAt: at.UTC().Truncate(time.Millisecond),
		Conclusion: conclusion, Reason: reason, Result: r,
	}
	data, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("make baseline of run %s: %w", r.ID, err)
	}
	e.SHA256 = sum(data)
	if err := e.valid(); err != nil {
		return nil, fmt.Errorf("make baseline of run %s: %w", r.ID, err)
	}
	return e, nil
}

// Encode is the entry's file.
func (e *Entry) Encode() ([]byte, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode baseline %s: %w", e.ID, err)
	}
	return append(data, '\n'), nil
}

// ReadEntry reads an entry's file strictly; path is for the error, which is
// always a CorruptError. Members that this build does not know are left alone.
func ReadEntry(path string, data []byte) (*Entry, error) {
	var wire struct {
		Entry
		Result json.RawMessage `json:"result"`
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	if err := decoder.Decode(&wire); err != nil {
		return nil, corrupt(path, data, decodeOffset(data, err), explain(err))
	}
	end := decoder.InputOffset()
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, corrupt(path, data, end, errors.New("something follows the baseline"))
	}
	e := wire.Entry
	if e.Schema != EntrySchema {
		return nil, corrupt(path, data, 0, fmt.Errorf("schema %q: this version reads %q", e.Schema, EntrySchema))
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, wire.Result); err != nil {
		return nil, corrupt(path, data, 0, errors.New("there is no result in it"))
	}
	at := int64(max(bytes.Index(data, wire.Result), 0))
	if got := sum(compact.Bytes()); got != e.SHA256 {
		return nil, corrupt(path, data, at, fmt.Errorf("the result was changed: its SHA-256 is %s, recorded was %q", got, e.SHA256))
	}
	if err := json.Unmarshal(wire.Result, &e.Result); err != nil {
		return nil, corrupt(path, data, at+decodeOffset(wire.Result, err), err)
	}
	if err := e.valid(); err != nil {
		return nil, corrupt(path, data, 0, err)
	}
	return &e, nil
}

// valid holds for every entry, written or read.
func (e *Entry) valid() error {
	r := e.Result
	switch {
	case r == nil:
		return errors.New("there is no result in it")
	case r.Schema != loadtest.ResultSchema:
		return fmt.Errorf("the result's schema is %q: this version reads %q", r.Schema, loadtest.ResultSchema)
	case e.ID == "" || e.ID != r.ID:
		return fmt.Errorf("its id %q is not its result's, %q", e.ID, r.ID)
	case len(e.fileName()) > maxPart:
		return fmt.Errorf("its id is too long for a file name (%d bytes)", len(e.ID))
	case e.Key != KeyOf(r):
		return fmt.Errorf("its key (%s) is not its result's (%s)", e.Key, KeyOf(r))
	case e.RecordedAt.IsZero():
		return errors.New("it does not say when it was recorded")
	case !slices.Contains([]string{Green, First, Promoted}, e.Conclusion):
		return fmt.Errorf("conclusion %q: want %q, %q or %q", e.Conclusion, Green, First, Promoted)
	case e.Conclusion == Promoted && e.Reason == "":
		return errors.New("a promotion needs a reason")
	}
	if err := e.Key.valid(); err != nil {
		return err
	}
	return judgeable(r)
}

// judgeable reports why a result can be compared with nothing.
func judgeable(r *loadtest.Result) error {
	switch {
	case r.Incomplete != "":
		return fmt.Errorf("the run is incomplete: %s", r.Incomplete)
	case r.Generator.Unfit != "":
		return fmt.Errorf("the load generator was unfit: %s", r.Generator.Unfit)
	}
	judged := false
	for i := range r.Segments {
		s := &r.Segments[i]
		if s.Segment.Kind != loadtest.Judged {
			continue
		}
		judged = true
		if s.Generator.Unfit != "" {
			return fmt.Errorf("the load generator was unfit in %s: %s", s.Segment.Label(), s.Generator.Unfit)
		}
		if s.Incomplete != "" {
			return fmt.Errorf("%s is incomplete: %s", s.Segment.Label(), s.Incomplete)
		}
	}
	if !judged {
		return errors.New("the run holds no judged round")
	}
	return nil
}

func sum(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:])
}
