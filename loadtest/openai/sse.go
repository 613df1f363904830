package openai

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"time"
)

const (
	// readSize is how much one read of the body asks for.
	readSize = 16 << 10
	// keepSize is the largest buffer that is kept for the next stream.
	keepSize = 64 << 10
	// headSize is how much of a body that is no event stream is kept to say
	// what came instead.
	headSize = 8 << 10
	// strangeSize is how long a body may go on without one line of an event
	// stream before it is given up.
	strangeSize = 1 << 20
)

var (
	errTooLong  = errors.New("event too long")
	errNoStream = errors.New("not an event stream")
)

var bom = []byte{0xEF, 0xBB, 0xBF}

// event is one dispatched server-sent event. Its slices are valid until the
// next call of next.
type event struct {
	name []byte // the event field; empty for a plain message
	data []byte // the data lines, joined by LF
	at   time.Time
	// cut is set for an event that the end of the body completes in place of a
	// blank line. WHATWG discards it; servers that end without the blank line
	// exist, so the caller decides by whether its data is whole.
	cut bool
}

// reader turns a body into server-sent events by the rules of
// https://html.spec.whatwg.org/multipage/server-sent-events.html: lines end in
// LF, CR or CRLF (a CR ends its line at once, whatever follows), data lines are
// joined by LF, one space after the colon is dropped, comments and unknown
// fields are nothing, a BOM is skipped once. Bytes are not interpreted
// otherwise, so code points may be cut by a read.
//
// A line, and the data of one event, is at most limit bytes long; past that
// next returns errTooLong and memory stays bounded.
type reader struct {
	src   io.Reader
	limit int

	buf      []byte
	pos, end int       // buf[pos:end] is read and not yet parsed
	seen     int       // buf[pos:pos+seen] is known to hold no line end
	at       time.Time // when buf[:end] grew last
	err      error     // what the last read returned besides bytes

	skipLF  bool // the last line ended in CR: an LF that follows belongs to it
	started bool // the first line was read
	name    []byte
	data    []byte
	pending bool // data holds at least one data line

	// head is the body's beginning, kept until the first line of an event
	// stream proves that it is one.
	head   []byte
	odd    int // bytes in lines of no event stream, until such a line came
	fields int // lines that an event stream has: fields and comments
}

// reset makes r read src from the start and keeps its buffers unless they have
// grown large.
func (r *reader) reset(src io.Reader, limit int) {
	buf, data, name, head := r.buf, r.data, r.name, r.head
	if cap(buf) > keepSize {
		buf = nil
	}
	if cap(data) > keepSize {
		data = nil
	}
	if cap(name) > keepSize {
		name = nil
	}
	if buf == nil {
		buf = make([]byte, readSize)
	}
	*r = reader{src: src, limit: limit, buf: buf, data: data[:0], name: name[:0], head: head[:0]}
}

// next returns the next event. At the end of the body it returns io.EOF, after
// a last event with cut set if one was under way; a read error is returned as
// it is and discards the event under way.
func (r *reader) next(ev *event) error {
	r.name, r.data, r.pending = r.name[:0], r.data[:0], false
	for {
		line, ok := r.line()
		if !ok {
			switch {
			case r.err == nil:
				if err := r.fill(); err != nil {
					return err
				}
				continue
			case !errors.Is(r.err, io.EOF):
				return r.err
			}
			if r.pos < r.end {
				line = r.first(r.buf[r.pos:r.end])
				r.pos, r.seen = r.end, 0
				if err := r.field(line); err != nil {
					return err
				}
			}
			if r.pending {
				r.dispatch(ev)
				ev.cut = true
				r.pending = false
				return nil
			}
			return io.EOF
		}
		if len(line) == 0 {
			if r.pending {
				r.dispatch(ev)
				return nil
			}
			r.name = r.name[:0]
			continue
		}
		if err := r.field(line); err != nil {
			return err
		}
	}
}

func (r *reader) dispatch(ev *event) {
	*ev = event{name: r.name, data: r.data, at: r.at}
}

// line returns the next complete line without its end; ok is false where more
// bytes are needed.
func (r *reader) line() (line []byte, ok bool) {
	if r.skipLF && r.pos < r.end {
		if r.buf[r.pos] == '\n' {
			r.pos++
		}
		r.skipLF = false
	}
	rest := r.buf[r.pos+r.seen : r.end]
	n := bytes.IndexByte(rest, '\n')
	if n >= 0 {
		rest = rest[:n]
	}
	if c := bytes.IndexByte(rest, '\r'); c >= 0 {
		n = c
		r.skipLF = true
	}
	if n < 0 {
		r.seen = r.end - r.pos
		return nil, false
	}
	n += r.seen
	line = r.buf[r.pos : r.pos+n]
	r.pos += n + 1
	r.seen = 0
	return r.first(line), true
}

// first drops the BOM in front of the body's first line.
func (r *reader) first(line []byte) []byte {
	if !r.started {
		r.started = true
		line = bytes.TrimPrefix(line, bom)
	}
	return line
}

// fill reads once more and stamps the arrival right after the read.
func (r *reader) fill() error {
	if r.pos > 0 {
		copy(r.buf, r.buf[r.pos:r.end])
		r.end -= r.pos
		r.pos = 0
	}
	if r.end > r.limit {
		return fmt.Errorf("%w: a line of more than %d bytes", errTooLong, r.limit)
	}
	if r.end == len(r.buf) {
		grown := make([]byte, 2*len(r.buf))
		copy(grown, r.buf[:r.end])
		r.buf = grown
	}
	into := r.buf[r.end:min(len(r.buf), r.end+readSize)]
	n, err := r.src.Read(into)
	if n > 0 {
		r.at = time.Now()
		r.end += n
		if r.fields == 0 {
			r.keepHead(into[:n])
		}
	}
	r.err = err
	return nil
}

func (r *reader) keepHead(p []byte) {
	if room := headSize - len(r.head); room > 0 {
		r.head = append(r.head, p[:min(room, len(p))]...)
	}
}

// field processes one line that is not empty.
func (r *reader) field(line []byte) error {
	name, value, colon := line, []byte(nil), bytes.IndexByte(line, ':')
	if colon >= 0 {
		name, value = line[:colon], line[colon+1:]
		if len(value) > 0 && value[0] == ' ' {
			value = value[1:]
		}
	}
	switch string(name) {
	case "data":
		if len(r.data)+len(value) > r.limit {
			return fmt.Errorf("%w: data of more than %d bytes", errTooLong, r.limit)
		}
		if r.pending {
			r.data = append(r.data, '\n')
		}
		r.data = append(r.data, value...)
		r.pending = true
	case "event":
		r.name = append(r.name[:0], value...)
	case "id", "retry", "": // "" is a comment
	default:
		r.odd += len(line)
		if r.fields == 0 && r.odd > strangeSize {
			return errNoStream
		}
		return nil
	}
	r.fields++
	return nil
}
