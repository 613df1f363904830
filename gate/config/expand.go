package config

import (
	"fmt"
	"regexp"
	"strings"
)

// variable matches what expansion looks at: $$, ${NAME}, and a ${ that is
// neither.
var variable = regexp.MustCompile(`\$\$|\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\$\{`)

// expand replaces every ${NAME} of text by the environment's value and $$ by
// one dollar sign. Any other dollar sign stays. The error names what is unset.
func expand(text string, getenv func(string) string) (out string, used bool, err error) {
	var unset []string
	broken := false
	out = variable.ReplaceAllStringFunc(text, func(m string) string {
		switch m {
		case "$$":
			return "$"
		case "${":
			broken = true
			return m
		}
		used = true
		name := m[2 : len(m)-1]
		value := getenv(name)
		if value == "" {
			unset = append(unset, name)
		}
		return value
	})
	switch {
	case broken:
		return "", used, fmt.Errorf("holds ${ without a name and }: write ${NAME}, or $${ for the text itself")
	case len(unset) == 1:
		return "", used, fmt.Errorf("environment variable %s is not set or empty: set it, or remove this line", unset[0])
	case len(unset) > 1:
		return "", used, fmt.Errorf("environment variables %s are not set or empty: set them, or remove this line", strings.Join(unset, ", "))
	}
	return out, used, nil
}
