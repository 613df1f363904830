package config

import (
	"encoding/json"
	"log/slog"
)

// Secret is a value that must not be shown. Every usual way of printing it
// gives redacted text; Reveal gives the value itself.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value, for the request that needs it.
func (s Secret) Reveal() string { return string(s) }

// String is the redacted form, "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString is the redacted form, for %#v.
func (s Secret) GoString() string { return `config.Secret("` + s.String() + `")` }

// MarshalText writes the redacted form.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// MarshalJSON writes the redacted form.
func (s Secret) MarshalJSON() ([]byte, error) { return json.Marshal(s.String()) }

// LogValue is the redacted form.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
