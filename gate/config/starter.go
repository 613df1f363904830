package config

import (
	"bytes"
	_ "embed"
	"text/template"
)

// StarterOptions fill the files that init writes. Zero fields get plain values
// that a person replaces.
type StarterOptions struct {
	// Name of the service; "chat" where it is empty.
	Name string
	// TargetURL goes into the config; empty leaves it to the action's input.
	TargetURL string
	// RunnerLabel is the label of the self-hosted runner with the GPU; "gpu"
	// where it is empty.
	RunnerLabel string
	// Action is what the workflow uses; "org/llm-gate@v1" where it is empty.
	Action string
}

func (o StarterOptions) filled() StarterOptions {
	if _, err := name.parse(o.Name); err != nil {
		o.Name = "chat"
	}
	if _, err := address(false, "http", "https").parse(o.TargetURL); err != nil {
		o.TargetURL = ""
	}
	if _, err := name.parse(o.RunnerLabel); err != nil {
		o.RunnerLabel = "gpu"
	}
	if o.Action == "" {
		o.Action = "org/llm-gate@v1"
	}
	return o
}

//go:embed starter.yml.tmpl
var starterText string

//go:embed workflow.yml.tmpl
var workflowText string

// Starter is the commented llm-gate.yml of a first week: it observes.
func Starter(o StarterOptions) []byte { return fill(starterText, o) }

// StarterWorkflow is the workflow to paste beside it. Its job llm-gate is the
// check to require.
func StarterWorkflow(o StarterOptions) []byte { return fill(workflowText, o) }

// fill uses other delimiters than the workflow's own ${{ }}.
func fill(text string, o StarterOptions) []byte {
	var b bytes.Buffer
	t := template.Must(template.New("").Delims("<<", ">>").Parse(text))
	if err := t.Execute(&b, o.filled()); err != nil {
		panic("config: a starter's template and its options differ: " + err.Error()) // fixed text and fields
	}
	return b.Bytes()
}
