package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// dataGroup is the attribute with figures that the message says already: for
// machines that read the JSON log, left out of lines for people.
const dataGroup = "data"

// lineHandler writes a record as one line for people: the message, then its
// attributes as key=value where there are any.
type lineHandler struct {
	w     io.Writer
	level slog.Level
	attrs string
}

func (h lineHandler) Enabled(_ context.Context, level slog.Level) bool { return level >= h.level }

func (h lineHandler) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	if r.Level >= slog.LevelWarn {
		b.WriteString(strings.ToLower(r.Level.String()) + ": ")
	}
	b.WriteString(r.Message)
	b.WriteString(h.attrs)
	r.Attrs(func(a slog.Attr) bool {
		if a.Key != dataGroup {
			fmt.Fprintf(&b, " %s=%v", a.Key, a.Value)
		}
		return true
	})
	_, err := fmt.Fprintln(h.w, b.String())
	return err
}

func (h lineHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	for _, a := range attrs {
		h.attrs += fmt.Sprintf(" %s=%v", a.Key, a.Value)
	}
	return h
}

func (h lineHandler) WithGroup(string) slog.Handler { return h }
