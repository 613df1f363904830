package report

import (
	"bytes"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestGoldens(t *testing.T) {
	formats := []struct {
		ext  string
		draw func(io.Writer, *gate.Verdict) error
	}{
		{".md", Markdown},
		{".txt", func(w io.Writer, v *gate.Verdict) error {
			return Terminal(w, v, TerminalOptions{ReportPath: "llm-gate-out/report.html"})
		}},
		{".json", JSON},
		{".html", HTML},
		{".line", func(w io.Writer, v *gate.Verdict) error { _, err := io.WriteString(w, Line(v)+"\n"); return err }},
	}
	keep := map[string]bool{"red.json": true, "red.html": true, "hostile.html": true, "stairs.html": true, "zero.html": true, "zero.json": true}
	for _, tt := range verdicts {
		for _, f := range formats {
			name := tt.name + f.ext
			if (f.ext == ".json" || f.ext == ".html") && !keep[name] {
				continue
			}
			t.Run(name, func(t *testing.T) {
				var b, again bytes.Buffer
				if err := f.draw(&b, tt.make()); err != nil {
					t.Fatal(err)
				}
				if err := f.draw(&again, tt.make()); err != nil || !bytes.Equal(b.Bytes(), again.Bytes()) {
					t.Fatalf("drawing the same verdict twice gives other bytes (%v)", err)
				}
				path := filepath.Join("testdata", name)
				if *update {
					if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				want, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(want), b.String()); diff != "" {
					t.Errorf("%s differs from what is drawn (refresh with -update):\n%s", path, diff)
				}
			})
		}
	}
}
