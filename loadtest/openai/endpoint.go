package openai

import (
	"fmt"
	"net/url"
	"strings"
)

// endpoint is where a server's paths lie.
type endpoint struct {
	root string // scheme, host and prefix, without a slash behind: /health, /version
	user *url.Userinfo
}

// parseEndpoint reads a target's address: http(s)://host[:port][/prefix], with
// or without /v1 or the API's own path behind it. User info becomes basic
// authentication and is part of no text.
func parseEndpoint(target string) (endpoint, error) {
	target = strings.TrimSpace(target)
	shown := hideUser(target)
	if !strings.Contains(target, "://") {
		hint := ""
		if target != "" {
			hint = ", as in http://" + shown
		}
		return endpoint{}, fmt.Errorf("target %q: want http:// or https:// in front%s", shown, hint)
	}
	u, err := url.Parse(target)
	if err != nil { // whose text repeats the address, and with it a password
		return endpoint{}, fmt.Errorf("target %q: want http://host:port or https://host:port", shown)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return endpoint{}, fmt.Errorf("target %q: want http:// or https:// in front", shown)
	case u.Hostname() == "":
		return endpoint{}, fmt.Errorf("target %q: no host, want http://host:port", shown)
	case u.RawQuery != "" || u.Fragment != "":
		return endpoint{}, fmt.Errorf("target %q: want no ? or # behind the path", hideUser(u.Scheme+"://"+u.Host+u.Path))
	}
	path := strings.TrimRight(u.EscapedPath(), "/")
	for _, tail := range []string{"/chat/completions", "/completions", "/models"} {
		if strings.HasSuffix(path, "/v1"+tail) {
			path = strings.TrimSuffix(path, tail)
		}
	}
	path = strings.TrimRight(strings.TrimSuffix(path, "/v1"), "/")
	return endpoint{root: u.Scheme + "://" + u.Host + path, user: u.User}, nil
}

// hideUser drops what stands before an @ in an address.
func hideUser(target string) string {
	at := strings.LastIndexByte(target, '@')
	if at < 0 {
		return target
	}
	if i := strings.Index(target, "://"); i >= 0 && i < at {
		return target[:i+3] + target[at+1:]
	}
	return target[at+1:]
}

// at is the address of a path.
func (e endpoint) at(path string) string { return e.root + path }
