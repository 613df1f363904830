package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// shape is what a value is in the file.
type shape string

const (
	isMapping shape = "a mapping"
	isList    shape = "a list"
	isString  shape = "text"
	isInteger shape = "a whole number"
	isNumber  shape = "a number"
	isBool    shape = "true or false"
	isEmpty   shape = "empty"
)

// node is one value of the file with its place.
type node struct {
	shape        shape
	line, column int
	text         string // of a scalar, as it counts
	raw          string // of a scalar, as written; the same but where a variable was expanded
	expanded     bool   // text came from the environment and must not be shown
	looked       bool   // variables were looked for
	unresolved   bool   // holds a variable that is left unexpanded on purpose
	pairs        []pair // of a mapping
	items        []*node
}

// pair is one key of a mapping.
type pair struct {
	key          string
	line, column int
	value        *node
}

// shown is how errors quote the value: what is written in the file, never what
// the environment gave.
func (n *node) shown() string {
	const limit = 60
	text := []rune(n.raw)
	if len(text) > limit {
		text = append(text[:limit], '…')
	}
	return fmt.Sprintf("%q", string(text))
}

// Bounds on what is given to the YAML parser, whose time grows with the square
// of tokens and of depth: 64 KiB of open brackets or dashes take it half a
// minute. A real file has a few kilobytes.
const (
	maxBytes    = 32 << 10
	maxLines    = 2000
	maxBrackets = 1000
	maxDepth    = 20
	maxAliases  = 100
)

// parse reads the one document of data.
func parse(data []byte) (root *node, err *Error) {
	defer func() {
		if r := recover(); r != nil {
			root, err = nil, &Error{Msg: fmt.Sprintf("is not YAML that can be read: %v", r)}
		}
	}()
	file, failed := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if failed != nil {
		return nil, syntaxError(failed, data)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil {
			continue
		}
		if body != nil {
			line, column := place(doc.Body)
			return nil, &Error{Line: line, Column: column, Msg: "starts a second document: write one document, without --- in between"}
		}
		body = doc.Body
	}
	if body == nil {
		return nil, nil
	}
	r := &reader{anchors: map[string]*node{}}
	root = r.node(body, 0)
	return root, r.err
}

// syntaxError gives a parser's error its place and leaves out its copy of the
// source, which may hold a key that somebody typed in.
func syntaxError(failed error, data []byte) *Error {
	e := &Error{Msg: "is not YAML: " + strings.SplitN(failed.Error(), "\n", 2)[0]}
	var y yaml.Error
	if errors.As(failed, &y) {
		e.Msg = "is not YAML: " + strings.SplitN(y.GetMessage(), "\n", 2)[0]
		if t := y.GetToken(); t != nil && t.Position != nil {
			e.Line, e.Column = max(t.Position.Line, 1), max(t.Position.Column, 1)
		}
	}
	lines := strings.Split(string(data), "\n")
	if e.Line >= 1 && e.Line <= len(lines) && strings.Contains(lines[e.Line-1], "${") {
		e.Msg += `; inside { } and [ ] write variables in quotes: "${NAME}"`
	}
	return e
}

// reader turns the parser's tree into nodes and resolves aliases: an alias
// shares the anchor's node, so that it costs nothing to repeat.
type reader struct {
	anchors map[string]*node
	aliases int
	err     *Error // the first
}

func (r *reader) fail(n ast.Node, msg string) *node {
	line, column := place(n)
	if r.err == nil {
		r.err = &Error{Line: line, Column: column, Msg: msg}
	}
	return &node{shape: isEmpty, line: line, column: column}
}

func (r *reader) node(n ast.Node, depth int) *node {
	if r.err != nil || n == nil {
		return &node{shape: isEmpty, line: 1, column: 1}
	}
	if depth > maxDepth {
		return r.fail(n, fmt.Sprintf("is nested more than %d levels deep", maxDepth))
	}
	line, column := place(n)
	scalar := func(s shape, text string) *node {
		return &node{shape: s, line: line, column: column, text: text, raw: text}
	}
	switch n := n.(type) {
	case *ast.MappingNode:
		out := &node{shape: isMapping, line: line, column: column}
		for _, v := range n.Values {
			out.pairs = append(out.pairs, r.pair(v, depth))
		}
		return out
	case *ast.MappingValueNode:
		return &node{shape: isMapping, line: line, column: column, pairs: []pair{r.pair(n, depth)}}
	case *ast.SequenceNode:
		out := &node{shape: isList, line: line, column: column}
		for _, v := range n.Values {
			out.items = append(out.items, r.node(v, depth+1))
		}
		return out
	case *ast.AnchorNode:
		value := r.node(n.Value, depth+1)
		r.anchors[n.Name.GetToken().Value] = value // only now: an anchor cannot hold itself
		return value
	case *ast.AliasNode:
		name := n.Value.GetToken().Value
		if r.aliases++; r.aliases > maxAliases {
			return r.fail(n, fmt.Sprintf("is more than %d aliases in one file", maxAliases))
		}
		shared, ok := r.anchors[name]
		if !ok {
			return r.fail(n, fmt.Sprintf("alias *%s has no anchor &%s before it", name, name))
		}
		return shared
	case *ast.StringNode:
		return scalar(isString, n.Value)
	case *ast.LiteralNode:
		return scalar(isString, n.Value.Value)
	case *ast.IntegerNode:
		return scalar(isInteger, n.GetToken().Value)
	case *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return scalar(isNumber, n.GetToken().Value)
	case *ast.BoolNode:
		return scalar(isBool, n.GetToken().Value)
	case *ast.NullNode:
		return scalar(isEmpty, "")
	case *ast.TagNode:
		return r.fail(n, "tags like !!str are not supported: remove it")
	}
	return r.fail(n, "is not a value that is supported here")
}

func (r *reader) pair(v *ast.MappingValueNode, depth int) pair {
	line, column := place(v.Key)
	switch v.Key.(type) {
	case *ast.MergeKeyNode:
		r.fail(v.Key, "merge keys (<<) are not supported: write the keys out")
	case *ast.MappingKeyNode:
		r.fail(v.Key, "a key with ? is not supported: write key: value")
	}
	return pair{key: v.Key.GetToken().Value, line: line, column: column, value: r.node(v.Value, depth+1)}
}

// place is where n starts: for a block mapping its first key, not its colon.
func place(n ast.Node) (line, column int) {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return place(m.Values[0])
		}
	case *ast.MappingValueNode:
		return place(m.Key)
	}
	var t *token.Token
	if t = n.GetToken(); t == nil || t.Position == nil {
		return 1, 1
	}
	return max(t.Position.Line, 1), max(t.Position.Column, 1)
}
