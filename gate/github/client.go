package github

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	gh "github.com/google/go-github/v62/github"
)

// DefaultAPIURL is the API of github.com.
const DefaultAPIURL = "https://api.github.com/"

// DefaultMaxWait bounds how long one call waits in all. It is longer than the
// minute that GitHub asks for after a secondary limit that names no time.
const DefaultMaxWait = 90 * time.Second

// Options configures New. The zero Options makes an anonymous client of
// github.com.
type Options struct {
	// Token is sent to the API's own host only, and stands in no error and no
	// log line. White space around it is dropped.
	Token string
	// APIURL is GITHUB_API_URL: "https://api.github.com" or
	// "https://ghes.example.com/api/v3". "" is DefaultAPIURL.
	APIURL string
	// HTTP gives the transport to send through; of the client nothing else is
	// used. Nil takes a transport with proxies from the environment.
	HTTP *http.Client
	// Log gets a line for each wait. Nil is silent.
	Log *slog.Logger
	// MaxWait bounds the waits of one call together; 0 is DefaultMaxWait,
	// negative never waits.
	MaxWait time.Duration

	// Now and Sleep replace the clock in tests; nil is the real one.
	Now   func() time.Time
	Sleep Sleep
}

// Sleep waits for d, or until ctx ends and then returns its error.
type Sleep func(ctx context.Context, d time.Duration) error

// New makes a client. It is safe for concurrent use. An address or a token
// that can never work is an error at once; nothing is sent.
func New(opts Options) (*gh.Client, error) {
	base, err := parseAPIURL(opts.APIURL)
	if err != nil {
		return nil, err
	}
	token := strings.TrimSpace(opts.Token)
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return nil, errors.New("read GitHub token: it holds spaces or control characters; check how the secret was stored")
	}
	t := &transport{
		base: sendingThrough(opts.HTTP), host: base.Host, scheme: base.Scheme, token: token,
		log: opts.Log, maxWait: opts.MaxWait, now: opts.Now, sleep: opts.Sleep, jitter: rand.Float64,
	}
	if t.log == nil {
		t.log = slog.New(slog.DiscardHandler)
	}
	if t.maxWait == 0 {
		t.maxWait = DefaultMaxWait
	}
	if t.now == nil {
		t.now = time.Now
	}
	if t.sleep == nil {
		t.sleep = sleepFor
	}
	client := gh.NewClient(&http.Client{Transport: t})
	client.BaseURL = base
	client.UserAgent = "llm-gate"
	return client, nil
}

func parseAPIURL(raw string) (*url.URL, error) {
	if raw == "" {
		raw = DefaultAPIURL
	}
	u, err := url.Parse(raw)
	switch {
	case err != nil:
		// url.Error repeats the whole address, which may hold a password.
		return nil, errors.New("parse GITHUB_API_URL: not an address")
	case u.Scheme != "http" && u.Scheme != "https", u.Host == "":
		return nil, fmt.Errorf("parse GITHUB_API_URL %q: want an address such as https://ghes.example.com/api/v3", u.Redacted())
	case u.User != nil:
		return nil, fmt.Errorf("parse GITHUB_API_URL %q: must not hold a user name or password; use GITHUB_TOKEN", u.Redacted())
	}
	u.Path = strings.TrimSuffix(u.Path, "/") + "/"
	u.RawPath, u.RawQuery, u.Fragment = "", "", ""
	return u, nil
}

func sendingThrough(client *http.Client) http.RoundTripper {
	if client != nil && client.Transport != nil {
		return client.Transport
	}
	plain, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport
	}
	t := plain.Clone() // keeps Proxy: http.ProxyFromEnvironment
	t.ResponseHeaderTimeout = 30 * time.Second
	return t
}

func sleepFor(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
