package config

import (
	"fmt"
	"slices"
	"strings"
)

// field is one key of a mapping that is read into a C.
type field[C any] struct {
	info
	read func(l *loader, c *C, n *node, at string)
}

// info is what the schema and the reference need of a field.
type info struct {
	key      string
	doc      string
	typ      string // for people: "duration", "auto | URL"
	def      string // what counts where it is not written, "" for nothing
	required bool
	example  string // of a required field, for the error that it is missing
	later    bool   // known by name, not carried out in this version
	schema   func() map[string]any
	fields   func() []info // of a section
}

// infos are the keys that may be written.
func infos[C any](fields []field[C]) []info {
	var out []info
	for _, f := range fields {
		if !f.later {
			out = append(out, f.info)
		}
	}
	return out
}

// scalar is a field of one value of a kind.
func scalar[C, T any](key string, k kind[T], to func(*C) *T, doc string) field[C] {
	return field[C]{
		info: info{key: key, doc: doc, typ: k.name, schema: func() map[string]any { return orVariable(k.schema()) }},
		read: func(l *loader, c *C, n *node, at string) {
			if v, ok := value(l, k, n, at); ok {
				*to(c) = v
			}
		},
	}
}

// optional is a field of one value that may be absent.
func optional[C, T any](key string, k kind[T], to func(*C) **T, doc string) field[C] {
	return field[C]{
		info: info{key: key, doc: doc, typ: k.name, schema: func() map[string]any { return orVariable(k.schema()) }},
		read: func(l *loader, c *C, n *node, at string) {
			if v, ok := value(l, k, n, at); ok {
				*to(c) = &v
			}
		},
	}
}

// section is a field that holds a mapping of fields.
func section[C any](key string, fields []field[C], doc string) field[C] {
	return field[C]{
		info: info{key: key, doc: doc, typ: "mapping",
			schema: func() map[string]any { return objectSchema(infos(fields)) },
			fields: func() []info { return infos(fields) }},
		read: func(l *loader, c *C, n *node, at string) { mapping(l, fields, c, n, at) },
	}
}

// notYet is a key of a later version: refused, so that nobody relies on it.
func notYet[C any](key string) field[C] {
	return field[C]{
		info: info{key: key, later: true},
		read: func(l *loader, _ *C, n *node, at string) {
			l.failAt(l.keyOf(at, n), at, "is not available in this version: remove it")
		},
	}
}

// defaults says what counts where the field is not written.
func (f field[C]) defaults(def string) field[C] { f.def = def; return f }

// must makes the field required; example is a value to write.
func (f field[C]) must(example string) field[C] { f.required, f.example = true, example; return f }

// mapping reads the pairs of n by the table.
func mapping[C any](l *loader, fields []field[C], c *C, n *node, at string) {
	if n.shape != isMapping {
		l.fail(n, at, "is "+string(n.shape)+", not a mapping of "+keys(fields))
		return
	}
	for _, p := range l.unique(n, at) {
		path := join(at, p.key)
		i := slices.IndexFunc(fields, func(f field[C]) bool { return f.key == p.key })
		if i < 0 {
			l.failAt(spot{p.line, p.column}, path, "unknown key: "+hint(p.key, infos(fields)))
			continue
		}
		l.written[path] = spot{p.line, p.column}
		fields[i].read(l, c, p.value, path)
	}
	for _, f := range fields {
		if _, ok := l.written[join(at, f.key)]; f.required && !ok {
			l.fail(n, join(at, f.key), fmt.Sprintf("is missing: write %s: %s", f.key, f.example))
		}
	}
}

// unique reports keys written twice and returns the first of each.
func (l *loader) unique(n *node, at string) []pair {
	first := make(map[string]int, len(n.pairs))
	out := make([]pair, 0, len(n.pairs))
	for _, p := range n.pairs {
		if line, twice := first[p.key]; twice {
			l.failAt(spot{p.line, p.column}, join(at, p.key), fmt.Sprintf("is written twice, first in line %d: remove one", line))
			continue
		}
		first[p.key] = p.line
		out = append(out, p)
	}
	return out
}

func keys[C any](fields []field[C]) string {
	var out []string
	for _, i := range infos(fields) {
		out = append(out, i.key)
	}
	return strings.Join(out, ", ")
}

// otherNames are names that people write for keys of ours.
var otherNames = map[string]string{
	"duration": "length", "length_s": "length", "qps": "rate", "rps": "rate", "url": "target", "users": "concurrency",
	"fail-on": "fail_on", "threshold": "tolerance", "limit": "max", "endpoint": "url",
}

func hint(key string, infos []info) string {
	var known []string
	for _, i := range infos {
		known = append(known, i.key)
	}
	if other := otherNames[key]; slices.Contains(known, other) {
		return fmt.Sprintf("did you mean %q?", other)
	}
	return suggest(key, known)
}

func join(at, key string) string {
	if len(key) > 80 {
		key = key[:80] + "…"
	}
	key = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '?'
		}
		return r
	}, key)
	if at == "" {
		return key
	}
	return at + "." + key
}
