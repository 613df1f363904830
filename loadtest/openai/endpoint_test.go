package openai

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParseEndpoint(t *testing.T) {
	for target, want := range map[string]string{
		"http://localhost:8000":                      "http://localhost:8000",
		" http://localhost:8000/ ":                   "http://localhost:8000",
		"http://localhost:8000/v1":                   "http://localhost:8000",
		"http://localhost:8000/v1/":                  "http://localhost:8000",
		"https://h/v1/chat/completions":              "https://h",
		"https://h/v1/models/":                       "https://h",
		"https://h/openai/prefix/v1":                 "https://h/openai/prefix",
		"https://h/openai/prefix//":                  "https://h/openai/prefix",
		"https://h/a%2Fb":                            "https://h/a%2Fb",
		"https://user:pass@h:1/v1":                   "https://h:1",
		"http://[::1]:8080/v1":                       "http://[::1]:8080",
		"HTTP://Example.test/v1":                     "http://Example.test",
		"http://svc.ns.svc.cluster.local:80/models/": "http://svc.ns.svc.cluster.local:80/models",
	} {
		e, err := parseEndpoint(target)
		if err != nil || e.root != want {
			t.Errorf("parseEndpoint(%q) = %q, %v, want %q", target, e.root, err, want)
		}
	}
}

func TestNewRefuses(t *testing.T) {
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		o    Options
		want string
	}{
		{Options{BaseURL: ""}, `target "": want http:// or https:// in front`},
		{Options{BaseURL: "foo"}, `target "foo": want http:// or https:// in front, as in http://foo`},
		{Options{BaseURL: "localhost:8000"}, `target "localhost:8000": want http:// or https:// in front, as in http://localhost:8000`},
		{Options{BaseURL: "127.0.0.1:8000"}, `as in http://127.0.0.1:8000`},
		{Options{BaseURL: "ftp://h"}, `target "ftp://h": want http:// or https:// in front`},
		{Options{BaseURL: "http://"}, "no host"},
		{Options{BaseURL: "http://:80"}, "no host"},
		{Options{BaseURL: "http://h/?key=x"}, `target "http://h/": want no ? or #`},
		{Options{BaseURL: "http://u:topsecret@h:port"}, "want http://host:port"},
		{Options{BaseURL: "http://u:topsecret@h/?x"}, "want no ? or #"},
		{Options{BaseURL: "http://h", API: "responses"}, `api "responses": want chat or completions`},
		{Options{BaseURL: "http://h", CAFile: "/does/not/exist"}, "read CA file"},
		{Options{BaseURL: "http://h", CAFile: noPEM}, "no PEM certificate"},
		{Options{BaseURL: "http://h", APIKey: "topsecret\n"}, "API key: it holds a control character"},
		{Options{BaseURL: "http://h", Header: http.Header{"X-A": {"topsecret\r\nb"}}}, `header "X-A"`},
		{Options{BaseURL: "http://h", Header: http.Header{"X A": {"b"}}}, `header "X A": want a name`},
	} {
		_, err := New(c.o)
		var refused *RefusedError
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("New(%+v): %v, want a refusal with %q", c.o, err, c.want)
		}
	}
}

// TestHeaders: user info, own headers and the host reach the server.
func TestHeaders(t *testing.T) {
	client := serve(t, Options{Header: http.Header{"x-route": {"canary"}, "host": {"model.example"}, "user-agent": {"mine"}}}, func(w http.ResponseWriter, r *http.Request) {
		for name, want := range map[string]string{"X-Route": "canary", "User-Agent": "mine", "Content-Type": "application/json", "Authorization": "", "Accept-Encoding": ""} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %q, want %q", name, got, want)
			}
		}
		if r.Host != "model.example" || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("%s %s", r.Host, r.URL)
		}
		answerStream(w, goodStream)
	})
	do(t, client, request())

	server := serve(t, Options{}, func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != "u" || password != "pass" {
			t.Errorf("basic auth %q, %q", user, password)
		}
		answerStream(w, goodStream)
	})
	do(t, newClient(t, Options{BaseURL: strings.Replace(server.options.BaseURL, "http://", "http://u:pass@", 1)}), request())
}
