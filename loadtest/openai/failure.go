package openai

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/org/llm-gate/loadtest"
)

// ended tells what the end of ctx makes of a request in flight: Timeout where a
// deadline passed, Unfinished where it was cancelled; ok is false while it lasts.
func ended(ctx context.Context) (o loadtest.Outcome, ok bool) {
	switch err := ctx.Err(); {
	case err == nil:
		return "", false
	case errors.Is(err, context.DeadlineExceeded), errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return loadtest.Timeout, true
	default:
		return loadtest.Unfinished, true
	}
}

// ownFault reports whether the error is a shortage on this machine: files,
// ports or memory.
func ownFault(err error) bool {
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOMEM, syscall.ENOBUFS} {
		if errors.Is(err, errno) {
			return true
		}
	}
	return false
}

// sendOutcome is the class of a request for which no answer came.
func sendOutcome(err error, t *trace) loadtest.Outcome {
	var dial *net.OpError
	switch connected, handshaking := t.connected(), t.handshaking(); {
	case ownFault(err):
		return loadtest.Client
	case isTLS(err):
		return loadtest.TLS
	case !connected && errors.As(err, &dial) && (dial.Op == "dial" || dial.Op == "proxyconnect"):
		return loadtest.Connect
	case !connected && handshaking:
		return loadtest.TLS
	case !connected:
		return loadtest.Connect
	case isCut(err):
		return loadtest.Truncated
	case strings.Contains(err.Error(), "malformed"), strings.Contains(err.Error(), "server sent too many"), strings.Contains(err.Error(), "exceeded"):
		return loadtest.Malformed
	}
	return loadtest.Truncated
}

// isTLS reports whether the error comes from a handshake or a certificate.
func isTLS(err error) bool {
	var (
		verify *tls.CertificateVerificationError
		record tls.RecordHeaderError
		alert  tls.AlertError
	)
	return isCertificate(err) || errors.As(err, &verify) || errors.As(err, &record) || errors.As(err, &alert) ||
		strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "TLS handshake")
}

// speaksPlain reports whether a server answered a TLS handshake in plain HTTP.
func speaksPlain(err error) bool {
	var record tls.RecordHeaderError
	return errors.As(err, &record) && string(record.RecordHeader[:]) == "HTTP/"
}

// isCertificate reports whether the server's certificate does not verify.
func isCertificate(err error) bool {
	var (
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		roots     x509.SystemRootsError
	)
	return errors.As(err, &authority) || errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &roots)
}

// isCut reports whether a connection ended under an answer.
func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) || errors.Is(err, net.ErrClosed)
}

// statusOutcome is the class of an answer whose status is not 2xx. A redirect
// is a client's error here: the request is not sent to another address, least
// of all with a key, so the target's address has to be put right.
func statusOutcome(status int) loadtest.Outcome {
	switch {
	case status == http.StatusTooManyRequests:
		return loadtest.HTTP429
	case status >= 500:
		return loadtest.HTTP5xx
	case status >= 300:
		return loadtest.HTTP4xx
	}
	return loadtest.Malformed
}

// statusWords puts an error answer into words: the server's own, or where a
// redirect points.
func statusWords(resp *http.Response, body []byte) string {
	if to := resp.Header.Get("Location"); to != "" && resp.StatusCode < 400 {
		if u, err := url.Parse(to); err == nil {
			u.User, u.RawQuery, u.Fragment = nil, "", ""
			to = u.String()
		}
		return fmt.Sprintf("redirects to %s; redirects are not followed, give that address as the target", to)
	}
	if s := strings.TrimSpace(errorText(body)); s != "" {
		return s
	}
	return http.StatusText(resp.StatusCode)
}
