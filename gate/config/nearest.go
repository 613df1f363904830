package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// nearest returns the known name that differs least from name, "" where none
// is close enough to be a slip.
func nearest(name string, known []string) string {
	name = strings.ToLower(name)
	if len(name) > 64 {
		return ""
	}
	best, least := "", 2*max(1, len(name)/3)+1
	for _, k := range known {
		if d := distance(name, k); d < least {
			best, least = k, d
		}
	}
	return best
}

// distance counts what makes b of a: 2 for an insertion, deletion or
// replacement, 1 for a swap of neighbours, the commonest slip (optimal string
// alignment).
func distance(a, b string) int {
	two, one := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range one {
		one[j] = 2 * j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = 2 * i
		for j := 1; j <= len(b); j++ {
			cost := 2
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(one[j]+2, row[j-1]+2, one[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
		two, one = one, row
	}
	return one[len(b)]
}

// suggest is the end of a message about an unknown name.
func suggest(name string, known []string) string {
	if near := nearest(name, known); near != "" {
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
