package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// Nearest is the known name that a mistyped one most likely meant: the one at
// the smallest edit distance, the first of several; "" where none is near
// (within a third of the name's length, at least 2).
func Nearest(name string, known []string) string {
	best, bestDistance := "", max(2, len(name)/3)+1
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

func didYouMean(name string, known []string) string {
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf(": did you mean %q?", n)
	}
	return ""
}

// editDistance counts the insertions, deletions and replacements of bytes that
// turn a into b (Levenshtein).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return FormatCount(int64(n)) + " " + what + "s"
}

func outcomesInOrder() []loadtest.Outcome { return slices.Clone(loadtest.Outcomes) }
