package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/org/llm-gate/gate"
	"github.com/org/llm-gate/loadtest"
)

// Fields whose value may have several shapes.

// rateOrAuto is a rate; auto is 0.
var rateOrAuto = func() kind[float64] {
	k := rate
	k.name, k.doc = "auto | rate", rate.doc+" Or auto: 70 % of the capacity kept with the baseline."
	k.pattern = `^(auto|` + strings.Trim(ratePattern, "^$") + `)$`
	k.parse = func(text string) (float64, error) {
		if text == "auto" {
			return 0, nil
		}
		v, err := rate.parse(text)
		if err != nil {
			return 0, fmt.Errorf("%w, or auto", err)
		}
		return v, nil
	}
	return k
}()

func rateField() field[Config] {
	f := scalar("rate", rateOrAuto, func(*Config) *float64 { return new(float64) },
		"The rate of the judged rounds: auto is 70 % of the capacity kept with the baseline, 4/s where none is known.").defaults("auto")
	f.read = func(l *loader, c *Config, n *node, at string) {
		v, ok := value(l, rateOrAuto, n, at)
		if c.Load.RateAuto = v == 0; ok && v > 0 {
			c.Load.Arrivals.RatePerS = v
		}
	}
	return f
}

// apiKeyField warns of a key that is written out: the file lies in a repository.
func apiKeyField() field[Config] {
	f := scalar("api_key", secret, func(c *Config) *Secret { return &c.Target.APIKey }, "Sent as a bearer token.")
	read := f.read
	f.read = func(l *loader, c *Config, n *node, at string) {
		read(l, c, n, at)
		if c.Target.APIKey != "" && !n.expanded {
			c.Warnings = append(c.Warnings, fmt.Sprintf("%s:%d:%d: %s: the key is written in the file: write ${NAME} and set it in the environment", l.file, n.line, n.column, at))
		}
	}
	return f
}

var headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func headersField() field[Config] {
	return field[Config]{
		info: info{key: "headers", doc: "Headers of every request; their values count as secrets.", typ: "mapping of texts",
			schema: func() map[string]any {
				return map[string]any{"type": "object", "additionalProperties": secret.schema(),
					"propertyNames": map[string]any{"pattern": headerName.String()}}
			}},
		read: func(l *loader, c *Config, n *node, at string) {
			if n.shape != isMapping {
				l.fail(n, at, "is "+string(n.shape)+`, not a mapping: write {X-Name: "value"}`)
				return
			}
			c.Target.Headers = make(map[string]Secret, len(n.pairs))
			for _, p := range l.unique(n, at) {
				if !headerName.MatchString(p.key) {
					l.failAt(spot{p.line, p.column}, join(at, p.key), "is not a header's name")
					continue
				}
				if v, ok := value(l, secret, p.value, join(at, p.key)); ok {
					c.Target.Headers[p.key] = v
				}
			}
		},
	}
}

var (
	pageSchemes = []string{"http", "https", "dns+http", "dns+https"}
	page        = address(true, pageSchemes...)
	metricsWord = func() kind[string] {
		k := page
		k.name, k.doc = "auto | off | URL", "auto (the target's /metrics), off, or a metric page's address."
		k.pattern = `^(auto|off|` + strings.TrimPrefix(page.pattern, "^") + `)`
		k.parse = func(text string) (string, error) {
			if text == "auto" || text == "off" {
				return text, nil
			}
			v, err := page.parse(text)
			if err != nil {
				return "", fmt.Errorf("%w; or write auto or off", err)
			}
			return v, nil
		}
		return k
	}()
)

type prometheus struct{ url, match string }

func prometheusFields() []field[prometheus] {
	return []field[prometheus]{
		scalar("prometheus", address(false, "http", "https"), func(p *prometheus) *string { return &p.url },
			"A Prometheus server that scrapes the target.").must("http://prometheus:9090"),
		scalar("match", text("label matcher", `A label matcher: {namespace="pr-412"}.`, `^\{.*\}$`, `is not a label matcher: write '{namespace="pr-412"}'`),
			func(p *prometheus) *string { return &p.match }, "Which of its series are the target's."),
	}
}

func metricsField() field[Config] {
	return field[Config]{
		info: info{key: "metrics", typ: "auto | off | URL | list of URLs | {prometheus, match}", def: "auto",
			doc: "Where the server's own metrics are read: its /metrics, a list of pages (dns+http://host:port/metrics for every replica), or a Prometheus server.",
			schema: func() map[string]any {
				return anyOf(orVariable(metricsWord.schema()),
					map[string]any{"type": "array", "minItems": 1, "items": orVariable(page.schema())},
					objectSchema(infos(prometheusFields())))
			},
			fields: func() []info { return infos(prometheusFields()) }},
		read: func(l *loader, c *Config, n *node, at string) {
			switch n.shape {
			case isMapping:
				var p prometheus
				mapping(l, prometheusFields(), &p, n, at)
				c.Target.Metrics = Metrics{PrometheusURL: p.url, PrometheusMatch: p.match}
			case isList:
				c.Target.Metrics = Metrics{Pages: readList(l, page, n, at)}
			default:
				if v, ok := value(l, metricsWord, n, at); ok {
					c.Target.Metrics = Metrics{Auto: v == "auto", Off: v == "off"}
					if v != "auto" && v != "off" {
						c.Target.Metrics.Pages = []string{v}
					}
				}
			}
		},
	}
}

// readList reads a list of values that is not empty and holds nothing twice.
func readList(l *loader, k kind[string], n *node, at string) []string {
	if len(n.items) == 0 {
		l.fail(n, at, "is an empty list: write at least one "+k.name+", or remove it")
	}
	var out []string
	for i, item := range n.items {
		path := fmt.Sprintf("%s[%d]", at, i)
		v, ok := value(l, k, item, path)
		switch {
		case !ok:
		case slices.Contains(out, v):
			l.fail(item, path, "is in the list twice: remove one")
		default:
			out = append(out, v)
		}
	}
	return out
}

// requireSameNames are the subject's fields that may become conditions.
var requireSameNames = []string{"model", "model_revision", "engine", "engine_version", "image", "flags"}

func requireSameField() field[Config] {
	k := text("subject field", "One of "+strings.Join(requireSameNames, ", ")+", or flags.NAME for one of the engine's flags.",
		`^(`+strings.Join(requireSameNames, "|")+`|flags\.[A-Za-z0-9_.-]+)$`, "")
	valid := k.parse
	k.parse = func(text string) (string, error) {
		if v, err := valid(text); err == nil {
			return v, nil
		}
		msg := "is not one of " + strings.Join(requireSameNames, ", ") + ", flags.NAME"
		if near := gate.Nearest(text, requireSameNames); near != "" {
			msg += fmt.Sprintf(": did you mean %q?", near)
		}
		return "", errors.New(msg)
	}
	return field[Config]{
		info: info{key: "require_same", typ: "list of " + strings.Join(requireSameNames, ", ") + ", flags.NAME", def: "[]",
			doc: "What must be equal to compare; a change of it is then not judged.",
			schema: func() map[string]any {
				return map[string]any{"type": "array", "uniqueItems": true, "items": orVariable(k.schema())}
			}},
		read: func(l *loader, c *Config, n *node, at string) {
			if n.shape != isList {
				l.fail(n, at, "is "+string(n.shape)+", not a list: write [model, engine]")
				return
			}
			if len(n.items) > 0 {
				c.Policy.RequireSame = readList(l, k, n, at)
			}
		},
	}
}

// spread is a mean with a standard deviation, in tokens.
type spread struct{ mean, sd int }

const maxTokens = 10_000_000

var spreadText = kind[spread]{
	name: "tokens", doc: "Tokens: 512, or 512 ± 128 for mean and standard deviation.",
	pattern: `^[0-9]*[1-9][0-9]* ?(±|\+-|\+/-) ?[0-9]+$`, minimum: 1, accepts: []shape{isInteger, isString},
	parse: func(text string) (spread, error) {
		m := validSpread.FindStringSubmatch(text)
		if m == nil {
			return spread{}, errors.New("is not a number of tokens: write 512, 512 ± 128 or {mean: 512, sd: 128}")
		}
		mean, err := count(1, maxTokens).parse(m[1])
		if err != nil || m[3] == "" {
			return spread{mean, 0}, err
		}
		sd, err := count(0, maxTokens).parse(m[3])
		return spread{mean, sd}, err
	},
}

var validSpread = regexp.MustCompile(`^([0-9]+)( ?(?:±|\+-|\+/-) ?([0-9]+))?$`)

func spreadFields() []field[spread] {
	return []field[spread]{
		scalar("mean", count(1, maxTokens), func(s *spread) *int { return &s.mean }, "Mean in tokens.").must("512"),
		scalar("sd", count(0, maxTokens), func(s *spread) *int { return &s.sd }, "Standard deviation in tokens.").defaults("0"),
	}
}

func spreadField(key, doc, def string, to func(*Config) (mean, sd *int)) field[Config] {
	return field[Config]{
		info: info{key: key, typ: "tokens | mean ± deviation | {mean, sd}", doc: doc, def: def,
			schema: func() map[string]any {
				return anyOf(orVariable(spreadText.schema()), objectSchema(infos(spreadFields())))
			},
			fields: func() []info { return infos(spreadFields()) }},
		read: func(l *loader, c *Config, n *node, at string) {
			var s spread
			if n.shape == isMapping {
				mapping(l, spreadFields(), &s, n, at)
			} else if v, ok := value(l, spreadText, n, at); ok {
				s = v
			} else {
				return
			}
			mean, sd := to(c)
			*mean, *sd = s.mean, s.sd
		},
	}
}

// prefix is a number of tokens, or a share of the mean input.
type prefix struct {
	tokens int
	share  float64
}

var prefixText = kind[prefix]{
	name: "tokens | percentage", doc: "Tokens (256), or a share of the mean input (60%).",
	pattern: percentPattern, accepts: []shape{isInteger, isString},
	parse: func(text string) (prefix, error) {
		if strings.HasSuffix(text, "%") {
			v, err := percent(100).parse(text)
			return prefix{share: v}, err
		}
		v, err := count(0, maxTokens).parse(text)
		if err != nil {
			return prefix{}, errors.New("is neither tokens nor a share of the input: write 256 or 60%")
		}
		return prefix{tokens: v}, nil
	},
}

func promptsField() field[Config] {
	d := loadtest.DefaultSpec().Prompts
	show := func(mean, sd int) string {
		if sd == 0 {
			return fmt.Sprint(mean)
		}
		return fmt.Sprintf("%d ± %d", mean, sd)
	}
	// A share can be taken only once the input is known.
	var share float64
	shared := field[Config]{
		info: info{key: "shared_prefix", typ: prefixText.name, def: "50%",
			doc:    "How much of a prompt all prompts of its group share.",
			schema: func() map[string]any { return orVariable(prefixText.schema()) }},
		read: func(l *loader, c *Config, n *node, at string) {
			if v, ok := value(l, prefixText, n, at); ok {
				c.Load.Prompts.SharedPrefix, share = v.tokens, v.share
			}
		},
	}
	fields := []field[Config]{
		scalar("file", filePath, func(c *Config) *string { return &c.Load.Prompts.File },
			`A JSONL file with one {"messages": [...]} a line, in place of synthetic text.`),
		spreadField("input", "Length of a synthetic prompt.", show(d.InputMean, d.InputSD),
			func(c *Config) (mean, sd *int) { return &c.Load.Prompts.InputMean, &c.Load.Prompts.InputSD }),
		spreadField("output", "Length of the answer asked for (max_tokens).", show(d.OutputMean, d.OutputSD),
			func(c *Config) (mean, sd *int) { return &c.Load.Prompts.OutputMean, &c.Load.Prompts.OutputSD }),
		shared,
		scalar("groups", count(1, 1000000), func(c *Config) *int { return &c.Load.Prompts.Groups },
			"How many groups of prompts have a prefix of their own.").defaults(fmt.Sprint(d.Groups)),
	}
	f := section("prompts", fields, "What is sent.")
	f.read = func(l *loader, c *Config, n *node, at string) {
		share = float64(d.SharedPrefix) / float64(d.InputMean)
		mapping(l, fields, c, n, at)
		l.prompts(c, n, at, share)
	}
	return f
}

// prompts settles what the fields of load.prompts mean together.
func (l *loader) prompts(c *Config, n *node, at string, share float64) {
	p := &c.Load.Prompts
	if _, ok := l.written[at+".file"]; ok {
		for _, key := range []string{"input", "shared_prefix", "groups"} {
			if s, ok := l.written[at+"."+key]; ok {
				l.failAt(s, at+"."+key, "has no use beside file, whose prompts are sent as they are: remove one")
			}
		}
		c.promptFile = p.File
		*p = loadtest.Prompts{File: l.relative(p.File), OutputMean: p.OutputMean, OutputSD: p.OutputSD}
		return
	}
	if share > 0 {
		p.SharedPrefix = int(share*float64(p.InputMean) + 0.5)
	}
	if _, written := l.written[at+".groups"]; p.SharedPrefix == 0 && !written {
		p.Groups = 0
	}
	if p.SharedPrefix > 0 && p.SharedPrefix >= p.InputMean && p.InputMean > 0 {
		l.failAt(l.keyOf(at+".shared_prefix", n), at+".shared_prefix",
			fmt.Sprintf("%d tokens leave nothing of an input of %d: write less than the input", p.SharedPrefix, p.InputMean))
	}
}

// usualStairs are the steps where only the start is written.
var usualStairs = loadtest.Stairs{Steps: 5, Hold: 60, CoolDown: 30}

func stairsField() field[Config] {
	s := func(c *Config) *loadtest.Stairs {
		if c.Load.Stairs == nil {
			stairs := usualStairs
			c.Load.Stairs = &stairs
		}
		return c.Load.Stairs
	}
	fields := []field[Config]{
		scalar("start", rate, func(c *Config) *float64 { return &s(c).StartPerS }, "Rate of the first stage.").must("100/s"),
		scalar("step", rate, func(c *Config) *float64 { return &s(c).StepPerS }, "By how much each stage is faster.").defaults("start"),
		scalar("steps", count(1, 50), func(c *Config) *int { return &s(c).Steps }, "How many stages.").defaults("5"),
		scalar("hold", seconds(time.Second), func(c *Config) *loadtest.Seconds { return &s(c).Hold }, "Length of a stage.").defaults("1m"),
		scalar("cool_down", seconds(0), func(c *Config) *loadtest.Seconds { return &s(c).CoolDown }, "Pause between stages.").defaults("30s"),
	}
	f := section("stairs", fields, "Stages of rising rate after the judged rounds: shown, judged only by checks that name a stage (stair-1, stair-2, …).")
	f.read = func(l *loader, c *Config, n *node, at string) {
		mapping(l, fields, c, n, at)
		if st := s(c); st.StepPerS == 0 {
			st.StepPerS = st.StartPerS
		}
	}
	return f
}
