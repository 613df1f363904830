package telemetry

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/api"
	v1 "github.com/prometheus/client_golang/api/prometheus/v1"
	"github.com/prometheus/common/model"

	"github.com/org/llm-gate/loadtest"
)

const (
	// firstWindow is how far back the first query looks: wide enough to find
	// the scrape interval, up to half of it.
	firstWindow = 5 * time.Minute
	// maxWindow bounds how far back a later query looks for a scrape.
	maxWindow = time.Hour
	// maxAnswer bounds an answer of the query API in bytes.
	maxAnswer = 64 << 20
	// alignment is how far Prometheus may move a scrape's time stamp to keep
	// its interval even (2 ms), with some room.
	alignment = 5 * time.Millisecond
)

// PrometheusOptions say which Prometheus to ask and for what.
type PrometheusOptions struct {
	// URL is the base address of the query API, without /api/v1.
	URL string
	// Match narrows the query to one deployment: {namespace="pr-412"}. Empty
	// takes every series that Prometheus has.
	Match string
	// Header is sent with every query.
	Header http.Header
	// RootCAs are the authorities that may sign Prometheus's certificate; nil
	// for the system's.
	RootCAs *x509.CertPool
	// Timeout bounds one query; 0 is 10 s.
	Timeout time.Duration
}

// Prometheus is a loadtest.Source that reads what a Prometheus scraped. It
// asks for raw samples with their own time stamps, never for increase() or
// rate(), which extrapolate. It is used by one goroutine at a time.
type Prometheus struct {
	api     v1.API
	address string
	match   matcher
	pattern string
	timeout time.Duration
	reader  *reader
	starts  starts

	synced   bool
	ahead    time.Duration        // Prometheus's clock minus ours
	slack    time.Duration        // uncertainty of ahead
	interval time.Duration        // longest scrape interval, 0 until known
	engines  map[string]time.Time // engine processes by ID → last sampled
	watched  map[string]time.Time // target by ID → newest scrape whose start time was looked at
}

// NewPrometheus makes a Source of a Prometheus. It refuses a malformed URL or
// matcher and does not connect yet: Probe does.
func NewPrometheus(opts PrometheusOptions) (*Prometheus, error) {
	u, err := url.Parse(opts.URL)
	if err != nil {
		return nil, fmt.Errorf("parse Prometheus URL: %w", cause(err))
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("Prometheus URL %q: want http://host:port", display(u))
	}
	match, err := parseMatcher(opts.Match)
	if err != nil {
		return nil, err
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	client, err := api.NewClient(api.Config{
		Address: strings.TrimSuffix(strings.TrimSuffix(strings.TrimRight(opts.URL, "/"), "/api/v1"), "/"),
		Client: &http.Client{
			Transport:     &queryTransport{newTransport(opts.RootCAs, ""), opts.Header},
			CheckRedirect: withinHost,
		},
	})
	if err != nil {
		return nil, fmt.Errorf("connect to Prometheus at %s: %w", display(u), cause(err))
	}
	r := newReader()
	return &Prometheus{
		api: v1.NewAPI(client), address: display(u), match: match, pattern: r.pattern(), timeout: opts.Timeout,
		reader: r, starts: starts{}, engines: map[string]time.Time{}, watched: map[string]time.Time{},
	}, nil
}

// Describe names the query API and the matcher, without credentials. The
// interval is known once Probe or Sample has seen two scrapes.
func (p *Prometheus) Describe() loadtest.SourceInfo {
	address := p.address
	if p.match.text != "" {
		address += " " + p.match.String()
	}
	return loadtest.SourceInfo{Kind: "prometheus", Addresses: []string{address}, IntervalS: p.interval.Seconds()}
}

// Probe reads the newest figures and waits until the scrape interval is known.
// It finds out before the load what would spoil the figures after it: an API
// that does not answer, a matcher that selects nothing or several deployments,
// a target that is no longer scraped.
func (p *Prometheus) Probe(ctx context.Context) (loadtest.Samples, error) {
	samples, err := p.Sample(ctx, time.Time{})
	if err != nil {
		return loadtest.Samples{}, err
	}
	for p.interval == 0 {
		if err := sleep(ctx, 500*time.Millisecond); err != nil {
			return loadtest.Samples{}, fmt.Errorf("find the scrape interval of Prometheus at %s: only one scrape of the target so far: %w", p.address, err)
		}
		if samples, err = p.Sample(ctx, time.Time{}); err != nil {
			return loadtest.Samples{}, err
		}
	}
	return samples, nil
}

// Sample waits until Prometheus has scraped every target at or after at and
// returns the figures of the first such scrape of each; for the zero at, those
// of the newest scrape. A target that was there before and is no longer
// scraped is an error: its counters are unknown, not 0.
func (p *Prometheus) Sample(ctx context.Context, at time.Time) (loadtest.Samples, error) {
	if err := p.sync(ctx); err != nil {
		return loadtest.Samples{}, err
	}
	var threshold time.Time
	if !at.IsZero() {
		threshold = at.Add(p.ahead + p.slack + alignment)
	}
	var pending error
	for {
		list, err := p.query(ctx, threshold)
		if err == nil {
			var samples loadtest.Samples
			samples, err = p.assemble(list, threshold)
			if err == nil {
				return samples, nil
			}
		} else if ctx.Err() != nil && pending != nil {
			err = pending
		}
		if !errors.As(err, new(*notYet)) {
			return loadtest.Samples{}, err
		}
		pending = err
		if sleep(ctx, min(max(p.interval/5, 100*time.Millisecond), time.Second)) != nil {
			return loadtest.Samples{}, fmt.Errorf("wait for a scrape by Prometheus at %s: %w: %w", p.address, err, ctx.Err())
		}
	}
}

// notYet says which target has not been scraped yet.
type notYet struct{ text string }

func (e *notYet) Error() string { return e.text }

// sync finds how far Prometheus's clock is ahead of ours.
func (p *Prometheus) sync(ctx context.Context) error {
	if p.synced {
		return nil
	}
	before := time.Now()
	v, err := p.ask(ctx, "time()")
	if err != nil {
		return err
	}
	trip := time.Since(before)
	scalar, ok := v.(*model.Scalar)
	if !ok {
		return fmt.Errorf("query Prometheus at %s: time() is a %s: is this a Prometheus?", p.address, v.Type())
	}
	p.ahead = scalar.Timestamp.Time().Sub(before.Add(trip / 2))
	p.slack = trip/2 + time.Millisecond
	p.synced = true
	return nil
}

// query asks for the raw samples of every known metric, back to before the
// threshold.
func (p *Prometheus) query(ctx context.Context, threshold time.Time) ([]target, error) {
	window := firstWindow
	if p.interval > 0 {
		window = 4*p.interval + time.Second
		if !threshold.IsZero() {
			window = max(window, time.Since(threshold.Add(-p.ahead))+2*p.interval)
		}
		window = min(window, maxWindow)
	}
	v, err := p.ask(ctx, p.match.selector(p.pattern, window.Milliseconds()))
	if err != nil {
		return nil, err
	}
	m, ok := v.(model.Matrix)
	if !ok {
		return nil, fmt.Errorf("query Prometheus at %s: want raw samples, got a %s", p.address, v.Type())
	}
	return targets(m), nil
}

// ask runs one instant query at Prometheus's own time.
func (p *Prometheus) ask(ctx context.Context, query string) (model.Value, error) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	v, warnings, _, err := p.api.Query(ctx, query, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("query Prometheus at %s: %w%s", p.address, cause(err), queryAdvice(err))
	}
	if len(warnings) > 0 {
		return nil, fmt.Errorf("query Prometheus at %s: the answer is not whole: %s", p.address, strings.Join(warnings, "; "))
	}
	return v, nil
}

func queryAdvice(err error) string {
	switch text := err.Error(); {
	case strings.Contains(text, "401"), strings.Contains(text, "403"):
		return ": give its credentials with --header"
	case strings.Contains(text, "404"), strings.Contains(text, "bad_response"):
		return ": is this the base address of Prometheus, without /api/v1?"
	}
	return ""
}

// assemble makes Samples of the targets' scrapes.
func (p *Prometheus) assemble(all []target, threshold time.Time) (loadtest.Samples, error) {
	list, dead := p.alive(all)
	newest := make([]raw, len(list))
	for i, t := range list {
		newest[i] = raw{t.id, indexed(t.last().samples)}
	}
	engine, err := p.reader.recognise(newest)
	if err != nil {
		return loadtest.Samples{}, fmt.Errorf("Prometheus at %s with matcher %s: %w", p.address, p.match, err)
	}
	isEngine := func(r raw) bool { return engine != nil && engine.on(r) }

	var served, used []target
	for i, t := range list {
		if isEngine(newest[i]) {
			served = append(served, t)
		} else if !p.reader.isHardware(newest[i]) {
			continue // some other process
		}
		used = append(used, t)
		if err := p.watch(t); err != nil {
			return loadtest.Samples{}, err
		}
	}
	if len(used) == 0 && len(p.engines) == 0 {
		return loadtest.Samples{}, p.nothing(dead)
	}
	if err := p.oneDeployment(served); err != nil {
		return loadtest.Samples{}, err
	}
	p.learnInterval(used)

	var raws []raw
	var at time.Time
	for _, t := range used {
		if threshold.IsZero() && t.stale(time.Now().Add(p.ahead), p.interval) {
			return loadtest.Samples{}, p.gone(t.id, t.last().at, list)
		}
		scrape, ok := t.since(threshold)
		if !ok {
			return loadtest.Samples{}, &notYet{fmt.Sprintf("%s was last scraped %s before the time asked for",
				t.id, threshold.Sub(t.last().at).Round(time.Millisecond))}
		}
		raws = append(raws, raw{t.id, indexed(scrape.samples)})
		if at.IsZero() || scrape.at.Before(at) {
			at = scrape.at
		}
	}
	if err := p.remember(raws, isEngine, list, !threshold.IsZero()); err != nil {
		return loadtest.Samples{}, err
	}
	dialect, pages, err := p.reader.read(raws)
	if err != nil {
		return loadtest.Samples{}, fmt.Errorf("Prometheus at %s with matcher %s: %w", p.address, p.match, err)
	}
	return loadtest.Samples{At: at.Add(-p.ahead), Dialect: dialect, Pages: pages}, nil
}

// alive leaves out targets that have not been scraped of late: those of an
// earlier deployment or of an exporter that is down. An engine process that
// was sampled before stays, for its absence is not to be passed over.
func (p *Prometheus) alive(all []target) (list, dead []target) {
	now := time.Now().Add(p.ahead)
	for _, t := range all {
		if _, sampled := p.engines[t.id]; !sampled && t.stale(now, p.interval) {
			dead = append(dead, t)
		} else {
			list = append(list, t)
		}
	}
	return list, dead
}

// nothing is the error where the matcher selects nothing to go by.
func (p *Prometheus) nothing(dead []target) error {
	hint := ""
	for _, t := range dead {
		hint += fmt.Sprintf(" (%s was last scraped at %s)", t.instance, t.last().at.UTC().Format(time.TimeOnly))
	}
	return fmt.Errorf("Prometheus at %s has no fresh series of a known engine or exporter with matcher %s%s: check the matcher's labels, that the target is up on Prometheus's /targets page, and that the engine's metrics are on",
		p.address, p.match, hint)
}

// watch looks at the start times in the target's scrapes that are new.
func (p *Prometheus) watch(t target) error {
	for _, s := range t.scrapes {
		if !s.at.After(p.watched[t.id]) {
			continue
		}
		p.watched[t.id] = s.at
		if err := p.starts.see(t.id, (raw{idx: indexed(s.samples)}).start()); err != nil {
			return err
		}
	}
	return nil
}

// learnInterval takes the longest scrape interval once every target has been
// scraped twice.
func (p *Prometheus) learnInterval(used []target) {
	if p.interval > 0 {
		return
	}
	var longest time.Duration
	for _, t := range used {
		gap := t.interval()
		if gap == 0 {
			return
		}
		longest = max(longest, gap)
	}
	p.interval = longest
}

// remember checks that every engine process seen before is among raws.
func (p *Prometheus) remember(raws []raw, isEngine func(raw) bool, list []target, wait bool) error {
	for id, last := range p.engines {
		if !slices.ContainsFunc(raws, func(r raw) bool { return r.id == id && isEngine(r) }) {
			err := p.gone(id, last, list)
			if wait {
				return &notYet{err.Error()}
			}
			return err
		}
	}
	for _, r := range raws {
		if isEngine(r) {
			p.engines[r.id] = time.Now().Add(p.ahead)
		}
	}
	return nil
}

func (p *Prometheus) gone(id string, last time.Time, list []target) error {
	var now []string
	for _, t := range list {
		now = append(now, t.id)
	}
	return fmt.Errorf("Prometheus at %s has no fresh scrape of %s (last seen %s; there now: %s): is the target up, or was a replica replaced?",
		p.address, id, last.UTC().Format(time.TimeOnly), strings.Join(now, ", "))
}

// oneDeployment refuses engine series of several jobs or namespaces that the
// matcher does not ask for by that label: added up they would be the figures of
// none of them.
func (p *Prometheus) oneDeployment(served []target) error {
	for _, label := range []string{"job", "namespace"} {
		var values []string
		for _, t := range served {
			v := t.job
			if label == "namespace" {
				v = t.namespace
			}
			values = append(values, v)
		}
		if values = distinct(values); len(values) > 1 && !slices.Contains(p.match.labels, label) {
			return fmt.Errorf("Prometheus at %s with matcher %s: engines of several deployments match (%s: %s): narrow the matcher, say {%s=%q}",
				p.address, p.match, label, strings.Join(values, ", "), label, values[0])
		}
	}
	return nil
}

// stale reports whether the target has missed more than two scrapes. usual is
// the interval where the target's own scrapes do not tell it.
func (t target) stale(now time.Time, usual time.Duration) bool {
	interval := t.interval()
	if interval == 0 {
		interval = usual
	}
	return interval > 0 && now.Sub(t.last().at) > 5*interval/2+2*time.Second
}

// pattern matches the name of every metric that any table uses.
func (r *reader) pattern() string {
	list := []string{startTime}
	for _, t := range slices.Concat(r.engines, []*table{r.dcgm, r.tritonGPU, r.node, r.procs}) {
		for word := range t.words {
			list = append(list, word)
		}
		for _, row := range t.infos {
			list = append(list, t.spellings(row.name)...)
		}
	}
	return strings.Join(distinct(list), "|")
}

// A queryTransport adds headers and bounds the answer.
type queryTransport struct {
	next   http.RoundTripper
	header http.Header
}

// RoundTrip sends the request with the headers added.
func (t *queryTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	for k, v := range t.header {
		req.Header[k] = v
	}
	resp, err := t.next.RoundTrip(req)
	if err == nil {
		resp.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	}
	return resp, err
}
