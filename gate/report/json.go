package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/org/llm-gate/gate"
)

// JSON writes the verdict as an indented document that ReadVerdict reads back.
// It fails, with nothing written, on a figure that JSON cannot hold.
func JSON(w io.Writer, v *gate.Verdict) error {
	out := *orZero(v)
	if out.Schema == "" {
		out.Schema = gate.VerdictSchema
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(&out); err != nil {
		return fmt.Errorf("encode verdict: %w", err)
	}
	return write(w, b.Bytes())
}

// verdictLimit bounds what ReadVerdict reads.
const verdictLimit = 64 << 20

// ReadVerdict reads a verdict.json. It refuses another schema, unknown fields,
// anything after the document, and a verdict that contradicts itself.
func ReadVerdict(r io.Reader) (*gate.Verdict, error) {
	data, err := io.ReadAll(io.LimitReader(r, verdictLimit+1))
	if err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	if len(data) > verdictLimit {
		return nil, fmt.Errorf("read verdict: longer than %d MiB", verdictLimit>>20)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return nil, fmt.Errorf("read verdict: not a JSON document: %w", err)
	}
	if head.Schema != gate.VerdictSchema {
		return nil, fmt.Errorf("read verdict: schema %q: this version reads %q; write the verdict again with this version", head.Schema, gate.VerdictSchema)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	v := new(gate.Verdict)
	if err := dec.Decode(v); err != nil {
		return nil, fmt.Errorf("read verdict: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("read verdict: more data after the document")
	}
	if c := contradiction(v); c != "" {
		return nil, fmt.Errorf("read verdict: %s", c)
	}
	return v, nil
}

func write(w io.Writer, b []byte) error {
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	return nil
}
