package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// topFields are the keys of the file.
func topFields() []field[Config] {
	return []field[Config]{
		versionField(),
		scalar("name", name, func(c *Config) *string { return &c.Name },
			"The service: baselines are kept by this name.").defaults("default"),
		section("target", targetFields(), "The deployment under test."),
		section("load", loadFields(), "What is sent, how fast and for how long."),
		checksField(),
		requireSameField(),
		section("baseline", baselineFields(), "The accepted runs that a run is compared with."),
		scalar("fail_on", oneOf(gate.FailOnRed, gate.FailOnYellow, gate.FailOnNever), func(c *Config) *gate.FailOn { return &c.Policy.FailOn },
			"Which verdict fails the job; never only observes: the title then says what would be.").defaults("red"),
		scalar("not_judged", oneOf(gate.BlockUnknown, gate.WarnUnknown), func(c *Config) *gate.OnUnknown { return &c.Policy.NotJudged },
			"What a run that cannot be judged does: block (exit 3), or warn (yellow, exit 0).").defaults("block"),
		scalar("comment", oneOf(CommentAlways, CommentProblems, CommentNever), func(c *Config) *Comment { return &c.Comment },
			"When the pull request gets a comment.").defaults("always"),
		section("design", designFields(), "What the deployment was designed for; the degradation score is then against this."),
		section("degradation", degradationFields(), "Constants of the degradation score, an early warning beside the verdict."),
		notYet[Config]("stable"), notYet[Config]("profile"), notYet[Config]("override"),
		notYet[Config]("on_red"), notYet[Config]("on_yellow"), notYet[Config]("on_green"), notYet[Config]("on_not_judged"),
	}
}

var version = kind[int]{
	name: "1", doc: "1", accepts: []shape{isInteger},
	parse: func(text string) (int, error) {
		if text != strconv.Itoa(SupportedVersion) {
			return 0, fmt.Errorf("is not a version that this build reads: write %d", SupportedVersion)
		}
		return SupportedVersion, nil
	},
	show: strconv.Itoa,
}

func versionField() field[Config] {
	f := scalar("version", version, func(c *Config) *int { return &c.Version }, "The version of this file's format.").must("1")
	f.schema = func() map[string]any { return map[string]any{"const": SupportedVersion} }
	return f
}

func targetFields() []field[Config] {
	return []field[Config]{
		scalar("url", address(false, "http", "https"), func(c *Config) *string { return &c.Target.URL },
			"The server's address; the action's `target` input replaces it."),
		scalar("model", words, func(c *Config) *string { return &c.Target.Model },
			"The model to ask for; auto takes the only one that the server lists.").defaults("auto"),
		scalar("api", oneOf("chat", "completions"), func(c *Config) *string { return &c.Target.API },
			"Which API is loaded: /v1/chat/completions or /v1/completions.").defaults("chat"),
		apiKeyField(),
		headersField(),
		scalar("ca_file", filePath, func(c *Config) *string { return &c.Target.CAFile },
			"PEM file of certificates to trust in place of the system's."),
		scalar("ready_timeout", duration(time.Second), func(c *Config) *time.Duration { return &c.Target.ReadyTimeout },
			"How long to wait for health and one real completion.").defaults("20m"),
		metricsField(),
		section("gpu", []field[Config]{
			scalar("model", words, func(c *Config) *string { return &c.Target.GPU.Model }, "For example NVIDIA H100 80GB."),
			scalar("count", count(1, 100000), func(c *Config) *int { return &c.Target.GPU.Count }, "How many serve the target."),
		}, "The target's GPUs where they cannot be read from its metrics. Runs on other GPUs are not compared."),
	}
}

func loadFields() []field[Config] {
	d := loadtest.DefaultSpec()
	return []field[Config]{
		scalar("budget", seconds(time.Second), func(c *Config) *loadtest.Seconds { return &c.Load.Budget },
			"Upper bound of the whole run.").defaults(showDuration(d.Budget.Duration())),
		rateField(),
		scalar("concurrency", count(1, 100000), func(c *Config) *int { return &c.Load.Arrivals.Concurrency },
			"Streams of a closed loop, in place of a rate: the next request of a stream starts when the last one is answered."),
		scalar("arrivals", oneOf(loadtest.Poisson, loadtest.Constant), func(c *Config) *loadtest.Process { return &c.Load.Arrivals.Process },
			"How requests arrive at the rate.").defaults(string(d.Arrivals.Process)),
		scalar("warmup", count(0, 1000000), func(c *Config) *int { return &c.Load.Warmup },
			"Requests sent unmeasured before the first round.").defaults(strconv.Itoa(d.Warmup)),
		scalar("rounds", count(2, 10), func(c *Config) *int { return &c.Load.Rounds },
			"How often the judged stage is repeated, with other prompts each time.").defaults(strconv.Itoa(d.Rounds)),
		scalar("requests", count(1, 10000000), func(c *Config) *int { return &c.Load.Requests },
			"Requests of one round; alone it replaces the length."),
		scalar("length", seconds(time.Second), func(c *Config) *loadtest.Seconds { return &c.Load.Length },
			"Length of one round.").defaults(showDuration(d.Length.Duration())),
		scalar("timeout", seconds(time.Millisecond), func(c *Config) *loadtest.Seconds { return &c.Load.RequestTimeout },
			"How long one request may take from its intended start.").defaults(showDuration(d.RequestTimeout.Duration())),
		scalar("late_limit", seconds(time.Millisecond), func(c *Config) *loadtest.Seconds { return &c.Load.LateLimit },
			"How late (P99) requests may leave before the run counts as invalid.").defaults("max(10ms, 5 % of the median TTFT)"),
		optional("seed", seed, func(c *Config) **uint64 { return &c.Load.Seed },
			"Fixes arrivals, prompts and draws.").defaults("1"),
		promptsField(),
		section("slo", []field[Config]{
			scalar("ttft", seconds(time.Microsecond), func(c *Config) *loadtest.Seconds { return &c.Load.SLO.TTFT }, "Time to first token."),
			scalar("tpot", seconds(time.Microsecond), func(c *Config) *loadtest.Seconds { return &c.Load.SLO.TPOT }, "Time per output token after the first."),
			scalar("e2e", seconds(time.Microsecond), func(c *Config) *loadtest.Seconds { return &c.Load.SLO.E2E }, "The whole answer."),
		}, "What one request must meet to count as goodput."),
		stairsField(),
	}
}

var seed = kind[uint64]{
	name: "whole number", doc: "A whole number of 0 or more.", accepts: []shape{isInteger},
	parse: func(text string) (uint64, error) {
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			return 0, errors.New("is not a whole number from 0 to 18446744073709551615")
		}
		return v, nil
	},
	show: func(v uint64) string { return strconv.FormatUint(v, 10) },
}

func baselineFields() []field[Config] {
	return []field[Config]{
		scalar("store", store, func(c *Config) *string { return &c.Baseline.Store },
			"Where accepted runs are kept: auto is a branch on GitHub and a directory elsewhere.").defaults(storeAuto),
		scalar("keep", count(1, 50), func(c *Config) *int { return &c.Policy.Keep },
			"How many accepted runs, newest first, are compared with.").defaults(strconv.Itoa(gate.DefaultKeep)),
		scalar("max_age", duration(time.Minute), func(c *Config) *time.Duration { return &c.Policy.MaxAge },
			"Older accepted runs are not compared with.").defaults("no bound"),
		notYet[Config]("anchor"),
	}
}

var store = func() kind[string] {
	k := text("auto | branch | branch:NAME | ./directory", "auto, branch, branch:NAME, or a directory with a slash in it (./baselines).",
		`^(auto|branch|branch:[A-Za-z0-9][A-Za-z0-9._/-]*|.*/.*)$`, "")
	valid := k.parse
	k.parse = func(text string) (string, error) {
		if v, err := valid(text); err == nil {
			return v, nil
		}
		if near := gate.Nearest(text, []string{storeAuto, storeBranch}); near != "" {
			return "", fmt.Errorf("is not a store: did you mean %q? A directory is written with a slash: ./baselines", near)
		}
		return "", errors.New("is not a store: write auto, branch, branch:NAME or a directory with a slash: ./baselines")
	}
	return k
}()

func designFields() []field[Config] {
	return []field[Config]{
		scalar("throughput", rate, func(c *Config) *float64 { return &c.Policy.Degradation.DesignThroughputPerS },
			"Requests per second that the deployment was designed for."),
	}
}

func degradationFields() []field[Config] {
	d := func(c *Config) *gate.Degradation { return &c.Policy.Degradation }
	std := gate.DefaultDegradation
	ms, floor := milliseconds(), percent(100)
	return []field[Config]{
		scalar("throughput_floor", floor, func(c *Config) *float64 { return &d(c).ThroughputFloor },
			"Share of the design throughput below which points are added.").defaults(floor.show(std.ThroughputFloor)),
		scalar("throughput_weight", plain, func(c *Config) *float64 { return &d(c).ThroughputWeight },
			"Points for each 1.0 of that share missing.").defaults(trim(std.ThroughputWeight)),
		scalar("p99_limit", ms, func(c *Config) *float64 { return &d(c).P99LimitMS },
			"E2E P99 above which points are added.").defaults(ms.show(std.P99LimitMS)),
		scalar("p99_divisor", ms, func(c *Config) *float64 { return &d(c).P99DivisorMS },
			"Time past the limit that makes one point.").defaults(ms.show(std.P99DivisorMS)),
		scalar("error_floor", percentPoints, func(c *Config) *float64 { return &d(c).ErrorFloorPercent },
			"Error rate above which points are added.").defaults(percentPoints.show(std.ErrorFloorPercent)),
		scalar("error_weight", plain, func(c *Config) *float64 { return &d(c).ErrorWeight },
			"Points for each percent of errors.").defaults(trim(std.ErrorWeight)),
		scalar("warn_above", plain, func(c *Config) *float64 { return &d(c).WarnAbove },
			"Score above which the report warns.").defaults(trim(std.WarnAbove)),
		scalar("relative_p99", ms, func(c *Config) *float64 { return &d(c).RelativeP99MS },
			"What the baseline's P99 is rescaled to where no design is set.").defaults(ms.show(std.RelativeP99MS)),
	}
}

// milliseconds is a duration for fields that hold milliseconds.
func milliseconds() kind[float64] {
	return as(duration(time.Microsecond),
		func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) },
		func(ms float64) time.Duration { return time.Duration(math.Round(ms * float64(time.Millisecond))) })
}

// percentPoints is a percentage kept in percent.
var percentPoints = as(percent(100), func(v float64) float64 { return v * 100 }, func(v float64) float64 { return v / 100 })
