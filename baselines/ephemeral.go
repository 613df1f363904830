package baselines

import (
	"fmt"
	"path/filepath"
	"strings"
)

// EphemeralError says that a directory ends with the runner it lies on.
type EphemeralError struct {
	Path string
	// Variable names the runner's directory that holds Path.
	Variable string
}

// Error implements error.
func (e *EphemeralError) Error() string {
	return fmt.Sprintf("keep baselines in %s: it lies inside %s and is gone when the job ends; "+
		"use `store: branch`, or a directory outside that outlives the runner", e.Path, e.Variable)
}

// CheckDurable refuses, inside GitHub Actions, a directory in the workspace or
// in the runner's temporary directory with an *EphemeralError. It looks through
// symbolic links and reads the environment through getenv.
func CheckDurable(path string, getenv func(string) string) error {
	if getenv("GITHUB_ACTIONS") != "true" {
		return nil
	}
	real, err := resolve(path)
	if err != nil {
		return fmt.Errorf("find out where %s lies: %w", path, err)
	}
	for _, variable := range []string{"GITHUB_WORKSPACE", "RUNNER_TEMP"} {
		root := getenv(variable)
		if root == "" {
			continue
		}
		if root, err = resolve(root); err != nil {
			return fmt.Errorf("find out where %s lies: %w", variable, err)
		}
		if rel, err := filepath.Rel(root, real); err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
			return &EphemeralError{Path: path, Variable: variable}
		}
	}
	return nil
}

// resolve makes a path absolute and follows the links of the part that exists.
func resolve(path string) (string, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if real, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(real, rest), nil
		}
		if at == filepath.Dir(at) {
			return path, nil
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}
