package github

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gh "github.com/google/go-github/v62/github"
	"github.com/org/llm-gate/gate/github/githubtest"
)

const token = "ghs_verysecret"

// clock is time that passes only by sleeping.
type clock struct {
	mu    sync.Mutex
	at    time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{at: time.Unix(1_800_000_000, 0)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
	c.slept = append(c.slept, d)
	return ctx.Err()
}

func (c *clock) total() time.Duration {
	var sum time.Duration
	for _, d := range c.slept {
		sum += d
	}
	return sum
}

// setup is a fake GitHub with pull request 7, and a client of it.
func setup(t *testing.T) (*githubtest.Server, *gh.Client, *clock, *bytes.Buffer) {
	t.Helper()
	s := githubtest.New(t)
	s.AddRepo("org/app")
	s.AddPull("org/app", githubtest.Pull{Number: 7, HeadSHA: strings.Repeat("a", 40), HeadRef: "f"})
	at, logged := newClock(), new(bytes.Buffer)
	c, err := New(Options{Token: token, APIURL: s.URL, Log: slog.New(slog.NewTextHandler(logged, nil)), Now: at.now, Sleep: at.sleep})
	if err != nil {
		t.Fatal(err)
	}
	return s, c, at, logged
}

// failing answers the first n requests.
func failing(n int, answer githubtest.Answer) githubtest.Fault {
	return func(*http.Request) *githubtest.Answer {
		if n == 0 {
			return nil
		}
		n--
		return &answer
	}
}

func header(pairs ...string) http.Header {
	h := http.Header{}
	for i := 0; i < len(pairs); i += 2 {
		h.Set(pairs[i], pairs[i+1])
	}
	return h
}

func reset(at *clock, in time.Duration) string {
	return strconv.FormatInt(at.now().Add(in).Unix(), 10)
}

func TestWhatIsRetried(t *testing.T) {
	comment := func(ctx context.Context, c *gh.Client) error {
		_, _, err := c.Issues.CreateComment(ctx, "org", "app", 7, &gh.IssueComment{Body: gh.String("hi")})
		return err
	}
	read := func(ctx context.Context, c *gh.Client) error {
		_, _, err := c.PullRequests.Get(ctx, "org", "app", 7)
		return err
	}
	blob := func(ctx context.Context, c *gh.Client) error {
		_, _, err := c.Git.CreateBlob(ctx, "org", "app", &gh.Blob{Content: gh.String("x")})
		return err
	}
	secondary := `{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}`
	for _, test := range []struct {
		name     string
		answer   func(*clock) githubtest.Answer
		times    int
		call     func(context.Context, *gh.Client) error
		requests int
		min, max time.Duration // waited
		check    func(error) bool
	}{
		{"500 on a read", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 500} }, 3, read, 4, 3 * time.Second, 8 * time.Second, nil},
		{"a server that stays away", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 503} }, 99, read, maxAttempts, 10 * time.Second, 40 * time.Second, IsAmbiguous},
		{"502 on a create", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 502} }, 1, comment, 1, 0, 0, IsAmbiguous},
		{"502 on a blob", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 502} }, 1, blob, 2, time.Second / 2, time.Second, nil},
		{"503 that says when", func(*clock) githubtest.Answer {
			return githubtest.Answer{Status: 503, Header: header("Retry-After", "7")}
		}, 1, read, 2, 7 * time.Second, 7 * time.Second, nil},
		{"hang-up on a read", func(*clock) githubtest.Answer { return githubtest.Answer{Hangup: true} }, 1, read, 2, time.Second / 2, time.Second, nil},
		{"hang-up on a create", func(*clock) githubtest.Answer { return githubtest.Answer{Hangup: true} }, 1, comment, 1, 0, 0, IsAmbiguous},
		{"secondary limit that says when", func(*clock) githubtest.Answer {
			return githubtest.Answer{Status: 403, Header: header("Retry-After", "30"), Body: secondary}
		}, 1, comment, 2, 30 * time.Second, 30 * time.Second, nil},
		{"secondary limit that does not", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 403, Body: secondary} }, 1, comment, 2, time.Minute, time.Minute, nil},
		{"429 alone", func(*clock) githubtest.Answer { return githubtest.Answer{Status: 429} }, 1, comment, 2, time.Minute, time.Minute, nil},
		{"primary limit soon over", func(at *clock) githubtest.Answer {
			return githubtest.Answer{Status: 403, Header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(at, 20*time.Second)), Body: `{"message":"API rate limit exceeded"}`}
		}, 1, comment, 2, 20 * time.Second, 22 * time.Second, nil},
		{"primary limit for an hour", func(at *clock) githubtest.Answer {
			return githubtest.Answer{Status: 403, Header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(at, time.Hour)), Body: `{"message":"API rate limit exceeded"}`}
		}, 99, comment, 1, 0, 0, func(err error) bool { return IsRateLimited(err) && !IsPermission(err) && !IsAmbiguous(err) }},
		{"no permission", func(*clock) githubtest.Answer {
			return githubtest.Answer{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}
		}, 99, comment, 1, 0, 0, func(err error) bool { return IsPermission(err) && !IsRateLimited(err) }},
		{"no permission at the end of the limit", func(at *clock) githubtest.Answer {
			return githubtest.Answer{Status: 403, Header: header("X-RateLimit-Remaining", "0", "X-RateLimit-Reset", reset(at, time.Second)), Body: `{"message":"Resource not accessible by integration"}`}
		}, 99, comment, 1, 0, 0, func(err error) bool { return IsPermission(err) && !IsRateLimited(err) }},
		{"bad credentials", func(*clock) githubtest.Answer {
			return githubtest.Answer{Status: 401, Body: `{"message":"Bad credentials"}`}
		}, 99, read, 1, 0, 0, func(err error) bool { return Status(err) == 401 }},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, c, at, logged := setup(t)
			s.Fail(failing(test.times, test.answer(at)))
			err := test.call(t.Context(), c)
			switch {
			case test.check == nil && err != nil:
				t.Errorf("got %v, want it to work in the end", err)
			case test.check != nil && (err == nil || !test.check(err)):
				t.Errorf("got %v (%T), which is not told for what it is", err, err)
			}
			if n := len(s.Requests()); n != test.requests {
				t.Errorf("%d requests, want %d", n, test.requests)
			}
			if waited := at.total(); waited < test.min || waited > test.max {
				t.Errorf("waited %v, want %v to %v", waited, test.min, test.max)
			}
			if err != nil && strings.Contains(err.Error(), token) || strings.Contains(logged.String(), token) {
				t.Errorf("the token got out: %v\n%s", err, logged)
			}
		})
	}
}

// An answer that says that it was the last one allowed must not keep the client
// from asking again by itself.
func TestLastCallOfALimitDoesNotBlockTheNext(t *testing.T) {
	at := newClock()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(time.Now().Add(time.Hour).Unix(), 10))
		_, _ = w.Write([]byte(`{"number":7}`))
	}))
	defer server.Close()
	c, err := New(Options{APIURL: server.URL, Now: at.now, Sleep: at.sleep})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if _, _, err := c.PullRequests.Get(t.Context(), "org", "app", 7); err != nil {
			t.Fatal(err)
		}
	}
}

func TestDeadlineIsNotSleptPast(t *testing.T) {
	s, c, at, _ := setup(t)
	s.Fail(failing(99, githubtest.Answer{Status: 429, Header: header("Retry-After", "30")}))
	at.at = time.Now() // deadlines are of the real clock
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, _, err := c.PullRequests.Get(ctx, "org", "app", 7)
	if !IsRateLimited(err) || at.total() != 0 {
		t.Errorf("got %v after %v, want the rate limit at once", err, at.total())
	}
}

func TestRetriesEndWithTheContext(t *testing.T) {
	s, c, at, _ := setup(t)
	ctx, cancel := context.WithCancel(t.Context())
	s.Fail(func(*http.Request) *githubtest.Answer { cancel(); return &githubtest.Answer{Status: 500} })
	_, _, err := c.PullRequests.Get(ctx, "org", "app", 7)
	if !errors.Is(err, context.Canceled) && Status(err) != 500 { // the answer may win
		t.Errorf("got %v, want Canceled", err)
	}
	if at.total() != 0 || len(s.Requests()) > 1 {
		t.Errorf("slept %v, %d requests after the end", at.total(), len(s.Requests()))
	}
}

// A connection that cannot be made is tried again even for a create.
func TestNobodyListens(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	at := newClock()
	c, err := New(Options{Token: token, APIURL: "http://" + address, Now: at.now, Sleep: at.sleep})
	if err != nil {
		t.Fatal(err)
	}
	_, _, err = c.Issues.CreateComment(t.Context(), "org", "app", 7, &gh.IssueComment{Body: gh.String("hi")})
	if err == nil || IsAmbiguous(err) || strings.Contains(err.Error(), token) || !strings.Contains(err.Error(), address) {
		t.Errorf("got %v: want a plain error that names the address", err)
	}
	if len(at.slept) != maxAttempts-1 {
		t.Errorf("slept %v, want %d waits", at.slept, maxAttempts-1)
	}
}

func TestTheTokenStaysWithItsHost(t *testing.T) {
	var got []string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		_, _ = w.Write([]byte(`{"number":7}`))
	}))
	defer other.Close()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.Header.Get("Authorization"))
		http.Redirect(w, r, other.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer api.Close()
	c, err := New(Options{Token: token + "\n", APIURL: api.URL + "/api/v3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.PullRequests.Get(t.Context(), "org", "app", 7); err != nil {
		t.Fatal(err)
	}
	if want := []string{"Bearer " + token, ""}; !slices.Equal(got, want) {
		t.Errorf("authorization sent: %q, want %q", got, want)
	}
}

func TestNew(t *testing.T) {
	for _, test := range []struct{ url, want string }{
		{"", "https://api.github.com/"},
		{"https://api.github.com", "https://api.github.com/"},
		{"https://ghes.example.com/api/v3", "https://ghes.example.com/api/v3/"},
		{"https://ghes.example.com/api/v3/", "https://ghes.example.com/api/v3/"},
		{"http://127.0.0.1:8080", "http://127.0.0.1:8080/"},
	} {
		c, err := New(Options{APIURL: test.url})
		if err != nil || c.BaseURL.String() != test.want {
			t.Errorf("New(%q): %v, %v, want %s", test.url, c.BaseURL, err, test.want)
		}
	}
	for _, bad := range []Options{
		{APIURL: "ghes.example.com"}, {APIURL: "ftp://x/"}, {APIURL: "https://"}, {APIURL: "http://[::1"},
		{APIURL: "https://user:hunter2@ghes.example.com"}, {Token: "two words"}, {Token: "a\x00b"}, {Token: "tökén"},
	} {
		_, err := New(bad)
		if err == nil || strings.Contains(err.Error(), "hunter2") || bad.Token != "" && strings.Contains(err.Error(), bad.Token) {
			t.Errorf("New(%+v) = %v, want an error without secrets", bad, err)
		}
	}
}

func TestEnterpriseServerPaths(t *testing.T) {
	s, _, _, _ := setup(t)
	c, err := New(Options{Token: token, APIURL: s.URL + "/api/v3"})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := c.PullRequests.Get(t.Context(), "org", "app", 7); err != nil {
		t.Fatal(err)
	}
	if got := s.Requests()[0].Path; got != "/api/v3/repos/org/app/pulls/7" {
		t.Errorf("asked for %s", got)
	}
}

func TestCreateOnce(t *testing.T) {
	for _, test := range []struct {
		name    string
		answer  githubtest.Answer
		times   int
		creates int
		left    int
		fails   bool
	}{
		{"done but unanswered", githubtest.Answer{Status: 502, After: true}, 1, 1, 1, false},
		{"connection lost after it", githubtest.Answer{Hangup: true, After: true}, 1, 1, 1, false},
		{"not done", githubtest.Answer{Status: 503}, 1, 2, 1, false},
		{"never done", githubtest.Answer{Status: 503}, 99, createAttempts, 0, true},
		{"refused", githubtest.Answer{Status: 403, Body: `{"message":"Resource not accessible by integration"}`}, 99, 1, 0, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, c, at, _ := setup(t)
			creates, n := 0, test.times
			s.Fail(func(r *http.Request) *githubtest.Answer {
				if r.Method != http.MethodPost || n == 0 {
					return nil
				}
				n--
				return &test.answer
			})
			_, err := CreateOnce(t.Context(), at.sleep,
				func(ctx context.Context) (*gh.IssueComment, bool, error) {
					have, _, err := c.Issues.ListComments(ctx, "org", "app", 7, nil)
					if err != nil || len(have) == 0 {
						return nil, false, err
					}
					return have[0], true, nil
				},
				func(ctx context.Context) (*gh.IssueComment, error) {
					creates++
					made, _, err := c.Issues.CreateComment(ctx, "org", "app", 7, &gh.IssueComment{Body: gh.String("hi")})
					return made, err
				})
			if (err != nil) != test.fails || creates != test.creates || len(s.Comments("org/app", 7)) != test.left {
				t.Errorf("%d creates left %d comments, %v", creates, len(s.Comments("org/app", 7)), err)
			}
		})
	}
}
