package config

import (
	"errors"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// kind is one type of value: how it is called, what it looks like to an
// editor, how it is read and how it is shown.
type kind[T any] struct {
	name    string // in the reference and in errors: "duration"
	doc     string // what may be written, with examples
	pattern string // regular expression that holds for every valid text
	enum    []string
	minimum int // of a bare number, for the schema
	maximum int // likewise; 0 for none
	accepts []shape
	free    bool // any text: a number must be quoted to be one
	private bool // errors must not quote the value
	// parse reads text; its error says what is wrong and what to write, without
	// the text itself.
	parse func(text string) (T, error)
	show  func(T) string
}

// schema is the kind's JSON Schema for values written in the file.
func (k kind[T]) schema() map[string]any {
	if k.enum != nil {
		return map[string]any{"type": "string", "enum": k.enum, "description": k.doc}
	}
	s := map[string]any{"description": k.doc}
	if k.pattern != "" {
		s["pattern"] = k.pattern
	}
	types := make([]string, 0, 2)
	for _, a := range k.accepts {
		switch a {
		case isString:
			types = append(types, "string")
		case isInteger:
			types = append(types, "integer")
			s["minimum"] = k.minimum
		case isNumber:
			types = append(types, "number")
			s["minimum"] = k.minimum
		}
	}
	if k.maximum > 0 {
		s["maximum"] = k.maximum
	}
	s["type"] = types
	return s
}

// as makes a kind of T into one of a type with the same text.
func as[U, T any](k kind[T], to func(T) U, from func(U) T) kind[U] {
	return kind[U]{
		name: k.name, doc: k.doc, pattern: k.pattern, enum: k.enum, minimum: k.minimum, maximum: k.maximum, accepts: k.accepts, free: k.free, private: k.private,
		parse: func(text string) (U, error) { v, err := k.parse(text); return to(v), err },
		show:  func(u U) string { return k.show(from(u)) },
	}
}

const number = `[0-9]+(\.[0-9]+)?`

var (
	plainNumber  = regexp.MustCompile(`^[0-9.]+$`)
	durationPart = regexp.MustCompile(`(` + number + `)(ms|us|µs|s|m|h|d)`)
)

var units = map[string]time.Duration{
	"us": time.Microsecond, "µs": time.Microsecond, "ms": time.Millisecond, "s": time.Second,
	"m": time.Minute, "h": time.Hour, "d": 24 * time.Hour,
}

const durationPattern = `^(` + number + `(ms|us|µs|s|m|h|d))+$`

// duration is a length of time of at least least, at most ten years.
func duration(least time.Duration) kind[time.Duration] {
	return kind[time.Duration]{
		name: "duration", doc: "A length of time with its unit: 500ms, 35s, 12m, 2h, 30d, or 1m30s.",
		pattern: durationPattern, accepts: []shape{isString},
		parse: func(text string) (time.Duration, error) {
			d, err := parseDuration(text)
			if err == nil && d < least {
				return 0, fmt.Errorf("is too short: write at least %s", showDuration(least))
			}
			return d, err
		},
		show: showDuration,
	}
}

// seconds is duration for the plan's own type.
func seconds(least time.Duration) kind[loadtest.Seconds] {
	return as(duration(least), loadtest.ToSeconds, loadtest.Seconds.Duration)
}

var validDuration = regexp.MustCompile(durationPattern)

func parseDuration(text string) (time.Duration, error) {
	switch {
	case plainNumber.MatchString(text):
		return 0, errors.New("has no unit: write 500ms, 35s, 12m, 2h or 30d")
	case strings.HasPrefix(text, "-"):
		return 0, errors.New("must not be negative")
	case !validDuration.MatchString(text):
		return 0, errors.New("is not a length of time: write 500ms, 35s, 12m, 2h or 30d")
	}
	const limit = 10 * 365 * 24 * time.Hour
	var sum time.Duration
	for _, m := range durationPart.FindAllStringSubmatch(text, -1) {
		v, err := strconv.ParseFloat(m[1], 64)
		part := v * float64(units[m[3]])
		if err != nil || part > float64(limit) {
			return 0, errors.New("is more than ten years")
		}
		if sum += time.Duration(math.Round(part)); sum > limit {
			return 0, errors.New("is more than ten years")
		}
	}
	return sum, nil
}

// showDuration writes d the way it is written in the file: 12m, 1m30s, 30d.
func showDuration(d time.Duration) string {
	if d > 0 && d%(24*time.Hour) == 0 {
		return strconv.Itoa(int(d/(24*time.Hour))) + "d"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// count is a whole number in [least, most].
func count(least, most int) kind[int] {
	return kind[int]{
		name: "count", doc: fmt.Sprintf("A whole number, %d to %d.", least, most),
		minimum: least, maximum: most, accepts: []shape{isInteger},
		parse: func(text string) (int, error) {
			v, err := strconv.Atoi(text)
			if !digits.MatchString(text) || err != nil || v < least || v > most {
				return 0, fmt.Errorf("is not a whole number from %d to %d", least, most)
			}
			return v, nil
		},
		show: strconv.Itoa,
	}
}

var digits = regexp.MustCompile(`^[0-9]{1,18}$`)

const ratePattern = `^` + number + `( ?(req|requests))?/s$`

var validRate = regexp.MustCompile(ratePattern)

// rate is requests per second, above zero.
var rate = kind[float64]{
	name: "rate", doc: "Requests per second with the unit: 12/s or 12 req/s.",
	pattern: ratePattern, accepts: []shape{isString},
	parse: func(text string) (float64, error) {
		if plainNumber.MatchString(text) {
			return 0, errors.New("has no unit: write 12/s or 12 req/s")
		}
		if !validRate.MatchString(text) {
			return 0, errors.New("is not a rate: write 12/s or 12 req/s")
		}
		v, err := strconv.ParseFloat(leading.FindString(text), 64)
		if err != nil || v <= 0 || v > 1e6 {
			return 0, errors.New("must be above 0/s and at most 1000000/s")
		}
		return v, nil
	},
	show: func(v float64) string { return trim(v) + "/s" },
}

var leading = regexp.MustCompile(`^` + number)

const percentPattern = `^` + number + ` ?%$`

var validPercent = regexp.MustCompile(percentPattern)

// percent is a share written in percent, as a ratio below or at most.
func percent(most float64) kind[float64] {
	return kind[float64]{
		name: "percentage", doc: "A share in percent: 10%.",
		pattern: percentPattern, accepts: []shape{isString},
		parse: func(text string) (float64, error) {
			switch {
			case plainNumber.MatchString(text):
				return 0, errors.New("has no unit: write 10%")
			case !validPercent.MatchString(text):
				return 0, errors.New("is not a percentage: write 10%")
			}
			v, err := strconv.ParseFloat(leading.FindString(text), 64)
			if err != nil || v > most {
				return 0, fmt.Errorf("is more than %s%%", trim(most))
			}
			return v / 100, nil
		},
		show: func(v float64) string { return trim(v*100) + "%" },
	}
}

// plain is a number without unit, not negative.
var plain = kind[float64]{
	name: "number", doc: "A number without unit.",
	accepts: []shape{isInteger, isNumber},
	parse: func(text string) (float64, error) {
		v, err := strconv.ParseFloat(text, 64)
		if !leading.MatchString(text) || err != nil || v < 0 || v > 1e12 {
			return 0, errors.New("is not a plain number of 0 or more")
		}
		return v, nil
	},
	show: trim,
}

// trim writes v without trailing zeros and without the last bits' noise.
func trim(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e9)/1e9, 'f', -1, 64)
}

// oneOf is one of a few words.
func oneOf[S ~string](names ...S) kind[S] {
	known := make([]string, len(names))
	for i, n := range names {
		known[i] = string(n)
	}
	return kind[S]{
		name: strings.Join(known, " | "), doc: "One of " + strings.Join(known, ", ") + ".", enum: known,
		accepts: []shape{isString},
		parse: func(text string) (S, error) {
			for _, n := range names {
				if string(n) == text {
					return n, nil
				}
			}
			if near := gate.Nearest(text, known); near != "" {
				return "", fmt.Errorf("is not one of %s: did you mean %q?", strings.Join(known, ", "), near)
			}
			return "", fmt.Errorf("is not one of %s", strings.Join(known, ", "))
		},
		show: func(s S) string { return string(s) },
	}
}

// text is any words, not empty, without control characters.
func text(name, doc, pattern, rule string) kind[string] {
	valid := regexp.MustCompile(pattern)
	return kind[string]{
		name: name, doc: doc, pattern: pattern, accepts: []shape{isString}, free: true,
		parse: func(text string) (string, error) {
			if !valid.MatchString(text) || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				return "", errors.New(rule)
			}
			return text, nil
		},
		show: func(s string) string { return s },
	}
}

var (
	words = text("text", "Text of one line.", `^.+$`, "must be one line of text that is not empty")
	name  = text("name", "A name of letters, digits, dots, dashes and underscores.", `^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$`,
		"is not a name: write at most 63 letters, digits, dots, dashes and underscores, starting with a letter or digit")
	filePath = text("path", "A file's path; a relative one counts from this file's folder.", `^.+$`, "must be a file's path")
	secret   = as(private(words), func(s string) Secret { return Secret(s) }, func(s Secret) string { return "" })
)

func private(k kind[string]) kind[string] {
	k.name, k.doc, k.private = "secret", "A secret: write ${NAME} to take it from the environment.", true
	return k
}

// address is a URL with one of the schemes, a host, and neither user nor
// fragment; a query only where page is true.
func address(page bool, schemes ...string) kind[string] {
	k := kind[string]{
		name: "URL", doc: "An address that starts with " + strings.Join(schemes, ":// or ") + "://.",
		pattern: `^(` + strings.ReplaceAll(strings.Join(schemes, "|"), "+", `\+`) + `)://[^/?#@\s]+`,
		accepts: []shape{isString}, free: true, private: true,
		show: func(s string) string { return s },
	}
	k.parse = func(text string) (string, error) {
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Hostname() == "" || !known(u.Scheme, schemes):
			return "", fmt.Errorf("is not a URL: write %s://host:port", strings.Join(schemes, ":// or "))
		case u.User != nil:
			return "", errors.New("must not hold a user or password: use target.headers with Authorization: ${NAME}")
		case u.Fragment != "" || !page && u.RawQuery != "":
			return "", errors.New("must not hold ? or #: write the address alone")
		}
		if !page {
			text = strings.TrimRight(text, "/")
		}
		return text, nil
	}
	return k
}

func known(name string, names []string) bool {
	for _, n := range names {
		if n == name {
			return true
		}
	}
	return false
}
