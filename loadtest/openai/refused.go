package openai

import (
	"fmt"
	"time"
)

// RefusedError says that the target cannot be used as asked, before any load:
// it answered 400, 401, 403, 404 or the like, lacks the model, is no
// OpenAI-compatible server, shows a certificate that does not verify, or its
// address cannot be meant. Waiting does not mend it.
type RefusedError struct {
	// URL is what was asked, without user info; "" where nothing was sent yet
	// and the reason names what is wrong in the options.
	URL string
	// Status is the HTTP status of the answer, 0 without one.
	Status int
	// Reason says what is wrong, in the server's own words where there are any.
	Reason string

	err error
}

// Error names the address and the reason.
func (e *RefusedError) Error() string {
	switch {
	case e.URL == "":
		return e.Reason
	case e.Status != 0:
		return fmt.Sprintf("target refuses: %s: HTTP %d: %s", e.URL, e.Status, e.Reason)
	}
	return fmt.Sprintf("target refuses: %s: %s", e.URL, e.Reason)
}

// Unwrap returns the cause, if one is known.
func (e *RefusedError) Unwrap() error { return e.err }

// NotReadyError says that the target did not become ready in time.
type NotReadyError struct {
	// URL is what was asked last, without user info.
	URL string
	// Waited is how long readiness was waited for.
	Waited time.Duration
	// Last is what the last attempt got.
	Last error
}

// Error names the address, the wait and the last error.
func (e *NotReadyError) Error() string {
	return fmt.Sprintf("target not ready: %s: waited %s, last: %v", e.URL, e.Waited.Round(100*time.Millisecond), e.Last)
}

// Unwrap returns the last error.
func (e *NotReadyError) Unwrap() error { return e.Last }
