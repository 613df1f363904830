package openai

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"
)

// owners maps owned_by of /v1/models to the engine.
var owners = []struct{ owner, engine string }{
	{"vllm", "vllm"},
	{"sglang", "sglang"},
	{"llamacpp", "llama.cpp"},
	{"library", "ollama"},
	{"lmdeploy", "lmdeploy"},
	{"tensorrt_llm", "tensorrt-llm"},
}

func engineOf(owner string) string {
	for _, o := range owners {
		if o.owner == owner {
			return o.engine
		}
	}
	return owner
}

// askTime bounds all questions about the engine together.
const askTime = 15 * time.Second

// probe is a page on which an engine tells of itself.
type probe struct {
	path string
	// engine is what a page like that says of the engine; "" where several
	// have it. mark is a member that must be there for the page to be meant.
	engine, mark string
	version      []string // members that hold the version, the first that is there
	revision     string   // member that holds the model's revision
	flags        []string // members worth recording; dots lead into objects
}

// probes are all asked, in this order; the first that tells a version settles it.
// The members are listed one by one: these pages hold keys and paths too.
var probes = []probe{
	{path: "/props", engine: "llama.cpp", mark: "build_info", version: []string{"build_info"},
		flags: []string{"total_slots", "default_generation_settings.n_ctx", "model_path"}},
	{path: "/get_server_info", engine: "sglang", mark: "mem_fraction_static", version: []string{"version"}, flags: sglangFlags},
	{path: "/server_info", engine: "sglang", mark: "mem_fraction_static", version: []string{"version"}, flags: sglangFlags},
	{path: "/info", engine: "tgi", mark: "model_sha", version: []string{"version"}, revision: "model_sha",
		flags: []string{"model_dtype", "max_concurrent_requests", "max_input_tokens", "max_total_tokens", "docker_label"}},
	{path: "/version", mark: "version", version: []string{"version"}},
	{path: "/api/version", engine: "ollama", mark: "version", version: []string{"version"}},
}

var sglangFlags = []string{
	"tp_size", "dp_size", "pp_size", "ep_size", "dtype", "quantization", "kv_cache_dtype", "context_length",
	"mem_fraction_static", "max_running_requests", "max_total_tokens", "chunked_prefill_size", "max_prefill_tokens",
	"schedule_policy", "page_size", "attention_backend", "disable_radix_cache", "disable_cuda_graph",
	"enable_mixed_chunk", "enable_torch_compile", "speculative_algorithm", "speculative_num_steps",
	"speculative_eagle_topk", "speculative_num_draft_tokens",
}

// askEngine asks every page; one that is missing or strange says nothing.
func (c *Client) askEngine(ctx context.Context, info *Info) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for _, p := range probes {
		a := c.get(ctx, p.path)
		if a.status != http.StatusOK {
			continue
		}
		page, err := object(a.body)
		if err != nil || null(page[p.mark]) {
			continue
		}
		if p.engine == "ollama" && info.Engine != "" && info.Engine != "ollama" {
			continue // a compatible page of another engine
		}
		if p.engine != "" {
			info.Engine = p.engine
		}
		for _, name := range p.version {
			if info.EngineVersion == "" {
				info.EngineVersion = c.words(shown(page[name]))
			}
		}
		if p.revision != "" && info.ModelRevision == "" {
			info.ModelRevision = c.words(shown(page[p.revision]))
		}
		for _, path := range p.flags {
			value, name := json.RawMessage(a.body), ""
			for step := range strings.SplitSeq(path, ".") {
				members, _ := object(value)
				value, name = members[step], step
			}
			info.flag(name, c.words(shown(value)))
		}
	}
}

// shown is a plain value as text; lists and objects are not shown.
func shown(raw json.RawMessage) string {
	if null(raw) || raw[0] == '{' || raw[0] == '[' {
		return ""
	}
	if s := text(raw); s != "" {
		return s
	}
	return strings.Trim(string(raw), `"`)
}

// flag records a setting that was told.
func (i *Info) flag(name, value string) {
	if value != "" {
		i.Flags[name] = value
	}
}
