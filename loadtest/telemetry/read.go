package telemetry

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/org/llm-gate/loadtest"
)

// A raw page is one process's samples before a dialect has been applied.
type raw struct {
	id  string
	idx index
}

// A table is a dialect with its vocabulary at hand.
type table struct {
	dialect
	words map[string]bool
	order []metric
}

// A reader turns raw pages into canonical ones.
type reader struct {
	engines                      []*table
	dcgm, tritonGPU, node, procs *table
}

func newReader() *reader {
	r := &reader{dcgm: newTable(dcgm()), tritonGPU: newTable(tritonGPU()), node: newTable(node()), procs: newTable(process())}
	for _, d := range engines() {
		r.engines = append(r.engines, newTable(d))
	}
	return r
}

func newTable(d dialect) *table {
	t := &table{dialect: d, words: make(map[string]bool), order: d.rows()}
	for _, word := range d.vocabulary() {
		t.words[word] = true
	}
	return t
}

// on reports whether the page holds any of the table's metrics.
func (t *table) on(p raw) bool {
	for name := range p.idx {
		if t.words[name] {
			return true
		}
	}
	return false
}

// recognise tells the one dialect that the pages speak, nil where none of
// them speaks any.
func (r *reader) recognise(pages []raw) (*table, error) {
	for _, layer := range []bool{false, true} {
		var found *table
		var where string
		for _, t := range r.engines {
			if t.layer != layer {
				continue
			}
			for _, p := range pages {
				if !t.on(p) {
					continue
				}
				if found != nil && found != t {
					return nil, fmt.Errorf("pages of different engines: %s at %s, %s at %s: give the pages, or a label matcher, of one deployment",
						found.name, where, t.name, p.id)
				}
				found, where = t, p.id
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// isHardware reports whether the page is that of a hardware exporter.
func (r *reader) isHardware(p raw) bool { return r.dcgm.on(p) || r.tritonGPU.on(p) || r.node.on(p) }

// read turns raw pages into canonical ones.
func (r *reader) read(pages []raw) (dialect string, out []loadtest.Page, err error) {
	engine, err := r.recognise(pages)
	if err != nil {
		return "", nil, err
	}
	gpu := r.tritonGPU
	if slices.ContainsFunc(pages, r.dcgm.on) {
		gpu = r.dcgm
	}
	for _, p := range pages {
		page := loadtest.Page{ID: p.id, Start: p.start(), Values: map[string]float64{}, Nulls: map[string]string{}, Info: map[string]string{}}
		gpu.fill(&page, p)
		r.node.fill(&page, p)
		// The process of an exporter is not the server's.
		if engine != nil && engine.on(p) || engine == nil && !r.isHardware(p) {
			r.procs.fill(&page, p)
		}
		if engine != nil {
			engine.fill(&page, p)
			engine.describe(&page, p)
		}
		describeGPUs(&page, p)
		out = append(out, page)
	}
	if engine != nil {
		dialect = engine.name
	}
	return dialect, out, nil
}

// fill computes the table's metrics from the page.
func (t *table) fill(page *loadtest.Page, p raw) {
	for _, m := range t.order {
		v, null, ok := p.idx.value(&t.dialect, m)
		switch {
		case !ok:
		case null != "":
			page.Nulls[m.name] = null
		default:
			page.Values[m.name] = v
		}
	}
}

// describe takes facts from labels and info metrics.
func (t *table) describe(page *loadtest.Page, p raw) {
	for _, label := range t.models {
		var found []string
		for name, samples := range p.idx {
			if t.words[name] {
				found = append(found, labelValues(samples, label)...)
			}
		}
		if setInfo(page, "model", found) {
			break
		}
	}
	for _, row := range t.infos {
		samples := p.idx.find(&t.dialect, series{name: row.name})
		for _, key := range row.keys {
			setInfo(page, key[1], labelValues(samples, key[0]))
		}
	}
}

// describeGPUs tells the model and number of the GPUs on the page.
func describeGPUs(page *loadtest.Page, p raw) {
	var models, gpus []string
	for name, samples := range p.idx {
		switch {
		case strings.HasPrefix(name, "DCGM_FI_DEV_"):
			models = append(models, labelValues(samples, "modelName")...)
			for _, s := range samples {
				gpus = append(gpus, s.labels["Hostname"]+"/"+s.labels["gpu"])
			}
		case strings.HasPrefix(name, "nv_gpu_"):
			gpus = append(gpus, labelValues(samples, "gpu_uuid")...)
		}
	}
	setInfo(page, "gpu_model", models)
	if n := len(distinct(gpus)); n > 0 {
		page.Info["gpu_count"] = strconv.Itoa(n)
	}
}

// setInfo stores the distinct values, joined, and reports whether there is any.
func setInfo(page *loadtest.Page, key string, values []string) bool {
	values = distinct(values)
	if len(values) == 0 {
		return false
	}
	page.Info[key] = strings.Join(values, ", ")
	return true
}

func labelValues(samples []sample, label string) []string {
	var out []string
	for _, s := range samples {
		if v := s.labels[label]; v != "" {
			out = append(out, v)
		}
	}
	return out
}

func distinct(values []string) []string {
	values = slices.Clone(values)
	slices.Sort(values)
	return slices.Compact(values)
}

// start is when the page's process began, 0 where the page does not tell.
func (p raw) start() float64 {
	for _, s := range p.idx[startTime] {
		if s.value > 0 && s.value < 1e12 {
			return s.value
		}
	}
	return 0
}
