package baselines

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// CorruptError says that a baseline is there and cannot be trusted. Nothing
// was written over it.
type CorruptError struct {
	// Path is the file, or the branch and the file on it.
	Path string
	// Line, from 1, and Offset, in bytes from 0, are where reading failed; Line
	// is 0 where the whole file is meant.
	Line   int
	Offset int64
	Err    error
}

// Error implements error.
func (e *CorruptError) Error() string {
	where := e.Path
	if e.Line > 0 {
		where = fmt.Sprintf("%s:%d (byte %d)", e.Path, e.Line, e.Offset)
	}
	return fmt.Sprintf("read baseline %s: %v; the file was left as it is: restore it, or move it away to go without it", where, e.Err)
}

// Unwrap returns Err.
func (e *CorruptError) Unwrap() error { return e.Err }

func corrupt(path string, data []byte, offset int64, err error) *CorruptError {
	offset = min(max(offset, 0), int64(len(data)))
	return &CorruptError{Path: path, Line: 1 + bytes.Count(data[:offset], []byte("\n")), Offset: offset, Err: err}
}

// decodeOffset is where encoding/json gave up; a file that is cut off ends
// there.
func decodeOffset(data []byte, err error) int64 {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return syntax.Offset
	case errors.As(err, &kind):
		return kind.Offset
	}
	return int64(len(data))
}

func explain(err error) error {
	switch {
	case errors.Is(err, io.EOF):
		return errors.New("the file is empty")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errors.New("the file is cut off")
	}
	return err
}
