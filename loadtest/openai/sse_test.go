package openai

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// seenEvent is an event without its time.
type seenEvent struct {
	Name, Data string
	Cut        bool
}

func readAll(src io.Reader, limit int) (events []seenEvent, err error) {
	var (
		r  reader
		ev event
	)
	r.reset(src, limit)
	for {
		if err := r.next(&ev); err != nil {
			return events, err
		}
		events = append(events, seenEvent{string(ev.name), string(ev.data), ev.cut})
	}
}

func TestReader(t *testing.T) {
	plain := func(data ...string) (events []seenEvent) {
		for _, d := range data {
			events = append(events, seenEvent{Data: d})
		}
		return events
	}
	for _, c := range []struct {
		name, in string
		want     []seenEvent
	}{
		{"nothing", "", nil},
		{"LF", "data: a\n\ndata: b\n\n", plain("a", "b")},
		{"CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", plain("a", "b")},
		{"CR", "data: a\r\rdata: b\r\r", plain("a", "b")},
		{"mixed line ends", "data: a\r\ndata: b\ndata: c\r\r\n\n", plain("a\nb\nc")},
		{"LF CR", "data: a\n\rdata: b\n\n", plain("a", "b")},
		{"several data lines", "data: a\ndata\ndata:b\n\n", plain("a\n\nb")},
		{"one space goes", "data:  a \n\n", plain(" a ")},
		{"no space", "data:a\n\n", plain("a")},
		{"a colon in the data", "data: a: b\n\n", plain("a: b")},
		{"empty data", "data\n\ndata:\n\n", plain("", "")},
		{"comments", ": x\n\n:\ndata: a\n: y\ndata: b\n\n", plain("a\nb")},
		{"BOM", "\uFEFFdata: a\n\n", plain("a")},
		{"one BOM only", "\uFEFF\uFEFFdata: a\n\ndata: b\n\n", plain("b")},
		{"BOM in the middle", "data: a\n\n\uFEFFdata: b\n\n", plain("a")},
		{"unknown and odd fields", "foo: 1\n data: x\nDATA: y\ndata : z\nid: 3\nretry: 9\ndata: a\n\n", plain("a")},
		{"U+2028, U+2029, U+0085, VT, FF", "data: a\u2028b\u2029c\u0085d\ve\ff\n\n", plain("a\u2028b\u2029c\u0085d\ve\ff")},
		{"event", "event: error\ndata: a\n\ndata: b\n\n", []seenEvent{{Name: "error", Data: "a"}, {Data: "b"}}},
		{"the last event field counts", "event: x\nevent: y\ndata: a\n\n", []seenEvent{{Name: "y", Data: "a"}}},
		{"event without data is dropped with its name", "event: x\n\ndata: a\n\n", plain("a")},
		{"no last blank line", "data: a\n\ndata: b\n", []seenEvent{{Data: "a"}, {Data: "b", Cut: true}}},
		{"no last line end", "data: a", []seenEvent{{Data: "a", Cut: true}}},
		{"BOM and no line end", "\uFEFFdata: a", []seenEvent{{Data: "a", Cut: true}}},
		{"CR at the end", "data: a\r", []seenEvent{{Data: "a", Cut: true}}},
		{"NUL and broken UTF-8 pass", "data: \x00\xff\xc3\n\n", plain("\x00\xff\xc3")},
	} {
		t.Run(c.name, func(t *testing.T) {
			for how, src := range map[string]io.Reader{
				"whole":           strings.NewReader(c.in),
				"byte by byte":    iotest.OneByteReader(strings.NewReader(c.in)),
				"EOF with data":   iotest.DataErrReader(strings.NewReader(c.in)),
				"half of a read":  iotest.HalfReader(strings.NewReader(c.in)),
				"EOF with a byte": iotest.DataErrReader(iotest.OneByteReader(strings.NewReader(c.in))),
			} {
				got, err := readAll(src, DefaultMaxLine)
				if err != io.EOF {
					t.Errorf("%s: error %v, want EOF", how, err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", how, diff)
				}
			}
		})
	}
}

// TestReaderKeepsErrors: an event under way is lost with its connection, and
// the error is told as it is.
func TestReaderKeepsErrors(t *testing.T) {
	broken := errors.New("reset")
	got, err := readAll(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)), 100)
	if err != broken {
		t.Errorf("error %v, want %v", err, broken)
	}
	if diff := cmp.Diff([]seenEvent{{Data: "a"}}, got); diff != "" {
		t.Error(diff)
	}
}

func TestReaderLimits(t *testing.T) {
	const limit = 40 << 10
	fits := "data: " + strings.Repeat("x", limit-100) + "\n\n"
	if got, err := readAll(strings.NewReader(fits+fits), limit); err != io.EOF || len(got) != 2 {
		t.Errorf("below the limit: %d events, %v", len(got), err)
	}
	for name, in := range map[string]string{
		"line":        "data: " + strings.Repeat("x", limit+readSize+1),
		"comment":     ":" + strings.Repeat("x", limit+readSize+1),
		"many lines":  strings.Repeat("data: "+strings.Repeat("x", 100)+"\n", limit/100+2),
		"empty lines": strings.Repeat("data\n", limit+3),
	} {
		if _, err := readAll(strings.NewReader(in), limit); !errors.Is(err, errTooLong) {
			t.Errorf("%s: error %v, want errTooLong", name, err)
		}
	}
}

// TestReaderGivesUp: a body that never shows a line of an event stream ends
// before it has taken a long time.
func TestReaderGivesUp(t *testing.T) {
	page := strings.Repeat("<p>hello</p>\n", strangeSize/13+2*readSize)
	if _, err := readAll(strings.NewReader(page), DefaultMaxLine); err != errNoStream {
		t.Errorf("error %v, want errNoStream", err)
	}
}

// chunks reads src in pieces whose lengths come from sizes, in a circle.
type chunks struct {
	src   []byte
	sizes []byte
	i     int
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.src) == 0 {
		return 0, io.EOF
	}
	n := 1
	if len(c.sizes) > 0 {
		n += int(c.sizes[c.i%len(c.sizes)])
		c.i++
	}
	n = copy(p[:min(n, len(p))], c.src)
	c.src = c.src[n:]
	return n, nil
}

// FuzzReader: however the same bytes are cut into reads, the same events come
// out, and they are those of a plain reading of the rules.
func FuzzReader(f *testing.F) {
	for _, c := range streamCases(f) {
		if c.Name != "long-line" {
			f.Add(c.whole(f), []byte{0, 3, 90})
		}
	}
	samples, _ := filepath.Glob("testdata/real/*.sse")
	for _, file := range samples {
		raw, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw, []byte{7, 200})
	}
	f.Add([]byte("\xEF\xBB\xBFdata: a\r\n\rdata\n: c\nevent:x\r\r\ndata:b\r"), []byte{0})
	f.Fuzz(func(t *testing.T, in, sizes []byte) {
		const limit = 1 << 16
		whole, wholeErr := readAll(bytes.NewReader(in), limit)
		cut, cutErr := readAll(&chunks{src: in, sizes: sizes}, limit)
		if diff := cmp.Diff(whole, cut); diff != "" || !errors.Is(cutErr, wholeErr) && len(in) < limit {
			t.Fatalf("cut into reads: %v against %v\n%s", cutErr, wholeErr, diff)
		}
		if len(in) < limit {
			if diff := cmp.Diff(byTheRules(string(in)), whole); diff != "" {
				t.Fatalf("against the rules (-want +got):\n%s", diff)
			}
		}
	})
}

// byTheRules reads a whole event stream in the plainest way.
func byTheRules(in string) (events []seenEvent) {
	in = strings.TrimPrefix(in, "\uFEFF")
	in = strings.ReplaceAll(in, "\r\n", "\n")
	in = strings.ReplaceAll(in, "\r", "\n")
	lines := strings.Split(in, "\n") // the last one has no end
	var (
		name string
		data []string
	)
	for i, line := range lines {
		last := i == len(lines)-1
		if line == "" && !last {
			if data != nil {
				events = append(events, seenEvent{name, strings.Join(data, "\n"), false})
			}
			name, data = "", nil
			continue
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "data":
			data = append(data, value)
		case "event":
			name = value
		}
		if last && data != nil {
			events = append(events, seenEvent{name, strings.Join(data, "\n"), true})
		}
	}
	return events
}
