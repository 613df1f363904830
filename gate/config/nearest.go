package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/org/llm-gate/gate"
)

// suggest is the end of a message about an unknown name.
func suggest(name string, known []string) string {
	if near := gate.Nearest(name, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "known are " + strings.Join(known, ", ")
}

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K {
	keys := make([]K, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
