package sim

import (
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// format is how an endpoint shapes its answers.
type format struct {
	idPrefix string
	chunk    string // object name of a stream's events
	role     bool   // a stream opens with an event of the role alone
	open     string // what comes before the text in a choice of a stream
	close    string // and after
	whole    func(c *call, text string) any
}

var chatFormat = format{
	idPrefix: "chatcmpl", chunk: "chat.completion.chunk", role: true,
	open: `"delta":{"content":"`, close: `"}`,
	whole: func(c *call, text string) any {
		return c.envelope("chat.completion", map[string]any{
			"index": 0, "message": map[string]any{"role": "assistant", "content": text},
			"logprobs": nil, "finish_reason": c.finishReason(),
		})
	},
}

var textFormat = format{
	idPrefix: "cmpl", chunk: "text_completion",
	open: `"text":"`, close: `"`,
	whole: func(c *call, text string) any {
		return c.envelope("text_completion", map[string]any{
			"index": 0, "text": text, "logprobs": nil, "finish_reason": c.finishReason(),
		})
	},
}

// envelope is the object around the one choice of a whole answer.
func (c *call) envelope(object string, choice any) any {
	return map[string]any{
		"id": c.id, "object": object, "created": c.created.Unix(), "model": c.engine.cfg.Model,
		"choices": []any{choice}, "usage": c.usageOf(),
	}
}

// stream answers in server-sent events: one a step, written and flushed as the
// step ends. The parts that do not change are built once; steps that ended
// while the last write was under way go out together, still one event each.
// With SendTimes each event opens with a comment of the time of its write.
func (c *call) stream() {
	h := c.w.Header()
	h.Set("Content-Type", "text/event-stream; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	out := http.NewResponseController(c.w)
	send := func(buf []byte) bool {
		if _, err := c.w.Write(buf); err != nil {
			return false
		}
		return out.Flush() == nil
	}

	head := fmt.Sprintf(`data: {"id":%q,"object":%q,"created":%d,"model":%s,"choices":[`,
		c.id, c.format.chunk, c.created.Unix(), mustJSON(c.engine.cfg.Model))
	open := head + `{"index":0,` + c.format.open
	middle := c.format.close + `,"logprobs":null,"finish_reason":null}]}` + "\n\n"
	last := c.format.close + `,"logprobs":null,"finish_reason":"` + c.finishReason() + `"}]}` + "\n\n"

	buf := make([]byte, 0, 1024)
	if c.format.role {
		buf = append(c.appendSent(buf), head+`{"index":0,"delta":{"role":"assistant","content":""},"logprobs":null,"finish_reason":null}]}`+"\n\n"...)
	}
	// The headers leave at once, as a real server's do.
	if !send(buf) {
		return
	}
	var steps []int
	for sent := 0; sent < c.seq.target; {
		var ok bool
		if steps, ok = c.next(steps); !ok {
			return
		}
		buf = buf[:0]
		for _, n := range steps {
			buf = c.appendSent(buf)
			if c.breaks(sent + n) {
				buf = append(buf, "data: "...)
				buf = append(buf, mustJSON(errorBody(http.StatusInternalServerError, "injected error"))...)
				buf = c.appendSent(append(buf, "\n\n"...))
				send(append(buf, "data: [DONE]\n\n"...))
				return
			}
			buf = append(buf, open...)
			buf = c.engine.appendWords(buf, c.seq, sent, n)
			sent += n
			if sent < c.seq.target {
				buf = append(buf, middle...)
			} else {
				buf = append(buf, last...)
			}
		}
		if sent == c.seq.target {
			break // the rest follows in the same write
		}
		if !send(buf) {
			return
		}
	}
	if c.usage {
		usage := mustJSON(c.usageOf())
		buf = append(c.appendSent(buf), head...)
		buf = append(buf, `],"usage":`...)
		buf = append(buf, usage...)
		buf = append(buf, "}\n\n"...)
	}
	send(append(c.appendSent(buf), "data: [DONE]\n\n"...))
}

// appendSent appends the comment that says when the event behind it is sent:
// now, since the write follows at once.
func (c *call) appendSent(buf []byte) []byte {
	if !c.engine.cfg.SendTimes {
		return buf
	}
	buf = append(buf, ": sent "...)
	buf = strconv.AppendInt(buf, time.Now().UnixNano(), 10)
	return append(buf, '\n')
}
