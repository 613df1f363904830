package config

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/org/llm-gate/gate"
)

func compile(t *testing.T) *jsonschema.Schema {
	t.Helper()
	data, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource(SchemaID, doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile(SchemaID)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// asJSON reads YAML the way an editor does.
func asJSON(t *testing.T, text []byte) any {
	t.Helper()
	data, err := yaml.YAMLToJSON(text)
	if err != nil {
		t.Fatal(err)
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

func TestSchemaAcceptsWhatLoadAccepts(t *testing.T) {
	s := compile(t)
	files, err := filepath.Glob("testdata/valid/*.yml")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	texts := map[string][]byte{"starter": Starter(StarterOptions{})}
	for _, f := range files {
		if texts[f], err = os.ReadFile(f); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range texts {
		if _, err := Load(name, text, env); err != nil {
			t.Errorf("Load: %v", err)
		}
		if err := s.Validate(asJSON(t, text)); err != nil {
			t.Errorf("%s: schema: %v", name, err)
		}
	}
}

func TestSchemaRefusesWhatLoadRefuses(t *testing.T) {
	s := compile(t)
	for _, text := range []string{
		"name: a\n", "version: 2\n", "version: 1\nchekcs: {}\n", "version: 1\nload: {rounds: '5'}\n", "version: 1\nload: {budget: 12}\n",
		"version: 1\nload: {rate: 12}\n", "version: 1\nchecks: {}\n", "version: 1\nchecks: {nonsense: {max: 1}}\n",
		"version: 1\nchecks: {ttft_p95: {tolerance: 15}}\n", "version: 1\nchecks: {ttft_p95: {tolerance: 0.5pp}}\n",
		"version: 1\nchecks: {ttft_p95: {near: 1ms}}\n", "version: 1\nchecks: {error_rate: {max: 0.01}}\n", "version: 1\nfail_on: green\n",
		"version: 1\nrequire_same: [gpu]\n", "version: 1\nbaseline: {anchor: v1}\n", "version: 1\nbaseline: {store: baselines}\n",
		"version: 1\nstable: http://a\n", "version: 1\ntarget: {url: localhost}\n", "version: 1\ntarget: {metrics: []}\n",
		"version: 1\nload: {stairs: {}}\n", "version: 1\nload: {prompts: {input: many}}\n", "version: 1\nname: 8\n",
	} {
		if _, err := Load("f", []byte(text), env); err == nil {
			t.Errorf("Load accepts %q", text)
		}
		if err := s.Validate(asJSON(t, []byte(text))); err == nil {
			t.Errorf("the schema accepts %q", text)
		}
	}
}

// Every key of the table is written in everything.yml or closed.yml, which Load
// and the schema accept, and both know no other.
func TestEveryKeyIsTried(t *testing.T) {
	var text string
	for _, name := range []string{"everything.yml", "closed.yml"} {
		text += string(readValid(t, name))
	}
	var walk func(at string, infos []info)
	walk = func(at string, infos []info) {
		for _, i := range infos {
			if !strings.Contains(text, i.key+":") && !strings.Contains(text, i.key+"\":") {
				t.Errorf("%s is not tried", join(at, i.key))
			}
			if i.fields != nil {
				walk(join(at, i.key), i.fields())
			}
		}
	}
	walk("", infos(topFields()))
}

func TestSchemaListsEveryMetric(t *testing.T) {
	got := checksSchema()["properties"].(map[string]any)
	for _, m := range gate.Catalogue() {
		if got[m.ID] == nil {
			t.Errorf("%s is missing", m.ID)
		}
		text := fmt.Sprintf("version: 1\nchecks: {%s: {max: %s}}\n", m.ID, unitOf(m.Unit).example)
		if _, err := Load("f", []byte(text), env); err != nil {
			t.Error(err)
		}
		if err := compileOnce(t).Validate(asJSON(t, []byte(text))); err != nil {
			t.Errorf("%s: %v", m.ID, err)
		}
	}
	if len(got) != len(gate.Catalogue()) {
		t.Errorf("%d metrics in the schema, %d in the catalogue", len(got), len(gate.Catalogue()))
	}
}

var compiled *jsonschema.Schema

func compileOnce(t *testing.T) *jsonschema.Schema {
	if compiled == nil {
		compiled = compile(t)
	}
	return compiled
}

// The pattern that an editor sees and what Load reads are written twice in a
// kind; here they are held against each other.
func TestPatternsAgreeWithParsing(t *testing.T) {
	s := compileOnce(t)
	fields := map[string][]string{
		"load: {timeout: %s}":                      {"1s", "1.5m", "1m30s", "2d", "1", "1 s", "1sec", "1h1", "s", ".5s", "1.s", "1,5s", "-1s"},
		"load: {rate: %s}":                         {"auto", "1/s", "1.5/s", "1 req/s", "1req/s", "1 requests/s", "1 /s", "1", "1 rps", "/s"},
		"degradation: {error_floor: %s}":           {"1%", "0.5%", "1 %", "1", "1pp", "'%'"},
		"checks: {ttft_p95: {max: %s}}":            {"1ms", "1 ms", "1.5s", "2m", "5us", "5µs", "1", "1%", "1h", "ms"},
		"checks: {ttft_p95: {tolerance: %s}}":      {"15%", "15 %", "10ms", "0.5pp", "15", "1h"},
		"checks: {error_rate: {tolerance: %s}}":    {"15%", "0.5pp", "0.5 pp", "10ms", "1"},
		"load: {prompts: {input: %s}}":             {"512", "512 ± 12", "512±12", "512+-12", "512 +/- 12", "± 12", "512 ±", "0", "a"},
		"load: {prompts: {shared_prefix: %s}}":     {"12", "12%", "0", "1.5", "a%"},
		"baseline: {store: %s}":                    {"auto", "branch", "branch:a/b", "./a", "/a", "a/b", "a", "branch:"},
		"target: {url: %s}":                        {"'http://a'", "'https://a:1/b'", "'ftp://a'", "a", "'http://'"},
		"target: {metrics: %s}":                    {"auto", "off", "'http://a'", "'dns+http://a/m'", "'dns+ftp://a'", "on"},
		"checks: {ttft_p95: {max: 1s, stage: %s}}": {"steady", "stair", "stair-0", "warmup"},
		"name: %s": {"a", "a.b-c_d", "-a", "a b", "a/b"},
	}
	for format, values := range fields {
		for _, v := range values {
			text := []byte("version: 1\n" + fmt.Sprintf(format, v) + "\n")
			_, errLoad := Load("f", text, env)
			errSchema := s.Validate(asJSON(t, text))
			if (errLoad == nil) != (errSchema == nil) {
				t.Errorf("%s: Load says %v, the schema says %v", text, errLoad, errSchema)
			}
		}
	}
}

// Defaults in the reference are what Default says: a scalar's text is read back
// and must change nothing.
func TestDocumentedDefaultsAreTheDefaults(t *testing.T) {
	base := mustLoad(t, "version: 1\n")
	skip := []string{"late_limit", "seed", "max_age", "checks", "cool_down", "hold", "steps", "step", "sd", "near", "guard", "scenario", "stage", "shared_prefix"}
	var walk func(at []string, infos []info)
	walk = func(at []string, infos []info) {
		for _, i := range infos {
			path := append(slices.Clone(at), i.key)
			if i.def != "" && !slices.Contains(skip, i.key) {
				text := "version: 1\n"
				for depth, key := range path {
					text += strings.Repeat("  ", depth) + key + ":"
					if depth < len(path)-1 {
						text += "\n"
					}
				}
				got := mustLoad(t, text+" "+i.def+"\n")
				if diff := cmp.Diff(base, got, cmp.AllowUnexported(Config{})); diff != "" {
					t.Errorf("%s: %q is not the default:\n%s", strings.Join(path, "."), i.def, diff)
				}
			}
			if i.fields != nil && i.key != "checks" && i.typ == "mapping" {
				walk(path, i.fields())
			}
		}
	}
	walk(nil, infos(topFields()))
}

func TestReference(t *testing.T) {
	golden := filepath.Join("testdata", "reference.md")
	got := Reference()
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("refresh with -update (-want +got):\n%s", diff)
	}
	for _, m := range gate.Catalogue() {
		if !strings.Contains(MetricsReference(), "| `"+m.ID+"` |") {
			t.Errorf("%s is not in the table of metrics", m.ID)
		}
	}
}
