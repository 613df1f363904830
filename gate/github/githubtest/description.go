package githubtest

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/gorillamux"
)

// openapiJSON is GitHub's description cut down by trim.go, MIT (openapi.LICENSE).
//
//go:embed openapi.json
var openapiJSON []byte

type object = map[string]any

// description is GitHub's description with a router over it. Both are
// read-only once loaded.
type description struct {
	router    routers.Router
	templates map[string][]byte // GitHub's examples of answers
}

// origin stands for the server's address in the description.
const origin = "http://github.invalid"

var loadDescription = sync.OnceValues(func() (*description, error) {
	doc, err := openapi3.NewLoader().LoadFromData(openapiJSON)
	if err != nil {
		return nil, fmt.Errorf("load GitHub's description: %w", err)
	}
	doc.Servers = openapi3.Servers{{URL: origin}}
	// A ref holds slashes, which a parameter of a path does not match unasked.
	for _, path := range []string{"/repos/{owner}/{repo}/git/ref/", "/repos/{owner}/{repo}/git/refs/"} {
		item := doc.Paths.Value(path + "{ref}")
		doc.Paths.Delete(path + "{ref}")
		doc.Paths.Set(path+"{ref:.+}", item)
	}
	if err := doc.Validate(context.Background(), openapi3.DisableExamplesValidation(), openapi3.DisableSchemaDefaultsValidation()); err != nil {
		return nil, fmt.Errorf("validate GitHub's description: %w", err)
	}
	d := &description{templates: map[string][]byte{}}
	if d.router, err = gorillamux.NewRouter(doc); err != nil {
		return nil, fmt.Errorf("route GitHub's description: %w", err)
	}
	for name, example := range doc.Components.Examples {
		data, err := json.Marshal(example.Value.Value)
		if err != nil {
			return nil, fmt.Errorf("read example %s: %w", name, err)
		}
		d.templates[name] = data
	}
	return d, nil
})

// template is a fresh copy of GitHub's example of an answer, with every
// address moved to base and no trace of the example's own repository's.
func (d *description) template(name string) object {
	var v object
	data, ok := d.templates[name]
	if !ok {
		panic("no example " + name)
	}
	if err := json.Unmarshal(data, &v); err != nil {
		panic(fmt.Sprintf("read example %s: %v", name, err))
	}
	return v
}

// templateItem is the first item of an example that is a list.
func (d *description) templateItem(name string) object {
	var items []object
	if err := json.Unmarshal(d.templates[name], &items); err != nil || len(items) == 0 {
		panic(fmt.Sprintf("read example %s: %v", name, err))
	}
	return items[0]
}

// call is one request found in the description.
type call struct {
	route     *routers.Route
	operation string
	params    map[string]string
	input     *openapi3filter.RequestValidationInput
	err       error
}

// find looks the request up and validates it.
func (d *description) find(r *http.Request, escapedPath string, body []byte) *call {
	target, err := url.Parse(origin + escapedPath)
	if err != nil {
		return &call{err: err}
	}
	target.RawQuery = r.URL.RawQuery
	probe := r.Clone(r.Context())
	probe.URL, probe.Host, probe.RequestURI = target, target.Host, ""
	probe.Body = io.NopCloser(bytes.NewReader(body))
	route, params, err := d.router.FindRoute(probe)
	if err != nil {
		return &call{err: fmt.Errorf("%w (paths are added in trim.go)", err)}
	}
	for name, value := range params {
		if unescaped, err := url.PathUnescape(value); err == nil {
			params[name] = unescaped
		}
	}
	c := &call{route: route, operation: route.Operation.OperationID, params: params}
	c.input = &openapi3filter.RequestValidationInput{
		Request: probe, PathParams: params, Route: route,
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	}
	if len(body) > 0 && !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		c.err = fmt.Errorf("Content-Type %q: want application/json", r.Header.Get("Content-Type"))
		return c
	}
	c.err = brief(openapi3filter.ValidateRequest(r.Context(), c.input))
	return c
}

// brief leaves out the schema that an error of validation repeats in full.
func brief(err error) error {
	if err == nil {
		return nil
	}
	text, _, _ := strings.Cut(err.Error(), "\nSchema:")
	return errors.New(text)
}

// validateAnswer validates what the fake answers. Successes must be described;
// of errors, those that are.
func (c *call) validateAnswer(rec *httptest.ResponseRecorder) error {
	if strings.HasPrefix(rec.Header().Get("Content-Type"), rawMedia) {
		return nil
	}
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: c.input, Status: rec.Code, Header: rec.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: rec.Code < 400},
	}
	input.SetBodyBytes(rec.Body.Bytes())
	return brief(openapi3filter.ValidateResponse(context.Background(), input))
}
