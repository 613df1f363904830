package openai

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// DefaultMaxLine is the most bytes that one line, or the data of one event, may
// hold where Options do not say: 8 MiB.
const DefaultMaxLine = 8 << 20

// Auto names the only model that the server lists.
const Auto = "auto"

// Options say where the server is and how to speak to it.
type Options struct {
	// BaseURL is http(s)://host[:port][/prefix], with or without /v1 behind it.
	BaseURL string
	// API is Chat or Completions; "" is Chat.
	API string
	// Model is sent with every request. "" and Auto are resolved by Preflight.
	Model string
	// APIKey is sent as a bearer token where it is not empty. It appears in no
	// error and in no Detail, not even where the server repeats it.
	APIKey string
	// Header is added to every request and wins over what the client sets.
	// Its values are treated as secrets.
	Header http.Header
	// CAFile holds PEM certificates to trust beside the system's.
	CAFile string
	// Timeout bounds a request from its send; 0 leaves that to the context.
	Timeout time.Duration
	// MaxLine is the most bytes of one line, or of one event's data, before
	// the answer is malformed; 0 is DefaultMaxLine.
	MaxLine int
}

// Client is a loadtest.Target that speaks OpenAI's HTTP API. It is safe for
// concurrent use.
//
// What it learns of the server it keeps for its life: the model that Preflight
// resolved, and members of the request that the server refused (see Refused).
type Client struct {
	options  Options
	endpoint endpoint
	header   http.Header
	host     string   // the Host header, where Options.Header has one
	secrets  []string // masked in every text

	pooled *http.Transport // keeps connections
	fresh  *http.Transport // a new connection a request, for sending again

	model   atomic.Pointer[string]
	without atomic.Uint32 // wishes that the server refused

	streams sync.Pool // of *stream
}

var _ loadtest.Target = (*Client)(nil)

// New returns a client and sends nothing. An address that cannot be meant, an
// unknown API and an unreadable CA file are a *RefusedError.
func New(o Options) (*Client, error) {
	fail := func(err error) (*Client, error) {
		return nil, &RefusedError{Reason: err.Error(), err: err}
	}
	switch o.API {
	case "":
		o.API = Chat
	case Chat, Completions:
	default:
		return fail(fmt.Errorf("api %q: want %s or %s", o.API, Chat, Completions))
	}
	e, err := parseEndpoint(o.BaseURL)
	if err != nil {
		return fail(err)
	}
	if o.MaxLine <= 0 {
		o.MaxLine = DefaultMaxLine
	}
	roots, err := rootCAs(o.CAFile)
	if err != nil {
		return fail(err)
	}
	c := &Client{options: o, endpoint: e}
	if err := c.setHeader(); err != nil {
		return fail(err)
	}
	c.pooled = transport(roots)
	c.fresh = transport(roots)
	c.fresh.DisableKeepAlives = true
	c.streams.New = func() any { return new(stream) }
	c.setModel(o.Model)
	return c, nil
}

// Close drops idle connections.
func (c *Client) Close() {
	c.pooled.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

// Model is the model that requests ask for, "" as long as it is to be resolved.
func (c *Client) Model() string { return *c.model.Load() }

func (c *Client) setModel(name string) {
	if name == Auto {
		name = ""
	}
	c.model.Store(&name)
}

// Refused lists the members of the request that the server has refused so far
// and that are left out since: stream_options, ignore_eos, min_tokens. Without
// the first, output tokens are unknown; without the others, ExactOutput is a
// mere limit.
func (c *Client) Refused() []string {
	var names []string
	without := wish(c.without.Load())
	for _, w := range wishes {
		if without&w.wish != 0 && w.name != "include_usage" {
			names = append(names, w.name)
		}
	}
	return names
}

// setHeader prepares the headers that every request carries.
func (c *Client) setHeader() error {
	h := http.Header{
		"Content-Type": {"application/json"},
		"Accept":       {"text/event-stream, application/json"},
		"User-Agent":   {"llm-gate"},
	}
	if u := c.endpoint.user; u != nil {
		password, _ := u.Password()
		basic := base64.StdEncoding.EncodeToString([]byte(u.Username() + ":" + password))
		h.Set("Authorization", "Basic "+basic)
		c.secret(password)
		c.secret(basic)
	}
	if key := c.options.APIKey; key != "" {
		if !fitsHeader(key) {
			return errors.New("API key: it holds a control character; is there a newline behind it?")
		}
		h.Set("Authorization", "Bearer "+key)
		c.secret(key)
	}
	for name, values := range c.options.Header {
		if !isToken(name) {
			return fmt.Errorf("header %q: want a name of letters, digits and hyphens", name)
		}
		name = http.CanonicalHeaderKey(name)
		for _, value := range values {
			if !fitsHeader(value) {
				return fmt.Errorf("header %q: its value holds a control character", name)
			}
			c.secret(value)
			if scheme, rest, ok := strings.Cut(value, " "); ok && scheme != "" {
				c.secret(rest)
			}
		}
		if name == "Host" {
			c.host = strings.Join(values, "")
			continue
		}
		h[name] = values
	}
	c.header = h
	return nil
}

// secret masks s in every text. Very short values ("1", "true") are no secrets,
// and masking them would garble what the server says.
func (c *Client) secret(s string) {
	if len(s) >= 6 {
		c.secrets = append(c.secrets, s)
	}
}

// isToken reports whether s is a header name by RFC 9110.
func isToken(s string) bool {
	const special = "!#$%&'*+-.^_`|~"
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(special, r)
	})
}

// fitsHeader reports whether s can be a header's value.
func fitsHeader(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7F })
}

// transport keeps every connection it opens, asks for no compression (a
// compressor holds events back) and goes through the environment's proxy except
// to this machine. It follows no redirect: the client does not use http.Client.
func transport(roots *x509.CertPool) *http.Transport {
	dialer := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:               http.ProxyFromEnvironment,
		DialContext:         dialer.DialContext,
		TLSClientConfig:     &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout: 30 * time.Second,
		ForceAttemptHTTP2:   true,
		DisableCompression:  true,
		MaxIdleConns:        0, // no limit
		MaxIdleConnsPerHost: 1 << 16,
		IdleConnTimeout:     90 * time.Second,
	}
}

// rootCAs are the system's certificates and those of the file; nil stands for
// the system's alone.
func rootCAs(file string) (*x509.CertPool, error) {
	if file == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read CA file: %w", err)
	}
	pool, err := x509.SystemCertPool()
	if err != nil {
		pool = x509.NewCertPool()
	}
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read CA file %s: no PEM certificate in it", file)
	}
	return pool, nil
}
