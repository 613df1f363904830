package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/org/llm-gate/gate"
)

// TestErrors fixes the text of every error: it must say where, what, and what
// to write instead. Texts stand without the file's name.
func TestErrors(t *testing.T) {
	const v = "version: 1\n"
	tests := []struct {
		text string
		want []string
	}{
		{"", []string{`1:1: version: is missing, the file is empty: write "version: 1" in the first line`}},
		{"# nothing\n", []string{`1:1: version: is missing, the file is empty: write "version: 1" in the first line`}},
		{"name: a\n", []string{`1:1: version: is missing: write version: 1`}},
		{"version: 2\n", []string{`1:10: version: "2" is not a version that this build reads: write 1`}},
		{"version: '1'\n", []string{`1:10: version: "1" is text: write it without quotes`}},
		{"version: 1.0\n", []string{`1:10: version: "1.0" is not a version that this build reads: write 1`}},
		{"- a\n", []string{`1:1: is a list, not a mapping of version, name, target, load, checks, require_same, baseline, fail_on, not_judged, comment, design, degradation`}},
		{"text\n", []string{`1:1: is text, not a mapping of version, name, target, load, checks, require_same, baseline, fail_on, not_judged, comment, design, degradation`}},
		{v + "chekcs: {}\n", []string{`2:1: chekcs: unknown key: did you mean "checks"?`}},
		{v + "zzzzzz: 1\n", []string{`2:1: zzzzzz: unknown key: known are version, name, target, load, checks, require_same, baseline, fail_on, not_judged, comment, design, degradation`}},
		{v + "name: a\nname: b\n", []string{`3:1: name: is written twice, first in line 2: remove one`}},
		{v + "load:\n  rps: 3\n", []string{`3:3: load.rps: unknown key: did you mean "rate"?`}},
		{v + "load:\n", []string{`2:7: load: is empty, not a mapping of budget, rate, concurrency, arrivals, warmup, rounds, requests, length, timeout, late_limit, seed, prompts, slo, stairs`}},
		{v + "load: 5\n", []string{`2:7: load: is a whole number, not a mapping of budget, rate, concurrency, arrivals, warmup, rounds, requests, length, timeout, late_limit, seed, prompts, slo, stairs`}},
		{v + "checks:\n  ttft_p95:\n    tolerance: 15\n", []string{`4:16: checks.ttft_p95.tolerance: "15" has no unit: write 15% or 10ms`}},
		{v + "checks:\n  error_rate: {tolerance: 15}\n", []string{`3:27: checks.error_rate.tolerance: "15" has no unit: write 15% or 0.5pp`}},
		{v + "checks: {ttft_p59: {tolerance: 15%}}\n", []string{`2:10: checks.ttft_p59: unknown metric: did you mean "ttft_p95"?`}},
		{v + "checks: {p95_latency: {tolerance: 15%}}\n", []string{`2:10: checks.p95_latency: unknown metric: did you mean "e2e_p95"?`}},
		{v + "checks: {latency_p95: {tolerance: 15%}}\n", []string{`2:10: checks.latency_p95: unknown metric: did you mean "e2e_p95"?`}},
		{v + "checks: {}\n", []string{`2:1: checks: is empty, so nothing would be judged: list a check, or remove it for the defaults`}},
		{v + "checks:\n", []string{`2:1: checks: is empty, so nothing would be judged: list a check, or remove it for the defaults`}},
		{v + "checks: []\n", []string{`2:9: checks: is a list, not a mapping: write ttft_p95: {tolerance: 15%}`}},
		{v + "checks: {ttft_p95: {}}\n", []string{`2:10: checks.ttft_p95: has no limit: write tolerance (15% or 10ms), max, min or veto`}},
		{v + "checks: {ttft_p95: 15%}\n", []string{`2:20: checks.ttft_p95: "15%" is not a check: write {tolerance: 15% or 10ms} or off`}},
		{v + "checks: {ttft_p95: }\n", []string{`2:19: checks.ttft_p95: nothing is not a check: write {tolerance: 15% or 10ms} or off`}},
		{v + "checks: {ttft_p95: []}\n", []string{`2:20: checks.ttft_p95: is an empty list: write off to remove the check`}},
		{v + "checks: {ttft_p95: [{max: 1s}, {max: 2s}]}\n", []string{`2:32: checks.ttft_p95[1]: checks the same stage and scenario as a row before it: put both in one row`}},
		{v + "checks: {ttft_p95: off, tpot_p95: off, e2e_p95: off, error_rate: off, kv_hit_rate: off}\n", []string{`2:1: checks: has every check off, so nothing would be judged: leave one on`}},
		{v + "checks:\n  ttft_p95: {tolerance: 0.5pp}\n", []string{`3:25: checks.ttft_p95.tolerance: "0.5pp" is not a tolerance of this metric: write 15% or 10ms`}},
		{v + "checks:\n  error_rate: {tolerance: 10ms}\n", []string{`3:27: checks.error_rate.tolerance: "10ms" is not a tolerance of this metric: write 15% or 0.5pp`}},
		{v + "checks: {ttft_p95: {tolerance: -5%}}\n", []string{`2:32: checks.ttft_p95.tolerance: "-5%" must not be negative: the metric's direction says which way is worse`}},
		{v + "checks: {ttft_p95: {tolerance: 0%}}\n", []string{`2:32: checks.ttft_p95.tolerance: "0%" must be above 0: write 15% or 10ms`}},
		{v + "checks: {error_rate: {tolerance: 200pp}}\n", []string{`2:34: checks.error_rate.tolerance: "200pp" is more than 100pp`}},
		{v + "checks: {ttft_p95: {max: 800}}\n", []string{`2:26: checks.ttft_p95.max: "800" has no unit: write 800ms`}},
		{v + "checks: {ttft_p95: {max: 1%}}\n", []string{`2:26: checks.ttft_p95.max: "1%" is not in this metric's unit, a time: write 800ms`}},
		{v + "checks: {error_rate: {max: 0.01}}\n", []string{`2:28: checks.error_rate.max: "0.01" has no unit: write 1%`}},
		{v + "checks: {error_rate: {max: 1pp}}\n", []string{`2:28: checks.error_rate.max: "1pp" is not in this metric's unit, a percentage: write 1%`}},
		{v + "checks: {error_rate: {max: 101%}}\n", []string{`2:28: checks.error_rate.max: "101%" is more than 100%`}},
		{v + "checks: {error_rate: {max: 1%, near: 1%}}\n", []string{`2:38: checks.error_rate.near: "1%" is not in this metric's unit, percentage points: write 0.5pp`}},
		{v + "checks: {ttft_p95: {near: 5ms, tolerance: 1%}}\n", []string{`2:21: checks.ttft_p95.near: needs a max or min to belong to`}},
		{v + "checks: {ttft_p95: {max: 1s, guard: 100%}}\n", []string{`2:37: checks.ttft_p95.guard: "100%" is more than 99%`}},
		{v + "checks: {ttft_p95: {max: 1s, near: 1s, veto: 1.5s}}\n", []string{`2:40: checks.ttft_p95.veto: must not be below max + near: it is the limit beyond the target`}},
		{v + "checks: {kv_hit_rate: {min: 50%, veto: 60%}}\n", []string{`2:34: checks.kv_hit_rate.veto: must not be above min − near: it is the limit beyond the target`}},
		{v + "checks: {kv_hit_rate: {min: 50%, max: 40%}}\n", []string{`2:24: checks.kv_hit_rate.min: must be below max`}},
		{v + "checks: {ttft_p95: {max: 1s, stage: stair-3}}\n", []string{`2:10: checks.ttft_p95: stage stair-3 is not in the plan: write load.stairs`}},
		{v + "checks: {ttft_p95: {max: 1s, stage: stairs}}\n", []string{`2:37: checks.ttft_p95.stage: "stairs" is not a stage: write steady, or stair-1, stair-2, …`}},
		{v + "load: {stairs: {start: 1/s, steps: 2}}\nchecks: {ttft_p95: {max: 1s, stage: stair-3}}\n", []string{`3:10: checks.ttft_p95: stage stair-3 is not in the plan: load.stairs has 2 steps`}},
		{v + "checks: {ttft_p95: {tolerence: 15%}}\n", []string{`2:21: checks.ttft_p95.tolerence: unknown key: did you mean "tolerance"?`}},
		{v + "checks: {ttft_p95: {limit: 15%}}\n", []string{`2:21: checks.ttft_p95.limit: unknown key: did you mean "max"?`}},
		{v + "load: {budget: 12}\n", []string{`2:16: load.budget: "12" has no unit: write 500ms, 35s, 12m, 2h or 30d`}},
		{v + "load: {budget: soon}\n", []string{`2:16: load.budget: "soon" is not a length of time: write 500ms, 35s, 12m, 2h or 30d`}},
		{v + "load: {budget: 0s}\n", []string{`2:16: load.budget: "0s" is too short: write at least 1s`}},
		{v + "load: {budget: -1s}\n", []string{`2:16: load.budget: "-1s" must not be negative`}},
		{v + "load: {budget: 99999d}\n", []string{`2:16: load.budget: "99999d" is more than ten years`}},
		{v + "load: {budget: }\n", []string{`2:15: load.budget: is empty: write a duration, or remove it`}},
		{v + "load: {budget: [1s]}\n", []string{`2:16: load.budget: is a list: write a duration`}},
		{v + "load: {rounds: 1}\n", []string{`2:16: load.rounds: "1" is not a whole number from 2 to 10`}},
		{v + "load: {rounds: 11}\n", []string{`2:16: load.rounds: "11" is not a whole number from 2 to 10`}},
		{v + "load: {rounds: '5'}\n", []string{`2:16: load.rounds: "5" is text: write it without quotes`}},
		{v + "load: {rounds: five}\n", []string{`2:16: load.rounds: "five" is not a whole number from 2 to 10`}},
		{v + "load: {rounds: 0x5}\n", []string{`2:16: load.rounds: "0x5" is not a whole number from 2 to 10`}},
		{v + "load: {rounds: 2.5}\n", []string{`2:16: load.rounds: "2.5" is not a whole number from 2 to 10`}},
		{v + "load: {rate: 12}\n", []string{`2:14: load.rate: "12" has no unit: write 12/s or 12 req/s, or auto`}},
		{v + "load: {rate: 0/s}\n", []string{`2:14: load.rate: "0/s" must be above 0/s and at most 1000000/s, or auto`}},
		{v + "load: {rate: fast}\n", []string{`2:14: load.rate: "fast" is not a rate: write 12/s or 12 req/s, or auto`}},
		{v + "load: {rate: 1/s, concurrency: 3}\n", []string{`2:19: load.concurrency: excludes rate: a closed loop has no rate of its own; remove one`}},
		{v + "load: {arrivals: constant, concurrency: 3}\n", []string{`2:8: load.arrivals: has no use beside concurrency, a closed loop: remove one`}},
		{v + "load: {arrivals: possion}\n", []string{`2:18: load.arrivals: "possion" is not one of poisson, constant: did you mean "poisson"?`}},
		{v + "load: {duration: 3s}\n", []string{`2:8: load.duration: unknown key: did you mean "length"?`}},
		{v + "load: {seed: -1}\n", []string{`2:14: load.seed: "-1" is not a whole number from 0 to 18446744073709551615`}},
		{v + "load: {prompts: {file: a, input: 3}}\n", []string{`2:27: load.prompts.input: has no use beside file, whose prompts are sent as they are: remove one`}},
		{v + "load: {prompts: {input: 100, shared_prefix: 100}}\n", []string{`2:30: load.prompts.shared_prefix: 100 tokens leave nothing of an input of 100: write less than the input`}},
		{v + "load: {prompts: {input: 100, shared_prefix: 100%}}\n", []string{`2:30: load.prompts.shared_prefix: 100 tokens leave nothing of an input of 100: write less than the input`}},
		{v + "load: {prompts: {input: many}}\n", []string{`2:25: load.prompts.input: "many" is not a number of tokens: write 512, 512 ± 128 or {mean: 512, sd: 128}`}},
		{v + "load: {prompts: {input: {sd: 3}}}\n", []string{`2:25: load.prompts.input.mean: is missing: write mean: 512`}},
		{v + "load: {prompts: {shared_prefix: half}}\n", []string{`2:33: load.prompts.shared_prefix: "half" is neither tokens nor a share of the input: write 256 or 60%`}},
		{v + "load: {stairs: {}}\n", []string{`2:16: load.stairs.start: is missing: write start: 100/s`}},
		{v + "load: {requests: 1000, rate: 1/s}\n", []string{`2:1: load: the plan takes 1h23m20s without drains and warm-up, more than the budget of 12m0s: raise the budget or plan fewer or shorter rounds`}},
		{v + "load: {prompts: {groups: 0}}\n", []string{`2:26: load.prompts.groups: "0" is not a whole number from 1 to 1000000`}},
		{v + "target: {url: localhost:8000}\n", []string{`2:15: target.url: is not a URL: write http:// or https://host:port`}},
		{v + "target: {url: 'http://u:hunter2@h'}\n", []string{`2:15: target.url: must not hold a user or password: use target.headers with Authorization: ${NAME}`}},
		{v + "target: {url: 'http://h/?key=1'}\n", []string{`2:15: target.url: must not hold ? or #: write the address alone`}},
		{v + "target: {url: '${BAD_URL}'}\n", []string{`2:15: target.url: is not a URL: write http:// or https://host:port`}},
		{v + "target: {url: '${NOPE}'}\n", []string{`2:15: target.url: environment variable NOPE is not set or empty: set it, or remove this line`}},
		{v + "target: {url: '${A1}${B2}'}\n", []string{`2:15: target.url: environment variables A1, B2 are not set or empty: set them, or remove this line`}},
		{v + "target: {url: '${}'}\n", []string{`2:15: target.url: holds ${ without a name and }: write ${NAME}, or $${ for the text itself`}},
		{v + "target: {url: ${X}}\n", []string{`2:16: is not YAML: ',' or '}' must be specified; inside { } and [ ] write variables in quotes: "${NAME}"`}},
		{v + "target: {api: responses}\n", []string{`2:15: target.api: "responses" is not one of chat, completions`}},
		{v + "target: {api_key: [a]}\n", []string{`2:19: target.api_key: is a list: write a secret`}},
		{v + "target: {api_key: 5}\n", []string{`2:19: target.api_key: is a whole number: write it in quotes`}},
		{v + "target: {headers: {'a b': c}}\n", []string{`2:20: target.headers.a b: is not a header's name`}},
		{v + "target: {headers: [a]}\n", []string{`2:19: target.headers: is a list, not a mapping: write {X-Name: "value"}`}},
		{v + "target: {headers: {A: '${INJECT}'}}\n", []string{`2:23: target.headers.A: must be one line of text that is not empty`}},
		{v + "target: {metrics: sometimes}\n", []string{`2:19: target.metrics: is not a URL: write http:// or https:// or dns+http:// or dns+https://host:port; or write auto or off`}},
		{v + "target: {metrics: []}\n", []string{`2:19: target.metrics: is an empty list: write at least one URL, or remove it`}},
		{v + "target: {metrics: {match: '{a=\"b\"}'}}\n", []string{`2:19: target.metrics.prometheus: is missing: write prometheus: http://prometheus:9090`}},
		{v + "target: {metrics: {prometheus: 'http://p', match: up}}\n", []string{`2:51: target.metrics.match: "up" is not a label matcher: write '{namespace="pr-412"}'`}},
		{v + "target: {metrics: ['http://a/m', 'http://a/m']}\n", []string{`2:34: target.metrics[1]: is in the list twice: remove one`}},
		{v + "target: {model: 5}\n", []string{`2:17: target.model: "5" is a whole number: write it in quotes`}},
		{v + "target: {model: true}\n", []string{`2:17: target.model: "true" is true or false: write it in quotes`}},
		{v + "target: {gpu: {count: 0}}\n", []string{`2:23: target.gpu.count: "0" is not a whole number from 1 to 100000`}},
		{v + "load: {rounds: '${BAD_ROUNDS}'}\n", []string{`2:16: load.rounds: "${BAD_ROUNDS}" is not a whole number from 2 to 10`}},
		{v + "name: a/b\n", []string{`2:7: name: "a/b" is not a name: write at most 63 letters, digits, dots, dashes and underscores, starting with a letter or digit`}},
		{v + "name: 8\n", []string{`2:7: name: "8" is a whole number: write it in quotes`}},
		{v + "name:\n", []string{`2:7: name: is empty: write a name, or remove it`}},
		{v + "fail_on: green\n", []string{`2:10: fail_on: "green" is not one of red, yellow, never`}},
		{v + "fail_on: yelow\n", []string{`2:10: fail_on: "yelow" is not one of red, yellow, never: did you mean "yellow"?`}},
		{v + "not_judged: true\n", []string{`2:13: not_judged: "true" is not one of block, warn`}},
		{v + "comment: off\n", []string{`2:10: comment: "off" is not one of always, problems, never`}},
		{v + "require_same: model\n", []string{`2:15: require_same: is text, not a list: write [model, engine]`}},
		{v + "require_same: [modle]\n", []string{`2:16: require_same[0]: "modle" is not one of model, model_revision, engine, engine_version, image, flags, flags.NAME: did you mean "model"?`}},
		{v + "require_same: [model, model]\n", []string{`2:23: require_same[1]: is in the list twice: remove one`}},
		{v + "baseline: {store: brnch}\n", []string{`2:19: baseline.store: "brnch" is not a store: did you mean "branch"? A directory is written with a slash: ./baselines`}},
		{v + "baseline: {store: baselines}\n", []string{`2:19: baseline.store: "baselines" is not a store: write auto, branch, branch:NAME or a directory with a slash: ./baselines`}},
		{v + "baseline: {keep: 0}\n", []string{`2:18: baseline.keep: "0" is not a whole number from 1 to 50`}},
		{v + "baseline: {anchor: v1}\n", []string{`2:12: baseline.anchor: is not available in this version: remove it`}},
		{v + "stable: http://a\n", []string{`2:1: stable: is not available in this version: remove it`}},
		{v + "override: {}\n", []string{`2:1: override: is not available in this version: remove it`}},
		{v + "on_red:\n  - run: [a]\n", []string{`2:1: on_red: is not available in this version: remove it`}},
		{v + "profile: x\n", []string{`2:1: profile: is not available in this version: remove it`}},
		{v + "name: *a\n", []string{`2:7: alias *a has no anchor &a before it`}},
		{v + "a: &a {b: *a}\n", []string{`2:11: alias *a has no anchor &a before it`}},
		{v + "<<: {name: a}\n", []string{`2:1: merge keys (<<) are not supported: write the keys out`}},
		{v + "name: !!str 5\n", []string{`2:7: tags like !!str are not supported: remove it`}},
		{v + "---\nname: b\n", []string{`3:1: starts a second document: write one document, without --- in between`}},
		{v + "name: [\n", []string{`2:7: is not YAML: sequence end token ']' not found`}},
		{"\tversion: 1\n", []string{`1:8: is not YAML: tab character cannot use as a map key directly`}},
		{v + "a\n", []string{`2:1: is not YAML: non-map value is specified`}},
		{v + "name: \"\\xff", []string{`2:7: is not YAML: could not find end character of double-quoted text`}},
		{"version: 1\x00", []string{`1:1: holds a zero byte: this is not a text file`}},
		{"version: 1\n\xff\n", []string{`2:1: is not UTF-8 text: save the file as UTF-8`}},
		{v + strings.Repeat("[", 1001), []string{` opens 1001 brackets: a configuration has at most 1000`}},
		{strings.Repeat("a", maxBytes+1), []string{` has 32769 bytes: a configuration has at most 32768`}},
		{strings.Repeat("\n", maxLines+1), []string{` has 2001 lines: a configuration has at most 2000`}},
		{v + strings.Repeat("- ", 100), []string{`2:1: is nested more than 20 levels deep`}},
		{v + "name: " + strings.Repeat("[", 30) + strings.Repeat("]", 30) + "\n", []string{`2:27: is nested more than 20 levels deep`}},
		{v + "\"na\\nme\": x\n", []string{`2:1: na?me: unknown key: did you mean "name"?`}},
		{v + "design: {throughput: 40}\n", []string{`2:22: design.throughput: "40" has no unit: write 12/s or 12 req/s`}},
		{v + "degradation: {p99_limit: 5, warn_above: high, error_floor: 1}\n", []string{`2:26: degradation.p99_limit: "5" has no unit: write 500ms, 35s, 12m, 2h or 30d`, `2:41: degradation.warn_above: "high" is not a plain number of 0 or more`, `2:60: degradation.error_floor: "1" has no unit: write 10%`}},
		{v + "? a\n: b\n", []string{`2:1: a key with ? is not supported: write key: value`}},
		{v + "checks: {kv_hit_rate: {tolerance: 100%}}\n", []string{`2:24: checks.kv_hit_rate.tolerance: of 100% or more lets it fall to nothing: write less`}},
		{v + "checks: {kv_hit_rate: {min: 10%, scenario: a}}\n", []string{`2:34: checks.kv_hit_rate.scenario: this metric is of all scenarios together: remove it`}},
		{v + "checks: {error_rate: {min: 1%, max: 1.1%, guard: 50%}}\n", []string{`2:1: checks: llm-gate.yml:2:10: check error_rate: min lies above max: nothing could pass`}},
		{v + "require_same: [flags.]\n", []string{`2:16: require_same[0]: "flags." is not one of model, model_revision, engine, engine_version, image, flags, flags.NAME: did you mean "flags"?`}},
	}
	for _, tt := range tests {
		c, err := Load("llm-gate.yml", []byte(tt.text), env)
		if c != nil || err == nil {
			t.Errorf("%.80q is accepted", tt.text)
			continue
		}
		var got []string
		for _, line := range strings.Split(err.Error(), "\n") {
			got = append(got, strings.TrimPrefix(line, "llm-gate.yml:"))
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%.80q (-want +got):\n%s", tt.text, diff)
		}
		if strings.Contains(err.Error(), apiKey) {
			t.Errorf("%.80q: the error holds a value of the environment", tt.text)
		}
	}
}

func TestUnknownMetricWithoutANearOneListsAll(t *testing.T) {
	_, err := Load("llm-gate.yml", []byte("version: 1\nchecks: {nonsense: {max: 1}}\n"), env)
	if err == nil {
		t.Fatal("an unknown metric is accepted")
	}
	for _, m := range gate.Catalogue() {
		if !strings.Contains(err.Error(), m.ID) {
			t.Errorf("%s is not named", m.ID)
		}
	}
}

// All errors of a file are told at once, but a hopeless file does not fill the log.
func TestAllErrorsAreReportedWithinABound(t *testing.T) {
	text := "version: 1\nname: a/b\nload: {rounds: 1, rate: 5}\nfail_on: no\nchecks: {ttft_p95: {max: 5}, x_y_z: off}\n"
	_, err := Load("f", []byte(text), env)
	var errs Errors
	if !errors.As(err, &errs) || len(errs) != 6 {
		t.Fatalf("want 6 errors, got: %v", err)
	}
	var one *Error
	if !errors.As(err, &one) || one.Line != 2 || one.Column != 7 || one.Path != "name" {
		t.Errorf("first: %+v", one)
	}
	_, err = Load("f", []byte("version: 1\n"+strings.Repeat("zzzzzz: 1\n", 300)), env)
	if lines := strings.Split(err.Error(), "\n"); len(lines) != shownErrors+1 || lines[shownErrors] != "f: and 180 more" {
		t.Errorf("got %d lines, last %q", len(lines), lines[len(lines)-1])
	}
}

// Aliases of aliases must cost what is written, not what they stand for.
func TestAliasesDoNotExplode(t *testing.T) {
	var b strings.Builder
	b.WriteString("version: 1\na0: &a0 [x, x, x, x, x, x, x, x, x, x]\n")
	for i := 1; i < 9; i++ {
		name := func(i int) string { return "a" + string(rune('0'+i)) }
		b.WriteString(name(i) + ": &" + name(i) + " [" + strings.Repeat("*"+name(i-1)+", ", 9) + "*" + name(i-1) + "]\n")
	}
	b.WriteString("require_same: *a8\n")
	if _, err := Load("f", []byte(b.String()), env); err == nil {
		t.Error("accepted")
	}
}
