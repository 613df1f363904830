package cli_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate/cli"
	"github.com/org/llm-gate/gate/config"
)

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// root is the repository's, seen from this package.
const root = "../.."

// page is one Markdown file of the repository.
type page struct {
	name string // relative to the root, with slashes
	text string
}

// block is one fenced block of a page.
type block struct {
	at   string // "README.md:12", of its first line
	info string // what stands behind the fence: "sh", "yaml llm-gate.yml"
	text string
}

func pages(t *testing.T) []page {
	t.Helper()
	names := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"}
	docs, err := filepath.Glob(filepath.Join(root, "docs", "*.md"))
	if err != nil || len(docs) == 0 {
		t.Fatalf("no pages in docs (%v)", err)
	}
	for _, path := range docs {
		names = append(names, "docs/"+filepath.Base(path))
	}
	var out []page
	for _, name := range names {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, page{name, string(data)})
	}
	return out
}

// blocks are the page's fenced blocks; prose is what stands around them.
func (p page) blocks(t *testing.T) (blocks []block, prose string) {
	t.Helper()
	var open *block
	var around strings.Builder
	for i, line := range strings.Split(p.text, "\n") {
		switch fence, isFence := strings.CutPrefix(line, "```"); {
		case isFence && open == nil:
			open = &block{at: fmt.Sprintf("%s:%d", p.name, i+2), info: strings.TrimSpace(fence)}
		case isFence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line + "\n"
		default:
			around.WriteString(line + "\n")
		}
	}
	if open != nil {
		t.Errorf("%s: the block is never closed", open.at)
	}
	return blocks, around.String()
}

// blocksOf are all blocks with one of the infos; there must be some.
func blocksOf(t *testing.T, infos ...string) (out []block) {
	t.Helper()
	for _, p := range pages(t) {
		blocks, _ := p.blocks(t)
		for _, b := range blocks {
			if slices.Contains(infos, b.info) {
				out = append(out, b)
			}
		}
	}
	if len(out) == 0 {
		t.Fatalf("no block %q in the documentation", infos)
	}
	return out
}

// TestDocsGenerated holds the generated parts to what the code says.
func TestDocsGenerated(t *testing.T) {
	action := readAction(t)
	for _, part := range []struct{ file, name, text string }{
		{"docs/config.md", "config", config.Reference()},
		{"docs/metrics.md", "metrics", config.MetricsReference()},
		{"docs/action.md", "inputs", action.inputs()},
		{"docs/action.md", "outputs", action.outputs()},
	} {
		path := filepath.Join(root, filepath.FromSlash(part.file))
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		begin, end := "<!-- generated: "+part.name+" -->\n", "<!-- end -->"
		before, rest, ok := strings.Cut(string(data), begin)
		old, after, closed := strings.Cut(rest, end)
		if !ok || !closed {
			t.Errorf("%s has no %q … %q", part.file, begin, end)
			continue
		}
		want := "\n" + part.text + "\n"
		if *update {
			if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if diff := cmp.Diff(want, old); diff != "" {
			t.Errorf("%s: %s is not what the code says (go test ./gate/cli -run Docs -update):\n%s", part.file, part.name, diff)
		}
	}
}

// action is what the documentation tells of action.yml, in the file's order.
type action struct {
	Inputs  yaml.MapSlice
	Outputs yaml.MapSlice
	about   struct {
		Inputs  map[string]described
		Outputs map[string]described
	}
}

type described struct{ Description string }

func readAction(t *testing.T) action {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var a action
	if err := errors.Join(yaml.Unmarshal(data, &a), yaml.Unmarshal(data, &a.about)); err != nil {
		t.Fatal(err)
	}
	if len(a.Inputs) == 0 || len(a.Outputs) == 0 {
		t.Fatal("action.yml has no inputs or no outputs")
	}
	return a
}

func (a action) inputs() string  { return table("Input", a.Inputs, a.about.Inputs) }
func (a action) outputs() string { return table("Output", a.Outputs, a.about.Outputs) }

func table(head string, order yaml.MapSlice, about map[string]described) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| %s | Meaning |\n|---|---|\n", head)
	for _, item := range order {
		name := fmt.Sprint(item.Key)
		fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(about[name].Description, "|", `\|`))
	}
	return b.String()
}

// TestDocsConfigs loads every config that is shown.
func TestDocsConfigs(t *testing.T) {
	for _, b := range blocksOf(t, "yaml llm-gate.yml") {
		cfg, err := config.Load(b.at, []byte(b.text), nil)
		if err != nil {
			t.Errorf("%s: %v", b.at, err)
			continue
		}
		if err := cfg.Policy.Validate(); err != nil {
			t.Errorf("%s: %v", b.at, err)
		}
		if err := cfg.Load.Validate(); err != nil {
			t.Errorf("%s: %v", b.at, err)
		}
	}
}

// TestDocsWorkflows reads every workflow that is shown: its steps give the
// action only inputs that it has.
func TestDocsWorkflows(t *testing.T) {
	inputs := map[string]bool{}
	for _, item := range readAction(t).Inputs {
		inputs[fmt.Sprint(item.Key)] = true
	}
	used := 0
	for _, b := range blocksOf(t, "yaml workflow") {
		var workflow struct {
			On   any `yaml:"on"`
			Jobs map[string]struct {
				Uses  string
				Steps []struct {
					Uses string
					With map[string]any
				}
			}
		}
		if err := yaml.Unmarshal([]byte(b.text), &workflow); err != nil {
			t.Errorf("%s: %v", b.at, err)
			continue
		}
		if workflow.On == nil || len(workflow.Jobs) == 0 {
			t.Errorf("%s: no workflow: it has no `on` or no `jobs`", b.at)
		}
		for name, job := range workflow.Jobs {
			if job.Uses == "" && len(job.Steps) == 0 {
				t.Errorf("%s: job %s has no steps", b.at, name)
			}
			for _, step := range job.Steps {
				if !strings.HasPrefix(step.Uses, "org/llm-gate@") {
					continue
				}
				used++
				for input := range step.With {
					if !inputs[input] {
						t.Errorf("%s: the action has no input %q", b.at, input)
					}
				}
			}
		}
	}
	if used == 0 {
		t.Error("no workflow uses the action")
	}
}

// TestDocsCommands asks the help of every command that is shown whether its
// flags exist.
func TestDocsCommands(t *testing.T) {
	shown := 0
	for _, p := range pages(t) {
		blocks, prose := p.blocks(t)
		for _, b := range blocks {
			if b.info != "sh" {
				continue
			}
			for _, line := range strings.Split(strings.ReplaceAll(b.text, "\\\n", " "), "\n") {
				shown += checkCommand(t, b.at, line)
			}
		}
		for _, span := range inlineCode.FindAllStringSubmatch(prose, -1) {
			shown += checkCommand(t, p.name, span[1])
		}
	}
	if shown < 20 {
		t.Errorf("%d commands were found: is the search for them broken?", shown)
	}
}

var inlineCode = regexp.MustCompile("`([^`\n]+)`")

// word is a word of a shell as far as the documentation needs it.
var word = regexp.MustCompile(`'[^']*'|"[^"]*"|[^\s'"]+`)

// checkCommand checks a call of llm-gate and returns 1, or 0 where the line is
// something else.
func checkCommand(t *testing.T, at, line string) int {
	t.Helper()
	line, _, _ = strings.Cut(line, " #")
	words := word.FindAllString(line, -1)
	if len(words) < 2 || words[0] != "llm-gate" {
		return 0
	}
	args := words[1:]
	if strings.HasPrefix(args[0], "-") {
		return 0
	}
	path := args[:1]
	if args[0] == "baseline" && len(args) > 1 && !strings.HasPrefix(args[1], "-") {
		path = args[:2]
	}
	help := helpOf(t, path...)
	usage := "llm-gate " + strings.Join(path, " ")
	if !strings.Contains(help, "\n  "+usage+" [") && !strings.Contains(help, "\n  "+usage+" ") {
		t.Errorf("%s: there is no command %q", at, usage)
		return 1
	}
	for _, arg := range args[len(path):] {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case !strings.HasPrefix(name, "-"):
		case strings.HasPrefix(name, "--") && hasFlag(help, "--"+strings.TrimLeft(name, "-")):
		case !strings.HasPrefix(name, "--") && strings.Contains(help, "\n  "+name+", --"):
		default:
			t.Errorf("%s: %q has no flag %s", at, usage, name)
		}
	}
	return 1
}

func hasFlag(help, flag string) bool {
	return regexp.MustCompile(`(?m)^ +(-\w, )?` + regexp.QuoteMeta(flag) + `( |$)`).MatchString(help)
}

func helpOf(t *testing.T, path ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := cli.Main(context.Background(), append(slices.Clone(path), "--help"),
		cli.Env{Stdout: &stdout, Stderr: &stderr, Getenv: func(string) string { return "" }})
	if code != 0 {
		t.Fatalf("llm-gate %s --help exits %d: %s", strings.Join(path, " "), code, stderr.String())
	}
	return stdout.String()
}

// TestDocsFlags looks for flags that prose names but no command has.
func TestDocsFlags(t *testing.T) {
	var help strings.Builder
	for _, path := range [][]string{
		{"run"}, {"load"}, {"compare"}, {"report"}, {"baseline", "list"}, {"baseline", "show"}, {"baseline", "promote"},
		{"baseline", "verify"}, {"sim"}, {"demo"}, {"init"}, {"validate"}, {"schema"}, {"version"},
	} {
		help.WriteString(helpOf(t, path...))
	}
	foreign := map[string]bool{"--metrics": true} // llama-server's
	for _, p := range pages(t) {
		_, prose := p.blocks(t)
		for _, span := range inlineCode.FindAllStringSubmatch(prose, -1) {
			name, _, _ := strings.Cut(strings.Fields(span[1] + " ")[0], "=")
			if strings.HasPrefix(name, "--") && !foreign[name] && !hasFlag(help.String(), name) {
				t.Errorf("%s: no command has the flag %s", p.name, name)
			}
		}
	}
}

var (
	link    = regexp.MustCompile(`!?\[[^\]]*\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	file    = regexp.MustCompile(`^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)+\.(go|md|sh|tmpl|txtar|json)$`)
)

// TestDocsLinks follows the links within the repository, to pictures and to
// headings, and looks for the files that prose names.
func TestDocsLinks(t *testing.T) {
	all := pages(t)
	anchors := map[string]map[string]bool{}
	for _, p := range all {
		_, prose := p.blocks(t)
		anchors[p.name] = map[string]bool{}
		for _, h := range heading.FindAllStringSubmatch(prose, -1) {
			anchors[p.name][slug(h[1])] = true
		}
	}
	for _, p := range all {
		_, prose := p.blocks(t)
		for _, m := range link.FindAllStringSubmatch(prose, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			name, anchor, _ := strings.Cut(m[1], "#")
			target := p.name
			if name != "" {
				target = filepath.ToSlash(filepath.Join(filepath.Dir(p.name), name))
				if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(target))); err != nil {
					t.Errorf("%s: %s leads nowhere", p.name, m[1])
					continue
				}
			}
			if anchor != "" && !anchors[target][anchor] {
				t.Errorf("%s: %s has no heading #%s", p.name, target, anchor)
			}
		}
		for _, span := range inlineCode.FindAllStringSubmatch(prose, -1) {
			if !file.MatchString(span[1]) {
				continue
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(span[1]))); err != nil {
				t.Errorf("%s names %s, which is not there", p.name, span[1])
			}
		}
	}
}

// TestDocsTargets looks for the targets of make that are shown.
func TestDocsTargets(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no Makefile here")
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocksOf(t, "sh") {
		for _, m := range target.FindAllStringSubmatch(b.text, -1) {
			if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(m[1]) + `:`).Match(data) {
				t.Errorf("%s: the Makefile has no target %s", b.at, m[1])
			}
		}
	}
}

var target = regexp.MustCompile(`(?m)^make ([a-z-]+)`)

// TestDocsDependencies wants the reason for every direct requirement.
func TestDocsDependencies(t *testing.T) {
	data, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, reasons, _ := strings.Cut(string(readme), "## Dependencies")
	required := requirement.FindAllStringSubmatch(string(data), -1)
	if len(required) == 0 {
		t.Fatal("go.mod requires nothing: is the search for requirements broken?")
	}
	for _, m := range required {
		if strings.Contains(m[0], "// indirect") {
			continue
		}
		// The last two elements are how people call a module: "x/term".
		elements := strings.Split(major.ReplaceAllString(m[1], ""), "/")
		name := strings.Join(elements[max(0, len(elements)-2):], "/")
		if !strings.Contains(reasons, name) && !strings.Contains(reasons, elements[len(elements)-1]) {
			t.Errorf("the README gives no reason for %s: add it under Dependencies", m[1])
		}
	}
}

var (
	requirement = regexp.MustCompile(`(?m)^\s+(\S+\.\S+/\S+) v\S+.*$`)
	major       = regexp.MustCompile(`/v[0-9]+$`)
)

// slug is the anchor that GitHub makes of a heading.
func slug(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.TrimSpace(heading)) {
		switch {
		case r == ' ', r == '-':
			b.WriteByte('-')
		case r == '_', r >= 'a' && r <= 'z', r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}
