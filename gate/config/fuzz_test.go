package config

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzLoad: no bytes make it panic, hang or give away the environment; every
// error has its place or is about the whole file; what is accepted is a plan
// that can be carried out with a policy that judges something.
func FuzzLoad(f *testing.F) {
	files, err := filepath.Glob("testdata/valid/*.yml")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte("version: 1\na: &a [*a, *a]\n"))
	f.Add([]byte("version: 1\nload: {rate: '${LLM_API_KEY}'}\nchecks: {ttft_p95: [{max: 1s}]}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 4<<10 {
			return // the parser's time is not what is tested
		}
		c, err := Load("llm-gate.yml", data, env)
		if err == nil {
			if len(c.Policy.Checks) == 0 || c.Version != SupportedVersion || c.Hash() == "" {
				t.Errorf("accepted, but judges nothing: %+v", c)
			}
			return
		}
		var errs Errors
		if c != nil || !errors.As(err, &errs) || len(errs) == 0 {
			t.Fatalf("not Errors: %v", err)
		}
		for _, e := range errs {
			whole := e.Line == 0 && e.Column == 0 && e.Path == ""
			if e.Msg == "" || e.File == "" || !whole && (e.Line < 1 || e.Column < 1) {
				t.Errorf("no place: %+v", e)
			}
			if strings.Contains(e.Error(), apiKey) || strings.ContainsAny(e.Error(), "\n\x00") {
				t.Errorf("unfit to show: %q", e.Error())
			}
		}
	})
}
