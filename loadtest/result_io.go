package loadtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Encode writes the result as indented JSON.
func (r *Result) Encode(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(r); err != nil {
		return fmt.Errorf("write result: %w", err)
	}
	return nil
}

// DecodeResult reads one result and refuses another schema, unknown members,
// missing figures and anything after it.
func DecodeResult(data []byte) (*Result, error) {
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("not a result: %w", positioned(data, err))
	}
	if head.Schema != ResultSchema {
		return nil, fmt.Errorf("schema %q: this version reads %q", head.Schema, ResultSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	var r Result
	if err := dec.Decode(&r); err != nil {
		return nil, fmt.Errorf("not a result: %w", positioned(data, err))
	}
	for i := range r.Segments {
		if err := r.Segments[i].complete(); err != nil {
			return nil, fmt.Errorf("segments[%d]: %w", i, err)
		}
	}
	return &r, nil
}

// complete reports what a segment's figures lack.
func (s *SegmentResult) complete() error {
	if s.Total == nil {
		return errors.New("\"total\" is missing")
	}
	figures := []*Figures{s.Total}
	for name, f := range s.Scenarios {
		if f == nil {
			return fmt.Errorf("scenario %q has no figures", name)
		}
		figures = append(figures, f)
	}
	for _, f := range figures {
		for _, h := range []*Histogram{f.TTFT, f.TTFTService, f.FirstAnswer, f.Gap, f.TPOT, f.E2E, f.E2EService} {
			if h == nil {
				return errors.New("a histogram is missing")
			}
		}
		for outcome, n := range f.Outcomes {
			if n < 0 {
				return fmt.Errorf("outcome %q counts %d", outcome, n)
			}
		}
	}
	return nil
}

// positioned adds line and column to a JSON error that knows its offset.
func positioned(data []byte, err error) error {
	var offset int64
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		offset = syntax.Offset
	case errors.As(err, &kind):
		offset = kind.Offset
	case errors.Is(err, io.ErrUnexpectedEOF):
		offset = int64(len(data))
	default:
		return err
	}
	before := data[:min(offset, int64(len(data)))]
	line := bytes.Count(before, []byte{'\n'}) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n') - 1
	return fmt.Errorf("line %d, column %d: %w", line, max(column, 1), err)
}

// ReadResult reads a result file.
func ReadResult(path string) (*Result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read result: %w", err)
	}
	r, err := DecodeResult(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

// WriteFile writes a file so that it is either wholly there or not at all: a
// temporary file in the same folder, synced, renamed, and the folder synced.
func WriteFile(path string, write func(io.Writer) error) error {
	dir := filepath.Dir(path)
	tmp, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err := errors.Join(fill(tmp, write), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(tmp.Name())))
	}
	if err := os.Rename(tmp.Name(), path); err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, os.Remove(tmp.Name())))
	}
	return syncDir(dir)
}

// fill writes a temporary file's content down to the disk.
func fill(tmp *os.File, write func(io.Writer) error) error {
	if err := write(tmp); err != nil {
		return err
	}
	if err := tmp.Chmod(0o644); err != nil {
		return err
	}
	return tmp.Sync()
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return fmt.Errorf("sync folder %s: %w", dir, err)
	}
	return errors.Join(d.Sync(), d.Close())
}
