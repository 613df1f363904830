package githubtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Bot is who the token of an Actions run writes as.
const Bot = "github-actions[bot]"

// Server is a fake GitHub. It is safe for concurrent use.
type Server struct {
	// URL is what GITHUB_API_URL should be. The same server answers under
	// URL/api/v3, as GitHub Enterprise Server does.
	URL string

	http *http.Server
	api  *description
	done chan struct{}

	mu       sync.Mutex
	repos    map[string]*repo
	fault    Fault
	problems []string
	report   func(string)
	requests []Request
	user     string // whose token it is; "" is an Actions run's
	nextID   int64
	now      func() time.Time
	treeCap  int
}

// Request is one request as it came in.
type Request struct {
	Method, Path string // Path with its query
	Body         []byte
	Status       int // of the answer
}

// Answer is what a Fault answers in place of the server.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	// After carries out the request first: the change is made, and the caller
	// does not get to know.
	After bool
	// Hangup breaks the connection instead of answering.
	Hangup bool
}

// Fault decides whether a request goes wrong; nil lets it through. It is
// called for one request at a time and must not call the server.
type Fault func(*http.Request) *Answer

// New starts a server that ends with the test and fails it by every problem.
func New(t testing.TB) *Server {
	t.Helper()
	s, err := Start("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.report = func(problem string) { t.Errorf("GitHub's description: %s", problem) }
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("stop fake GitHub: %v", err)
		}
	})
	return s
}

// Start runs a server at addr ("127.0.0.1:0") until Close. Problems tells what
// did not validate.
func Start(addr string) (*Server, error) {
	api, err := loadDescription()
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("start fake GitHub: %w", err)
	}
	s := &Server{
		URL: "http://" + listener.Addr().String(), api: api, done: make(chan struct{}),
		repos: map[string]*repo{}, nextID: 1000, now: time.Now, report: func(string) {},
	}
	s.http = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.done)
		_ = s.http.Serve(listener) // ends with Close
	}()
	return s, nil
}

// Close stops the server and waits for it.
func (s *Server) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	err := s.http.Shutdown(ctx)
	if err != nil {
		err = s.http.Close()
	}
	<-s.done
	return err
}

// Fail lets fault decide about every request from now on; nil ends that.
func (s *Server) Fail(fault Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault = fault
}

// SetUser says that the token is that user's, not an Actions run's: GET /user
// answers and comments are theirs.
func (s *Server) SetUser(login string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.user = login
}

// TruncateTrees cuts recursive listings of trees after n entries, as GitHub
// does with large ones; 0 ends that.
func (s *Server) TruncateTrees(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.treeCap = n
}

// Problems lists what did not validate so far.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Requests lists the requests so far in the order of their answers.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

func (s *Server) problem(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	s.mu.Lock()
	s.problems = append(s.problems, text)
	s.mu.Unlock()
	s.report(text)
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the caller went away
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fault := s.faultFor(r)
	if fault != nil && !fault.After {
		s.misanswer(w, r, body, fault)
		return
	}
	rec := s.answer(r, body)
	if fault != nil {
		s.misanswer(w, r, body, fault)
		return
	}
	s.log(r, body, rec.Code)
	for name, values := range rec.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(rec.Code)
	_, _ = w.Write(rec.Body.Bytes())
}

func (s *Server) log(r *http.Request, body []byte, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.Method, r.URL.RequestURI(), body, status})
}

func (s *Server) faultFor(r *http.Request) *Answer {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil {
		return nil
	}
	return s.fault(r)
}

func (s *Server) misanswer(w http.ResponseWriter, r *http.Request, body []byte, fault *Answer) {
	s.log(r, body, fault.Status)
	if fault.Hangup {
		panic(http.ErrAbortHandler)
	}
	for name, values := range fault.Header {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(fault.Status)
	_, _ = io.WriteString(w, fault.Body)
}

// answer validates the request, carries it out and validates the answer.
func (s *Server) answer(r *http.Request, body []byte) *httptest.ResponseRecorder {
	rec := httptest.NewRecorder()
	path := r.URL.EscapedPath()
	if rest, ok := strings.CutPrefix(path, "/api/v3"); ok {
		path = rest
	}
	call := s.api.find(r, path, body)
	if call.err != nil {
		s.problem("request %s %s: %v", r.Method, r.URL.RequestURI(), call.err)
		status := http.StatusUnprocessableEntity
		if call.route == nil {
			status = http.StatusNotFound
		}
		writeError(rec, &apiError{status, call.err.Error(), nil})
		return rec
	}
	s.carryOut(rec, r, call, body)
	if err := call.validateAnswer(rec); err != nil {
		s.problem("answer %d to %s %s: %v\n%.2000s", rec.Code, r.Method, r.URL.RequestURI(), err, rec.Body)
	}
	return rec
}

func (s *Server) carryOut(rec *httptest.ResponseRecorder, r *http.Request, call *call, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method != http.MethodGet && r.Header.Get("Authorization") == "" {
		writeError(rec, &apiError{http.StatusUnauthorized, "Requires authentication", nil})
		return
	}
	handle, ok := operations[call.operation]
	if !ok {
		writeError(rec, &apiError{http.StatusNotImplemented, "the fake lacks " + call.operation, nil})
		return
	}
	c := &exchange{server: s, request: r, params: call.params, body: body, header: rec.Header()}
	if owner := call.params["owner"]; owner != "" {
		c.repo = s.repos[repoKey(owner, call.params["repo"])]
		if c.repo == nil {
			writeError(rec, notFound)
			return
		}
	}
	status, answer, err := handle(c)
	if err != nil {
		writeError(rec, err)
		return
	}
	writeJSON(rec, status, answer)
}

// raw is an answer that is a file itself, in the media type rawMedia, which
// the description does not cover.
type raw []byte

const rawMedia = "application/vnd.github.raw"

// apiError is an answer that is no success.
type apiError struct {
	status  int
	message string
	errors  []any
}

func (e *apiError) Error() string { return e.message }

var (
	notFound  = &apiError{http.StatusNotFound, "Not Found", nil}
	emptyRepo = &apiError{http.StatusConflict, "Git Repository is empty.", nil}
)

func unprocessable(format string, args ...any) *apiError {
	return &apiError{http.StatusUnprocessableEntity, fmt.Sprintf(format, args...), nil}
}

func writeError(w http.ResponseWriter, err error) {
	var api *apiError
	if !errors.As(err, &api) {
		api = &apiError{http.StatusInternalServerError, err.Error(), nil}
	}
	answer := object{"message": api.message, "documentation_url": "https://docs.github.com/rest", "status": fmt.Sprint(api.status)}
	if api.errors != nil {
		answer["errors"] = api.errors
	}
	writeJSON(w, api.status, answer)
}

func writeJSON(w http.ResponseWriter, status int, answer any) {
	if status == http.StatusNoContent {
		w.WriteHeader(status)
		return
	}
	if data, ok := answer.(raw); ok {
		w.Header().Set("Content-Type", rawMedia+"; charset=utf-8")
		w.WriteHeader(status)
		_, _ = w.Write(data)
		return
	}
	data, err := json.Marshal(answer)
	if err != nil {
		panic(fmt.Sprintf("encode the fake's answer: %v", err))
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(data)
}
