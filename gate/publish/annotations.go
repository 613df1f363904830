package publish

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"

	actions "github.com/sethvargo/go-githubactions"

	"github.com/org/llm-gate/gate"
)

// annotationLimit is how many annotations of a kind GitHub keeps of one step.
const annotationLimit = 10

// Annotations marks every check that does not pass on the run's page and, where
// it is known, on the line of the config that asked for it: an error for what
// blocks, else a warning. Where nothing could be judged each reason is one.
type Annotations struct {
	Workflow *Workflow
}

type annotation struct {
	kind    string // "error", "warning" or "notice"
	title   string
	message string
	pos     string // "llm-gate.yml:12:3" or ""
}

// Publish writes the annotations when the run is done.
func (a Annotations) Publish(_ context.Context, n *Notice) error {
	if n.Phase != Done || !a.Workflow.Active() {
		return nil
	}
	for _, note := range bounded(annotationsOf(n)) {
		if err := a.Workflow.annotate(note); err != nil {
			return fmt.Errorf("publish annotations: %w", err)
		}
	}
	return nil
}

func annotationsOf(n *Notice) []annotation {
	v := n.Verdict
	if v == nil {
		return []annotation{{kind: "error", title: "llm-gate: not judged", message: "The run ended without a verdict: " + n.Reason}}
	}
	blocking := "error"
	if !v.Blocked {
		blocking = "warning"
	}
	title := "llm-gate · " + v.Name
	var notes []annotation
	for _, reason := range v.Reasons {
		kind := "notice"
		if v.Conclusion == gate.NotJudged {
			kind = blocking
		}
		notes = append(notes, annotation{kind: kind, title: title, message: reason})
	}
	for _, f := range v.Findings {
		note := annotation{kind: "warning", title: title + " · " + f.Title, message: message(f)}
		if f.Check != nil {
			note.pos = f.Check.Pos
		}
		switch f.Status {
		case gate.Pass:
			continue
		case gate.Unknown:
			if v.Conclusion == gate.First {
				continue // nothing to compare with is what a first run is
			}
			if v.Conclusion == gate.NotJudged {
				note.kind = blocking
			}
		case gate.Fail, gate.Veto:
			note.kind = blocking
		}
		notes = append(notes, note)
	}
	return notes
}

func message(f gate.Finding) string {
	text := f.Title
	if f.Stage != "" {
		text += " in " + f.Stage
	}
	if f.Scenario != "" {
		text += " of " + f.Scenario
	}
	text += ": " + f.Status.String()
	if f.Reason != "" {
		text += ": " + f.Reason
	}
	if f.Needs != "" {
		text += " (" + f.Needs + ")"
	}
	return text
}

// bounded keeps at most annotationLimit of a kind; the last one then counts
// what is left out.
func bounded(notes []annotation) []annotation {
	total := map[string]int{}
	for _, n := range notes {
		total[n.kind]++
	}
	seen := map[string]int{}
	var kept []annotation
	for _, n := range notes {
		seen[n.kind]++
		switch {
		case total[n.kind] <= annotationLimit || seen[n.kind] < annotationLimit:
			kept = append(kept, n)
		case seen[n.kind] == annotationLimit:
			left := total[n.kind] - annotationLimit + 1
			kept = append(kept, annotation{kind: n.kind, title: "llm-gate", message: fmt.Sprintf("%d more: see the report", left)})
		}
	}
	return kept
}

var position = regexp.MustCompile(`^(.+?):([0-9]+)(?::([0-9]+))?$`)

// properties are those of the workflow command. A position outside of the
// checkout has no line to show and is left out.
func (n annotation) properties() actions.CommandProperties {
	p := actions.CommandProperties{"title": line(n.title)}
	if m := position.FindStringSubmatch(n.pos); m != nil && filepath.IsLocal(m[1]) {
		p["file"], p["line"] = line(filepath.ToSlash(filepath.Clean(m[1]))), m[2]
		if m[3] != "" {
			p["col"] = m[3]
		}
	}
	return p
}

// annotate writes one annotation; the library escapes its values.
func (w *Workflow) annotate(n annotation) error {
	return w.do("write an annotation", func() {
		w.action.IssueCommand(&actions.Command{Name: n.kind, Message: line(n.message), Properties: n.properties()})
	})
}
