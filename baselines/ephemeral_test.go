package baselines

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheckDurable(t *testing.T) {
	work, temp, outside := t.TempDir(), t.TempDir(), t.TempDir()
	link := filepath.Join(outside, "link")
	if err := os.Symlink(work, link); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		path, actions, variable string
	}{
		{filepath.Join(work, "baselines"), "true", "GITHUB_WORKSPACE"},
		{work, "true", "GITHUB_WORKSPACE"},
		{filepath.Join(work, "..b"), "true", "GITHUB_WORKSPACE"},
		{filepath.Join(temp, "a", "b"), "true", "RUNNER_TEMP"},
		{filepath.Join(link, "baselines"), "true", "GITHUB_WORKSPACE"},
		{filepath.Join(outside, "baselines"), "true", ""},
		{filepath.Join(work, "..", "x"), "true", ""},
		{filepath.Join(work, "baselines"), "", ""},
	} {
		err := CheckDurable(test.path, func(name string) string {
			return map[string]string{"GITHUB_ACTIONS": test.actions, "GITHUB_WORKSPACE": work, "RUNNER_TEMP": temp}[name]
		})
		var ephemeral *EphemeralError
		switch {
		case test.variable == "" && err != nil:
			t.Errorf("%s: %v", test.path, err)
		case test.variable != "" && (!errors.As(err, &ephemeral) || ephemeral.Variable != test.variable || !strings.Contains(err.Error(), "store: branch")):
			t.Errorf("%s: %v, want one that names %s and the way out", test.path, err, test.variable)
		}
	}
}
