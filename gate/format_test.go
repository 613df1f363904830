package gate

import (
	"math"
	"testing"
)

func TestFormatValue(t *testing.T) {
	for _, tt := range []struct {
		unit Unit
		v    float64
		want string
	}{
		{Milliseconds, 182, "182 ms"},
		{Milliseconds, 9.12, "9.1 ms"},
		{Milliseconds, 0.84, "0.84 ms"},
		{Milliseconds, 475.34, "475 ms"},
		{Milliseconds, 12345.6, "12,346 ms"},
		{Milliseconds, 0.0004, "0.0004 ms"},
		{Milliseconds, 0, "0 ms"},
		{Ratio, 0.714, "71.4 %"},
		{Ratio, 0.0003, "0.03 %"},
		{Ratio, 0.00001, "0.001 %"},
		{Ratio, 0, "0 %"},
		{Ratio, 1, "100.0 %"},
		{Count, 6400, "6,400"},
		{Count, 3, "3"},
		{PerSecond, 12.34, "12.3 req/s"},
		{TokensPerS, 1530, "1,530 tok/s"},
		{MiB, 1228.8, "1.2 GiB"},
		{MiB, 512, "512 MiB"},
		{Factor, 1.349, "1.35×"},
		{Milliseconds, math.NaN(), "–"},
	} {
		if got := FormatValue(tt.unit, tt.v); got != tt.want {
			t.Errorf("FormatValue(%s, %v) = %q, want %q", tt.unit, tt.v, got, tt.want)
		}
	}
}

func TestFormatChange(t *testing.T) {
	v := func(x float64) Value { return Value{V: &x} }
	base := func(x float64) *Value { b := v(x); return &b }
	rel := func(x float64) *Change { return &Change{Kind: Relative, Value: &x} }
	pp := func(x float64) *Change { return &Change{Kind: Points, Value: &x} }
	for _, tt := range []struct {
		name         string
		f            Finding
		want, signed string
	}{
		{"slower", Finding{Unit: Milliseconds, Now: v(217), Baseline: base(182), Change: rel(35. / 182)}, "19.2 % slower", "+19.2 %"},
		{"faster", Finding{Unit: Milliseconds, Now: v(182), Baseline: base(217), Change: rel(-35. / 217)}, "16.1 % faster", "-16.1 %"},
		{"lower points", Finding{Unit: Ratio, Now: v(.52), Baseline: base(.714), Change: pp(-.194)}, "19.4 pp lower", "-19.4pp"},
		{"higher points", Finding{Unit: Ratio, Now: v(.0005), Baseline: base(.0003), Change: pp(.0002)}, "0.02 pp higher", "+0.02pp"},
		{"three quarters of a point", Finding{Unit: Ratio, Now: v(.0086), Baseline: base(.0012), Change: pp(.0074)}, "0.74 pp higher", "+0.74pp"},
		{"throughput", Finding{Unit: PerSecond, Now: v(150), Baseline: base(120), Change: rel(.25)}, "25.0 % higher", "+25.0 %"},
		{"unchanged", Finding{Unit: Ratio, Now: v(0), Baseline: base(0), Change: pp(0)}, "unchanged", "unchanged"},
		{"from zero", Finding{Unit: Milliseconds, Now: v(3), Baseline: base(0), Change: &Change{Kind: Relative}}, "from 0", "from 0"},
		{"censored", Finding{Unit: Milliseconds, Now: Value{Censored: "failures"}, Baseline: base(182)}, "above timeout", "above timeout"},
		{"no baseline", Finding{Unit: Milliseconds, Now: v(3)}, "–", "–"},
		{"new", Finding{Unit: Milliseconds, Now: v(3), Baseline: &Value{Null: "no accepted run has it"}}, "new", "new"},
		{"missing", Finding{Unit: Milliseconds, Now: Value{Null: "not shown"}}, "–", "–"},
	} {
		if got := FormatChange(tt.f); got != tt.want {
			t.Errorf("%s: FormatChange = %q, want %q", tt.name, got, tt.want)
		}
		if got := FormatChangeSigned(tt.f); got != tt.signed {
			t.Errorf("%s: FormatChangeSigned = %q, want %q", tt.name, got, tt.signed)
		}
	}
}

func TestFormatInterval(t *testing.T) {
	low, high := .161, .224
	f := Finding{Unit: Milliseconds, Change: &Change{Kind: Relative, Low: &low, High: &high}}
	if got, want := f.FormatInterval(), "+16.1 … +22.4 %"; got != want {
		t.Errorf("FormatInterval = %q, want %q", got, want)
	}
	low, high = -.203, -.186
	f = Finding{Unit: Ratio, Change: &Change{Kind: Points, Low: &low, High: &high}}
	if got, want := f.FormatInterval(), "-20.3 … -18.6 pp"; got != want {
		t.Errorf("FormatInterval = %q, want %q", got, want)
	}
}

func TestFormatAllowed(t *testing.T) {
	p := func(v float64) *float64 { return &v }
	ms := Metric{Unit: Milliseconds, Direction: LowerIsBetter}
	ratio := Metric{Unit: Ratio, Direction: HigherIsBetter}
	for _, tt := range []struct {
		c            Check
		m            Metric
		want, signed string
	}{
		{Check{Tolerance: &Tolerance{Relative, .15}}, ms, "15 %", "+15 %"},
		{Check{Tolerance: &Tolerance{Points, .005}}, ratio, "0.5 pp", "-0.5 pp"},
		{Check{Tolerance: &Tolerance{Absolute, 10}}, ms, "10 ms", "+10 ms"},
		{Check{Max: p(200)}, ms, "≤ 200 ms", "≤ 200 ms"},
		{Check{Max: p(200), Guard: .1}, ms, "≤ 180 ms (200 ms, guard 10 %)", "≤ 180 ms (200 ms, guard 10 %)"},
		{Check{Tolerance: &Tolerance{Relative, .15}, Max: p(1200)}, ms, "15 %, ≤ 1,200 ms", "+15 %, ≤ 1,200 ms"},
		{Check{Min: p(.5)}, ratio, "≥ 50 %", "≥ 50 %"},
		{Check{Veto: p(1200)}, ms, "veto > 1,200 ms", "veto > 1,200 ms"},
	} {
		if got := FormatAllowed(tt.c, tt.m); got != tt.want {
			t.Errorf("FormatAllowed = %q, want %q", got, tt.want)
		}
		if got := FormatAllowedSigned(tt.c, tt.m); got != tt.signed {
			t.Errorf("FormatAllowedSigned = %q, want %q", got, tt.signed)
		}
	}
}
