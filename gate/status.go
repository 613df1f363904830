package gate

import "fmt"

// Status is what one check came to. The zero value is Unknown, which is never
// a pass.
type Status int

// The statuses in the order of SPEC §4.
const (
	Unknown   Status = iota // could not be measured or compared
	Pass                    // surely, or by estimate, within the limit
	Near                    // past an absolute target, within its near margin
	Undecided               // inside by estimate, but the interval reaches past the limit
	Fail                    // past the limit
	Veto                    // surely past the absolute veto; never waived
)

var statusNames = [...]string{"unknown", "pass", "near", "undecided", "fail", "veto"}

// String is the status's name in files.
func (s Status) String() string { return nameOf(statusNames[:], int(s)) }

// MarshalText writes the name.
func (s Status) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the name and refuses any other.
func (s *Status) UnmarshalText(text []byte) error {
	i, err := indexOf("status", statusNames[:], string(text))
	*s = Status(i)
	return err
}

// Conclusion is what the whole gate came to. The zero value is NotJudged,
// which is never green.
type Conclusion int

// The conclusions.
const (
	NotJudged Conclusion = iota // no colour: something needed could not be measured or compared
	First                       // no baseline yet, absolute limits hold: becomes the first one
	Green                       // every check passes
	Yellow                      // something is near or undecided
	Red                         // a veto, a fail, or three checks near their targets
)

var conclusionNames = [...]string{"not_judged", "first", "green", "yellow", "red"}

// String is the conclusion's name in files and outputs.
func (c Conclusion) String() string { return nameOf(conclusionNames[:], int(c)) }

// MarshalText writes the name.
func (c Conclusion) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// UnmarshalText reads the name and refuses any other.
func (c *Conclusion) UnmarshalText(text []byte) error {
	i, err := indexOf("conclusion", conclusionNames[:], string(text))
	*c = Conclusion(i)
	return err
}

func nameOf(names []string, i int) string {
	if i < 0 || i >= len(names) {
		return names[0] // out of range is as bad as unknown, never better
	}
	return names[i]
}

func indexOf(what string, names []string, name string) (int, error) {
	for i, n := range names {
		if n == name {
			return i, nil
		}
	}
	return 0, fmt.Errorf("unknown %s %q: want one of %q", what, name, names)
}
