package publish

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"

	actions "github.com/sethvargo/go-githubactions"
)

// outputDelimiter closes a multi-line value in the runner's output file. The
// library's is fixed, so a value that holds it could go on to set other
// outputs.
const outputDelimiter = "_GitHubActionsFileCommandDelimeter_"

// Workflow speaks to the Actions runner: through commands on the log and
// through the files that it names in the environment. Outside of Actions, or
// where the runner names no file, every method does nothing.
//
// It is the only user of the library below it, which panics where a file
// cannot be written: here that is an error. It is safe for concurrent use.
type Workflow struct {
	mu     sync.Mutex
	getenv func(string) string
	action *actions.Action
}

// NewWorkflow makes one that writes commands to log, which must be the step's
// standard output, and reads the environment through getenv (os.Getenv).
func NewWorkflow(log io.Writer, getenv func(string) string) *Workflow {
	return &Workflow{
		getenv: getenv,
		action: actions.New(actions.WithWriter(log), actions.WithGetenv(getenv)),
	}
}

// Active reports whether this process runs in a step of GitHub Actions.
func (w *Workflow) Active() bool { return w.getenv("GITHUB_ACTIONS") == "true" }

// Mask makes the runner replace secret by *** in all that is logged after it.
// Nothing is written outside of Actions, where the command itself would show
// the secret. Every line of a secret of several lines is masked by itself too,
// as that is how logs show it.
func (w *Workflow) Mask(secret string) error {
	if !w.Active() {
		return nil
	}
	whole := strings.TrimSpace(secret)
	masks := []string{whole}
	if strings.ContainsAny(whole, "\r\n") {
		masks = append(masks, strings.FieldsFunc(whole, func(r rune) bool { return r == '\r' || r == '\n' })...)
	}
	return w.do("mask a secret", func() {
		for _, m := range masks {
			if m = strings.TrimSpace(m); m != "" {
				w.action.AddMask(m)
			}
		}
	})
}

// Group opens a collapsed part of the log, EndGroup closes it.
func (w *Workflow) Group(title string) error {
	if !w.Active() {
		return nil
	}
	return w.do("open a log group", func() { w.action.Group(line(title)) })
}

// EndGroup closes what Group opened.
func (w *Workflow) EndGroup() error {
	if !w.Active() {
		return nil
	}
	return w.do("close a log group", w.action.EndGroup)
}

// output sets one of the step's outputs. A value of several lines is refused,
// and one that could end its own block.
func (w *Workflow) output(name, value string) error {
	if w.getenv("GITHUB_OUTPUT") == "" {
		return nil
	}
	switch {
	case strings.ContainsAny(value, "\r\n"):
		return fmt.Errorf("set output %s: its value has several lines; move what it names to a path of one line", name)
	case strings.Contains(value, outputDelimiter):
		return fmt.Errorf("set output %s: its value holds the runner's delimiter", name)
	}
	return w.do("set output "+name, func() { w.action.SetOutput(name, value) })
}

// summary appends to the step's part of the job summary.
func (w *Workflow) summary(markdown string) error {
	if w.getenv("GITHUB_STEP_SUMMARY") == "" {
		return nil
	}
	return w.do("write the job summary", func() { w.action.AddStepSummary(markdown) })
}

// summarySize is how many bytes the step's summary already has.
func (w *Workflow) summarySize() int64 {
	info, err := os.Stat(w.getenv("GITHUB_STEP_SUMMARY"))
	if err != nil {
		return 0 // not there yet; writing it tells of anything worse
	}
	return info.Size()
}

// do runs one call of the library and turns its panic into an error.
func (w *Workflow) do(what string, call func()) (err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() {
		if p := recover(); p != nil {
			cause, ok := p.(error)
			if !ok {
				panic(p) // not the library's way of telling of a failed write
			}
			err = fmt.Errorf("%s: %w", what, cause)
		}
	}()
	call()
	return nil
}
