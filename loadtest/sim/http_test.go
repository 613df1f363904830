package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fast is an engine whose steps take a fraction of a millisecond, so that
// tests over HTTP are short; nothing here asserts a time.
func fast() Config {
	cfg := DefaultConfig()
	cfg.StepBase, cfg.StepPerSequence, cfg.StepPerPrefillToken = 200*time.Microsecond, 0, 0
	return cfg
}

// serve starts an engine behind a real socket.
func serve(t testing.TB, cfg Config) (*Engine, string) {
	t.Helper()
	e, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e)
	t.Cleanup(func() {
		_ = e.Close()
		server.Close()
	})
	return e, server.URL
}

// post sends body and returns the status and the whole answer.
func post(t testing.TB, url, body string) (int, string) {
	t.Helper()
	resp, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

func chatBody(extra, text string) string {
	return fmt.Sprintf(`{"model":"sim/model",%s"messages":[{"role":"user","content":%q}]}`, extra, text)
}

// event is one decoded event of either endpoint.
type event struct {
	Choices []struct {
		Delta struct {
			Role    string  `json:"role"`
			Content *string `json:"content"`
		} `json:"delta"`
		Text         *string `json:"text"`
		FinishReason *string `json:"finish_reason"`
	} `json:"choices"`
	Usage *usageObject `json:"usage"`
	Error *apiError    `json:"error"`
}

// events decodes a stream and demands the terminator.
func events(t testing.TB, body string) []event {
	t.Helper()
	var out []event
	var done bool
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		data, ok := strings.CutPrefix(block, "data: ")
		if !ok || done {
			t.Fatalf("unexpected %q", block)
		}
		if done = data == "[DONE]"; done {
			continue
		}
		var e event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		out = append(out, e)
	}
	if !done {
		t.Fatalf("no [DONE] in %q", body)
	}
	return out
}

func TestChatStream(t *testing.T) {
	_, url := serve(t, fast())
	const prompt = 40 // words; the template adds 3
	for i, cached := range []int{0, 32} {
		status, body := post(t, url+"/v1/chat/completions", chatBody(
			`"max_tokens":7,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true},`, strings.Repeat("word ", prompt)))
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
		got := events(t, body)
		if len(got) != 9 {
			t.Fatalf("%d events, want a role, 7 tokens and the usage:\n%s", len(got), body)
		}
		if first := got[0].Choices[0].Delta; first.Role != "assistant" || *first.Content != "" {
			t.Errorf("opened with %+v, want the role alone", first)
		}
		var text string
		for n, e := range got[1:8] {
			text += *e.Choices[0].Delta.Content
			if reason := e.Choices[0].FinishReason; (reason != nil) != (n == 6) {
				t.Errorf("event %d: finish_reason %v", n+1, reason)
			}
		}
		if reason := *got[7].Choices[0].FinishReason; reason != "length" {
			t.Errorf("finish_reason %q, want length", reason)
		}
		if words := len(strings.Fields(text)); words != 7 {
			t.Errorf("%q has %d words, want 7", text, words)
		}
		last := got[8]
		if len(last.Choices) != 0 || last.Usage.PromptTokens != prompt+3 || last.Usage.CompletionTokens != 7 ||
			last.Usage.TotalTokens != prompt+10 || last.Usage.Details.CachedTokens != cached {
			t.Errorf("request %d: usage %+v, want %d + 7 with %d cached", i, *last.Usage, prompt+3, cached)
		}
	}
}

func TestSameAnswerEveryWay(t *testing.T) {
	cfg := fast()
	cfg.AnswerTokens = 12
	cfg.SpecTokens = 3
	_, url := serve(t, cfg)
	_, body := post(t, url+"/v1/chat/completions", chatBody("", "hello there"))
	var whole struct {
		Choices []struct {
			Message      struct{ Role, Content string }
			FinishReason string `json:"finish_reason"`
		}
		Usage usageObject
	}
	if err := json.Unmarshal([]byte(body), &whole); err != nil {
		t.Fatal(err)
	}
	answer := whole.Choices[0]
	if n := len(strings.Fields(answer.Message.Content)); n != 12 || answer.FinishReason != "stop" || whole.Usage.CompletionTokens != 12 {
		t.Errorf("got %s, want 12 words, stop", body)
	}
	_, body = post(t, url+"/v1/chat/completions", chatBody(`"stream":true,`, "hello there"))
	var text string
	for _, e := range events(t, body) {
		text += *e.Choices[0].Delta.Content
	}
	if text != answer.Message.Content {
		t.Errorf("streamed %q, whole %q", text, answer.Message.Content)
	}
}

func TestImagesTakeTokens(t *testing.T) {
	_, url := serve(t, fast())
	image := `{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}`
	status, body := post(t, url+"/v1/chat/completions", `{"max_tokens":1,"messages":[{"role":"user","content":[{"type":"text","text":"what is this"},`+image+`]}]}`)
	if want := fmt.Sprintf(`"prompt_tokens":%d`, 3+3+imageTokens); status != 200 || !strings.Contains(body, want) {
		t.Errorf("%d %s, want %s", status, body, want)
	}
	many := strings.TrimSuffix(strings.Repeat(image+",", 5000), ",")
	status, body = post(t, url+"/v1/chat/completions", `{"messages":[{"role":"user","content":[`+many+`]}]}`)
	if status != 400 || !strings.Contains(body, "maximum context length") {
		t.Errorf("5000 images: %d %s", status, body)
	}
}

// Steps end at planned times: an answer cannot come sooner, and a machine that
// is not overloaded tenfold does not make it take ten times as long.
func TestRealTime(t *testing.T) {
	cfg := fast()
	cfg.StepBase, cfg.StepNoise = 5*time.Millisecond, 0
	_, url := serve(t, cfg)
	const planned = 40 * 5 * time.Millisecond
	start := time.Now()
	if status, body := post(t, url+"/v1/chat/completions", chatBody(`"max_tokens":40,`, "x")); status != 200 {
		t.Fatal(status, body)
	}
	if took := time.Since(start); took < planned || took > 10*planned {
		t.Errorf("40 steps of 5 ms took %v", took)
	}
}

func TestCompletions(t *testing.T) {
	_, url := serve(t, fast())
	for _, prompt := range []string{`"one two three"`, `["one two three"]`, `[1,2,3]`} {
		status, body := post(t, url+"/v1/completions", `{"model":"sim/model","max_tokens":3,"stream":true,"stream_options":{"include_usage":true},"prompt":`+prompt+`}`)
		if status != http.StatusOK {
			t.Fatal(status, body)
		}
		got := events(t, body)
		if len(got) != 4 || got[3].Usage.PromptTokens != 3 || *got[2].Choices[0].FinishReason != "length" || *got[0].Choices[0].Text == "" {
			t.Errorf("prompt %s: %s", prompt, body)
		}
	}
	status, body := post(t, url+"/v1/completions", `{"prompt":"one two","max_tokens":4}`)
	if status != http.StatusOK || !strings.Contains(body, `"object":"text_completion"`) || !strings.Contains(body, `"completion_tokens":4`) {
		t.Error(status, body)
	}
}

func TestRefusals(t *testing.T) {
	cfg := fast()
	cfg.ContextLength = 100
	_, url := serve(t, cfg)
	tests := []struct {
		name, path, body string
		status           int
		kind, text       string
	}{
		{"unknown model", "chat/completions", `{"model":"other","messages":[{"role":"user","content":"x"}]}`, 404, "NotFoundError", "other"},
		{"bad JSON", "chat/completions", `{"model"`, 400, "BadRequestError", "JSON"},
		{"no messages", "chat/completions", `{"model":"sim/model"}`, 400, "BadRequestError", "messages"},
		{"no role", "chat/completions", `{"messages":[{"content":"x"}]}`, 400, "BadRequestError", "role"},
		{"odd content", "chat/completions", `{"messages":[{"role":"user","content":7}]}`, 400, "BadRequestError", "content"},
		{"no prompt", "completions", `{"model":"sim/model"}`, 400, "BadRequestError", "prompt"},
		{"two prompts", "completions", `{"prompt":["a","b"]}`, 400, "BadRequestError", "one text"},
		{"empty prompt", "completions", `{"prompt":" "}`, 400, "BadRequestError", "empty"},
		{"too long", "chat/completions", chatBody(`"max_tokens":98,`, "x"), 400, "BadRequestError", "maximum context length is 100 tokens"},
		{"no tokens", "chat/completions", chatBody(`"max_tokens":0,`, "x"), 400, "BadRequestError", "at least 1"},
		{"min over max", "chat/completions", chatBody(`"max_tokens":2,"min_tokens":3,`, "x"), 400, "BadRequestError", "min_tokens"},
		{"two answers", "chat/completions", chatBody(`"n":2,`, "x"), 400, "BadRequestError", "n must be 1"},
		{"options without stream", "chat/completions", chatBody(`"stream_options":{},`, "x"), 400, "BadRequestError", "stream"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			status, body := post(t, url+"/v1/"+test.path, test.body)
			var answer struct{ Error apiError }
			if err := json.Unmarshal([]byte(body), &answer); err != nil {
				t.Fatalf("%s: %v", body, err)
			}
			if status != test.status || answer.Error.Code != status || answer.Error.Type != test.kind || !strings.Contains(answer.Error.Message, test.text) {
				t.Errorf("%d %s, want %d %s with %q", status, body, test.status, test.kind, test.text)
			}
		})
	}
	if status, body := post(t, url+"/v1/chat/completions", chatBody(`"max_tokens":96,`, "x")); status != 200 {
		t.Errorf("4 + 96 tokens in a context of 100: %d %s", status, body)
	}
}

func get(t testing.TB, url, key string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

func TestKeyModelsVersion(t *testing.T) {
	cfg := fast()
	cfg.APIKey, cfg.Version, cfg.Flags = "secret", "9.9.9", "--enforce-eager"
	_, url := serve(t, cfg)
	for _, key := range []string{"", "wrong"} {
		if status, _ := get(t, url+"/v1/models", key); status != http.StatusUnauthorized {
			t.Errorf("key %q: %d, want 401", key, status)
		}
	}
	if status, body := get(t, url+"/v1/models", "secret"); status != 200 || !strings.Contains(body, `"id":"sim/model"`) || !strings.Contains(body, `"max_model_len":8192`) {
		t.Error(status, body)
	}
	if _, body := get(t, url+"/version", ""); body != `{"version":"9.9.9"}` {
		t.Error(body)
	}
	if _, body := get(t, url+"/server_info", ""); body != `{"flags":"--enforce-eager","version":"9.9.9"}` {
		t.Error(body)
	}
	if status, _ := get(t, url+"/health", ""); status != 200 {
		t.Errorf("health %d", status)
	}
}

func TestLoadingAndClosed(t *testing.T) {
	cfg := fast()
	cfg.StartupTime = time.Hour
	e, url := serve(t, cfg)
	check := func(when string) {
		t.Helper()
		if status, _ := get(t, url+"/health", ""); status != http.StatusServiceUnavailable {
			t.Errorf("%s: health %d, want 503", when, status)
		}
		if status, _ := post(t, url+"/v1/chat/completions", chatBody("", "x")); status != http.StatusServiceUnavailable {
			t.Errorf("%s: chat %d, want 503", when, status)
		}
		if status, _ := get(t, url+"/metrics", ""); status != http.StatusOK {
			t.Errorf("%s: metrics %d, want 200", when, status)
		}
	}
	check("loading")
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	check("closed")
}

func TestInjectedErrors(t *testing.T) {
	cfg := fast()
	cfg.ErrorRate, cfg.ErrorStatus = 0.25, http.StatusTooManyRequests
	run := func() (codes []int) {
		_, url := serve(t, cfg)
		for range 60 {
			status, _ := post(t, url+"/v1/chat/completions", chatBody(`"max_tokens":1,`, "x"))
			codes = append(codes, status)
		}
		return codes
	}
	first, again := run(), run()
	failed := 0
	for i := range first {
		if first[i] != again[i] {
			t.Errorf("request %d: %d, then %d with the same seed", i, first[i], again[i])
		}
		if first[i] == http.StatusTooManyRequests {
			failed++
		}
	}
	if failed < 6 || failed > 25 {
		t.Errorf("%d of 60 failed at a rate of 0.25", failed)
	}
}

func TestBrokenStreams(t *testing.T) {
	cfg := fast()
	cfg.StreamErrorRate = 1
	e, url := serve(t, cfg)
	for _, tokens := range []int{1, 10} {
		_, body := post(t, url+"/v1/chat/completions", chatBody(fmt.Sprintf(`"max_tokens":%d,"stream":true,`, tokens), "x"))
		got := events(t, body)
		if want := 1 + tokens/2 + 1; len(got) != want || got[len(got)-1].Error == nil || got[len(got)-1].Error.Code != 500 {
			t.Errorf("%d tokens: %d events, want %d with an error last:\n%s", tokens, len(got), want, body)
		}
	}
	if status, _ := post(t, url+"/v1/chat/completions", chatBody(`"max_tokens":10,`, "x")); status != 500 {
		t.Errorf("unstreamed: %d, want 500", status)
	}
	idle(t, e)
}

// idle waits until the engine holds nothing.
func idle(t *testing.T, e *Engine) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		e.mu.Lock()
		s := e.sched
		empty := len(s.running) == 0 && len(s.waiting) == 0 && s.pool.free == s.pool.size()
		e.mu.Unlock()
		if empty {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatal("the engine still holds blocks or requests")
		case <-tick.C:
		}
	}
}

// opened starts a long stream and returns once its first event is there.
func opened(t *testing.T, url string) (*http.Response, *bufio.Reader) {
	t.Helper()
	resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody(`"max_tokens":8000,"stream":true,`, "x")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	body := bufio.NewReader(resp.Body)
	for range 6 { // the role and two tokens, each with an empty line
		if _, err := body.ReadString('\n'); err != nil {
			t.Fatal(err)
		}
	}
	return resp, body
}

func TestDisconnectFreesBlocks(t *testing.T) {
	cfg := fast()
	cfg.StepBase = 5 * time.Millisecond // 8000 tokens take 40 s
	e, url := serve(t, cfg)
	resp, _ := opened(t, url)
	_ = resp.Body.Close()
	idle(t, e)
}

func TestCloseCutsStreams(t *testing.T) {
	cfg := fast()
	cfg.StepBase = 5 * time.Millisecond
	e, url := serve(t, cfg)
	_, body := opened(t, url)
	_ = e.Close()
	if rest, err := io.ReadAll(body); err == nil {
		t.Errorf("the stream ended cleanly: %q", rest)
	}
}

func TestCrash(t *testing.T) {
	cfg := fast()
	cfg.StepBase = 5 * time.Millisecond
	cfg.CrashAfter = 1
	e, url := serve(t, cfg)
	_, body := opened(t, url)
	for i := range 2 {
		resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(chatBody("", "x")))
		if err == nil {
			_ = resp.Body.Close()
			t.Errorf("request %d after the crash got %d", i, resp.StatusCode)
		}
	}
	if rest, err := io.ReadAll(body); err == nil {
		t.Errorf("the stream ended cleanly: %q", rest)
	}
	if resp, err := http.Get(url + "/health"); err == nil {
		_ = resp.Body.Close()
		t.Errorf("a crashed engine answers %d", resp.StatusCode)
	}
	idle(t, e)
}

// With SendTimes every event says when it left, and nothing else changes.
func TestSendTimes(t *testing.T) {
	cfg := fast()
	cfg.SendTimes = true
	_, url := serve(t, cfg)
	start := time.Now().UnixNano()
	status, body := post(t, url+"/v1/chat/completions", chatBody(
		`"max_tokens":5,"stream":true,"stream_options":{"include_usage":true},`, "x"))
	end := time.Now().UnixNano()
	if status != http.StatusOK {
		t.Fatal(status, body)
	}
	var plain strings.Builder
	last := start
	blocks := strings.SplitAfter(body, "\n\n")
	blocks = blocks[:len(blocks)-1] // nothing stands behind the last event
	for _, block := range blocks {
		comment, event, _ := strings.Cut(block, "\n")
		var at int64
		if _, err := fmt.Sscanf(comment, ": sent %d", &at); err != nil {
			t.Fatalf("%q opens an event: %v", comment, err)
		}
		if at < last || at > end {
			t.Errorf("sent at %d, want from %d to %d", at, last, end)
		}
		last = at
		plain.WriteString(event)
	}
	if got := events(t, plain.String()); len(got) != 7 {
		t.Errorf("%d events, want a role, 5 tokens and the usage:\n%s", len(got), body)
	}
}
