package gate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hbollon/go-edlib"

	"github.com/org/llm-gate/loadtest"
)

// Nearest is the known name that a mistyped one most likely meant: the one at
// the smallest edit distance, neighbours swapped counting as one slip; of
// several one with the same letters, then the first. "" where none is near
// (within a third of the name's length, at least 2) or the name is over 64
// bytes long.
func Nearest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	name = strings.ToLower(name)
	best, least, same := "", max(2, len(name)/3)+1, false
	for _, k := range known {
		d := edlib.OSADamerauLevenshteinDistance(name, strings.ToLower(k))
		if letters := sameLetters(name, k); d < least || d == least && best != "" && letters && !same {
			best, least, same = k, d, letters
		}
	}
	return best
}

// sameLetters reports whether b is a in another order.
func sameLetters(a, b string) bool {
	x, y := []byte(a), []byte(strings.ToLower(b))
	slices.Sort(x)
	slices.Sort(y)
	return slices.Equal(x, y)
}

func didYouMean(name string, known []string) string {
	if n := Nearest(name, known); n != "" {
		return fmt.Sprintf(": did you mean %q?", n)
	}
	return ""
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return FormatCount(int64(n)) + " " + what + "s"
}

func outcomesInOrder() []loadtest.Outcome { return slices.Clone(loadtest.Outcomes) }
