package telemetry

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/org/llm-gate/loadtest"
)

// The defaults of ScrapeOptions.
const (
	defaultTimeout = 10 * time.Second
	defaultProbes  = 8
)

// A Resolver looks up every address of a host; *net.Resolver is one.
type Resolver interface {
	LookupHost(ctx context.Context, host string) ([]string, error)
}

// ScrapeOptions say how pages are fetched. The zero value is good for pages
// without authentication.
type ScrapeOptions struct {
	// Header is sent with every request, mostly Authorization.
	Header http.Header
	// RootCAs are the authorities that may sign the server's certificate; nil
	// for the system's.
	RootCAs *x509.CertPool
	// Timeout bounds one scrape of one page; 0 is 10 s.
	Timeout time.Duration
	// Resolver serves dns+http addresses; nil is the system's.
	Resolver Resolver
	// Probes is how often Probe scrapes each page; 0 is 8.
	Probes int
}

// Scrape is a loadtest.Source that reads metrics pages directly. Like every
// Source it is used by one goroutine at a time; the pages of one sample are
// fetched concurrently.
type Scrape struct {
	opts   ScrapeOptions
	specs  []pageSpec
	known  map[string]page // by ID, every page seen so far
	starts starts
	reader *reader
}

// A pageSpec is an address as it was given.
type pageSpec struct {
	url *url.URL
	dns bool
}

// A page is one process's page. addr, where set, is what is dialled.
type page struct {
	id   string
	url  *url.URL
	addr string
	spec int // index of its pageSpec
}

// NewScrape makes a Source of metrics pages. A URL is http://, https://, or
// dns+http:// and dns+https://, in which case every A and AAAA record of the
// host is a page of its own. It refuses a malformed or repeated URL and does
// not connect yet: Probe does.
func NewScrape(urls []string, opts ScrapeOptions) (*Scrape, error) {
	if len(urls) == 0 {
		return nil, errors.New("scrape server metrics: no page is given")
	}
	if opts.Timeout <= 0 {
		opts.Timeout = defaultTimeout
	}
	if opts.Resolver == nil {
		opts.Resolver = net.DefaultResolver
	}
	if opts.Probes <= 0 {
		opts.Probes = defaultProbes
	}
	s := &Scrape{opts: opts, known: map[string]page{}, starts: starts{}, reader: newReader()}
	for _, text := range urls {
		spec, err := parseSpec(text)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(s.specs, func(o pageSpec) bool { return o.shown() == spec.shown() && o.url.RawQuery == spec.url.RawQuery }) {
			return nil, fmt.Errorf("metrics page %s is given twice: its counters would count double", spec.shown())
		}
		s.specs = append(s.specs, spec)
	}
	return s, nil
}

func parseSpec(text string) (pageSpec, error) {
	u, err := url.Parse(text)
	if err != nil {
		// The URL may hold credentials, so the error does not repeat it.
		return pageSpec{}, fmt.Errorf("parse metrics URL: %w", cause(err))
	}
	scheme, dns := strings.CutPrefix(u.Scheme, "dns+")
	u.Scheme = scheme
	spec := pageSpec{u, dns}
	if scheme != "http" && scheme != "https" || u.Host == "" {
		return pageSpec{}, fmt.Errorf("metrics page %q: want http://host:port/path, https://… or dns+http://…", spec.shown())
	}
	return spec, nil
}

// shown is the address without credentials.
func (p pageSpec) shown() string {
	if p.dns {
		return "dns+" + display(p.url)
	}
	return display(p.url)
}

// Describe names the pages as they were given, without credentials.
func (s *Scrape) Describe() loadtest.SourceInfo {
	info := loadtest.SourceInfo{Kind: "scrape"}
	for _, spec := range s.specs {
		info.Addresses = append(info.Addresses, spec.shown())
	}
	return info
}

// Probe scrapes every page several times on fresh connections and returns the
// last reading. It finds out before the load what would spoil the figures
// after it: a page that does not answer, and an address with several replicas
// behind it (ErrReplicas).
func (s *Scrape) Probe(ctx context.Context) (loadtest.Samples, error) {
	var last loadtest.Samples
	readings := make(map[string][]loadtest.Page)
	for range s.opts.Probes {
		samples, err := s.Sample(ctx, time.Time{})
		if err != nil {
			return loadtest.Samples{}, err
		}
		for _, p := range samples.Pages {
			readings[p.ID] = append(readings[p.ID], p)
		}
		last = samples
	}
	var errs []error
	for _, p := range last.Pages {
		errs = append(errs, backAndForth(p.ID, readings[p.ID]))
	}
	if err := errors.Join(errs...); err != nil {
		return loadtest.Samples{}, err
	}
	return last, nil
}

// Sample scrapes every page now, or at the time at where that lies ahead. All
// pages must answer: the errors of those that did not are joined.
func (s *Scrape) Sample(ctx context.Context, at time.Time) (loadtest.Samples, error) {
	if err := sleepUntil(ctx, at); err != nil {
		return loadtest.Samples{}, fmt.Errorf("wait for the time of a scrape: %w", err)
	}
	began := time.Now()
	pages, err := s.pages(ctx)
	if err != nil {
		return loadtest.Samples{}, err
	}
	raws := make([]raw, len(pages))
	errs := make([]error, len(pages))
	var wg sync.WaitGroup
	for i, p := range pages {
		wg.Go(func() {
			ctx, cancel := context.WithTimeout(ctx, s.opts.Timeout)
			defer cancel()
			client := &http.Client{Transport: newTransport(s.opts.RootCAs, p.addr), CheckRedirect: withinHost}
			samples, err := fetch(ctx, client, p.url, s.opts.Header, p.id)
			raws[i], errs[i] = raw{p.id, indexed(samples)}, err
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return loadtest.Samples{}, err
	}
	for _, r := range raws {
		errs = append(errs, s.starts.see(r.id, r.start()))
	}
	if err := errors.Join(errs...); err != nil {
		return loadtest.Samples{}, err
	}
	dialect, out, err := s.reader.read(singleStacked(pages, raws))
	if err != nil {
		return loadtest.Samples{}, fmt.Errorf("read server metrics: %w", err)
	}
	return loadtest.Samples{At: began, Dialect: dialect, Pages: out}, nil
}

// pages lists the pages: the plain ones, and for a dns address every record
// that it has or had in this run. A replica that left DNS but still answers
// goes on counting; one that does not is an error of its scrape.
func (s *Scrape) pages(ctx context.Context) ([]page, error) {
	var errs []error
	for i, spec := range s.specs {
		if !spec.dns {
			id := spec.shown()
			if _, taken := s.known[id]; taken && s.known[id].spec != i {
				id = fmt.Sprintf("%s (%d)", id, i+1) // pages that differ in their query only
			}
			s.known[id] = page{id: id, url: spec.url, spec: i}
			continue
		}
		hosts, err := s.opts.Resolver.LookupHost(ctx, spec.url.Hostname())
		if err == nil && len(hosts) == 0 {
			err = errors.New("no address")
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("resolve %s: %w", spec.shown(), err))
			continue
		}
		for _, host := range hosts {
			addr := net.JoinHostPort(host, port(spec.url))
			id := display(&url.URL{Scheme: spec.url.Scheme, Host: addr, Path: spec.url.Path})
			s.known[id] = page{id: id, url: spec.url, addr: addr, spec: i}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	out := make([]page, 0, len(s.known))
	for _, p := range s.known {
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b page) int {
		if a.spec != b.spec {
			return a.spec - b.spec
		}
		return strings.Compare(a.id, b.id)
	})
	return out, nil
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// singleStacked leaves out the IPv6 page of a process whose IPv4 page, by the
// same name and start time, is there too.
func singleStacked(pages []page, raws []raw) []raw {
	v4 := make(map[string]bool)
	key := func(i int) string { return fmt.Sprintf("%d %f", pages[i].spec, raws[i].start()) }
	for i, p := range pages {
		if p.addr != "" && !strings.HasPrefix(p.addr, "[") && raws[i].start() != 0 {
			v4[key(i)] = true
		}
	}
	var out []raw
	for i, p := range pages {
		if !strings.HasPrefix(p.addr, "[") || !v4[key(i)] {
			out = append(out, raws[i])
		}
	}
	return out
}

// sleepUntil waits until at within ctx.
func sleepUntil(ctx context.Context, at time.Time) error {
	wait := time.Until(at)
	if at.IsZero() || wait <= 0 {
		return ctx.Err()
	}
	return sleep(ctx, wait)
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
