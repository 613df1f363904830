package telemetry

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// newTransport is a transport that opens a fresh connection for each request,
// so that an address with several replicas behind it shows them. addr, where
// set, is dialled in place of the URL's host.
func newTransport(roots *x509.CertPool, addr string) *http.Transport {
	t := &http.Transport{
		Proxy:             http.ProxyFromEnvironment,
		DisableKeepAlives: true,
	}
	if roots != nil {
		t.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if addr != "" {
		t.Proxy = nil
		t.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, addr)
		}
	}
	return t
}

// withinHost follows redirects as long as they stay on the host, so that
// headers with keys go nowhere else.
func withinHost(req *http.Request, via []*http.Request) error {
	if len(via) >= 5 || req.URL.Host != via[0].URL.Host || via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return http.ErrUseLastResponse
	}
	return nil
}

// fetch gets a metrics page. Its errors name shown, never the URL itself.
func fetch(ctx context.Context, client *http.Client, u *url.URL, header http.Header, shown string) ([]sample, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("scrape %s: %w", shown, cause(err))
	}
	maps.Copy(req.Header, header)
	req.Header.Set("Accept", "text/plain;version=0.0.4;q=1,application/openmetrics-text;version=1.0.0;q=0.5,*/*;q=0.1")
	resp, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("scrape %s: %w", shown, cause(err))
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("scrape %s: answered %s%s", shown, resp.Status, advice(resp.StatusCode))
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxPage+1))
	if err != nil {
		return nil, fmt.Errorf("scrape %s: read body: %w", shown, cause(err))
	}
	if len(body) > maxPage {
		return nil, fmt.Errorf("scrape %s: the page is larger than %d MiB", shown, maxPage>>20)
	}
	kind := resp.Header.Get("Content-Type")
	start := bytes.TrimLeft(body, " \t\r\n")
	switch {
	case strings.Contains(kind, "text/html") || bytes.HasPrefix(start, []byte("<")):
		return nil, fmt.Errorf("scrape %s: answered a HTML page, not metrics: is this the path of the metrics (mostly /metrics)?", shown)
	case strings.Contains(kind, "json") || bytes.HasPrefix(start, []byte("[")):
		return nil, fmt.Errorf("scrape %s: answered JSON, not Prometheus metrics: TensorRT-LLM has them at /prometheus/metrics, most engines at /metrics", shown)
	}
	samples, err := parsePage(body, strings.Contains(kind, "openmetrics"))
	if err != nil {
		return nil, fmt.Errorf("scrape %s: parse page: %w", shown, err)
	}
	return samples, nil
}

// advice says what to do about a status.
func advice(status int) string {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return ": give the page's credentials with --api-key-env or --header"
	case http.StatusNotFound:
		return ": is this the metrics page, and is --metrics (SGLang, LMDeploy: --enable-metrics) on?"
	case http.StatusNotImplemented:
		return ": start llama-server with --metrics"
	case http.StatusServiceUnavailable:
		return ": the server is not ready yet"
	}
	if status >= 300 && status < 400 {
		return ": a redirect to another host is not followed; give the address that it leads to"
	}
	return ""
}

// cause strips the URL, which may hold credentials, off an HTTP client's error.
func cause(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err
	}
	return err
}

// display writes a URL without user info, query and fragment, which may hold
// credentials.
func display(u *url.URL) string {
	shown := url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}
	return shown.String()
}
