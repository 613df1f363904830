package config

import (
	"encoding/json"
	"fmt"

	"github.com/org/llm-gate/gate"
)

// SchemaID names the JSON Schema.
const SchemaID = "https://github.com/org/llm-gate/llm-gate.schema.json"

// Schema returns the JSON Schema (draft 2020-12) of the file, for editors. It
// covers the shape of every value; what values mean together (a veto beyond its
// target, a stage that exists) only Load knows.
func Schema() ([]byte, error) {
	root := objectSchema(infos(topFields()))
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["$id"] = SchemaID
	root["title"] = "llm-gate.yml"
	root["description"] = "Configuration of llm-gate, the performance gate for LLM deployments."
	defs := map[string]any{
		"variable": map[string]any{"type": "string", "pattern": `\$\{[A-Za-z_][A-Za-z0-9_]*\}`,
			"description": "A value from the environment: ${NAME}."},
	}
	for _, m := range gate.Catalogue() {
		key := checkDef(m.Unit)
		if defs[key] == nil {
			row := objectSchema(infos(checkFields(m.Unit)))
			row["anyOf"] = []any{required("tolerance"), required("max"), required("min"), required("veto")}
			defs[key] = row
		}
	}
	root["$defs"] = defs
	data, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the configuration's schema: %w", err)
	}
	return append(data, '\n'), nil
}

func required(key string) map[string]any { return map[string]any{"required": []string{key}} }

func checkDef(u gate.Unit) string { return "check_" + string(u) }

func checksSchema() map[string]any {
	properties := map[string]any{}
	for _, m := range gate.Catalogue() {
		row := map[string]any{"$ref": "#/$defs/" + checkDef(m.Unit)}
		one := anyOf(map[string]any{"const": checkOff}, row,
			map[string]any{"type": "array", "minItems": 1, "items": row}, variableRef())
		one["description"] = describe(m)
		properties[m.ID] = one
	}
	return map[string]any{"type": "object", "minProperties": 1, "additionalProperties": false, "properties": properties}
}

func describe(m gate.Metric) string {
	s := m.Title + " (" + unitOf(m.Unit).named
	switch m.Direction {
	case gate.LowerIsBetter:
		s += ", lower is better)"
	case gate.HigherIsBetter:
		s += ", higher is better)"
	default:
		s += ")"
	}
	if m.Formula != "" {
		s += ": " + m.Formula
	}
	return s
}

// objectSchema is a mapping with these keys and no others.
func objectSchema(infos []info) map[string]any {
	properties, must := map[string]any{}, []string{}
	for _, i := range infos {
		s := i.schema()
		s["description"] = i.doc
		if i.def != "" {
			s["description"] = i.doc + " Default: " + i.def + "."
		}
		properties[i.key] = s
		if i.required {
			must = append(must, i.key)
		}
	}
	out := map[string]any{"type": "object", "additionalProperties": false, "properties": properties}
	if len(must) > 0 {
		out["required"] = must
	}
	return out
}

// orVariable allows a variable in place of the value.
func orVariable(s map[string]any) map[string]any { return anyOf(s, variableRef()) }

func variableRef() map[string]any { return map[string]any{"$ref": "#/$defs/variable"} }

func anyOf(choices ...map[string]any) map[string]any {
	list := make([]any, len(choices))
	for i, c := range choices {
		list[i] = c
	}
	return map[string]any{"anyOf": list}
}
