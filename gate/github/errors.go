package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// RateError says that GitHub refused a call by rate for longer than the call
// could wait.
type RateError struct {
	// Status is 403 or 429.
	Status int
	// Until is when GitHub lets the next call through.
	Until time.Time
	// Waited is how long the call waited in vain.
	Waited time.Duration
	// Message is GitHub's own text; it may be empty.
	Message string
}

// Error implements error.
func (e *RateError) Error() string {
	text := fmt.Sprintf("GitHub's rate limit holds until %s, longer than this call may wait (waited %s)",
		e.Until.UTC().Format(time.RFC3339), e.Waited.Round(time.Second))
	if e.Message != "" {
		text += fmt.Sprintf(": %q", e.Message)
	}
	return text
}

// Status is the HTTP status of GitHub's answer in err, 0 where there is none.
func Status(err error) int {
	var rate *RateError
	if errors.As(err, &rate) {
		return rate.Status
	}
	var answer *gh.ErrorResponse
	if errors.As(err, &answer) && answer.Response != nil {
		return answer.Response.StatusCode
	}
	return 0
}

// IsPermission reports that the token lacks the permission for the call (403
// that is not by rate): repeating it is of no use, another way may be.
func IsPermission(err error) bool {
	var rate *RateError
	return Status(err) == http.StatusForbidden && !errors.As(err, &rate)
}

// IsRateLimited reports that the call was refused by rate until its wait ran out.
func IsRateLimited(err error) bool {
	var rate *RateError
	return errors.As(err, &rate)
}

// IsNotFound reports 404: absent, or hidden from this token.
func IsNotFound(err error) bool { return Status(err) == http.StatusNotFound }

// IsAmbiguous reports that a call may or may not have been carried out: the
// connection broke or the server failed. Look before creating again.
func IsAmbiguous(err error) bool {
	if IsRateLimited(err) {
		return false
	}
	if Status(err) >= 500 {
		return true
	}
	var broken *url.Error
	return errors.As(err, &broken) && !neverConnected(err) && !errors.Is(err, context.Canceled)
}

const createAttempts = 4

// CreateOnce creates something that must exist once. Where a create ends
// ambiguously it waits, calls find, and creates again only if nothing is
// found. Both functions are called from one goroutine and get ctx. A nil sleep
// is the real clock.
func CreateOnce[T any](ctx context.Context, sleep Sleep, find func(context.Context) (T, bool, error), create func(context.Context) (T, error)) (T, error) {
	if sleep == nil {
		sleep = sleepFor
	}
	for attempt := 1; ; attempt++ {
		made, err := create(ctx)
		if err == nil || !IsAmbiguous(err) || attempt == createAttempts {
			return made, err
		}
		var none T
		if err := sleep(ctx, firstBackoff<<(attempt-1)); err != nil {
			return none, err
		}
		found, ok, findErr := find(ctx)
		if findErr != nil {
			return none, errors.Join(err, fmt.Errorf("look whether it was created all the same: %w", findErr))
		}
		if ok {
			return found, nil
		}
	}
}
