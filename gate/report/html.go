package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"

	"github.com/org/llm-gate/gate"
)

//go:embed page.html.tmpl
var pageSource string

//go:embed page.css
var pageStyle string

// HTML writes the verdict as one self-contained page: no script, no network,
// light and dark, for screens and for paper.
func HTML(w io.Writer, v *gate.Verdict) error {
	page, err := template.New("page").Funcs(template.FuncMap{
		"style": func() template.CSS { return template.CSS(pageStyle) }, // our own file, nothing from outside
	}).Parse(pageSource)
	if err != nil {
		return fmt.Errorf("parse the page's template: %w", err)
	}
	var b bytes.Buffer
	if err := page.Execute(&b, pageOf(prepared(v))); err != nil {
		return fmt.Errorf("draw the page: %w", err)
	}
	return write(w, b.Bytes())
}
