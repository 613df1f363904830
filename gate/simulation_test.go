package gate

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/org/llm-gate/gate/stats"
)

// The false alarms and misses of the gate at its design point: tolerance 15 %,
// a spread between runs of 3 %, 5 rounds of 1,600 requests, 5 accepted runs.
// The rounds' P95 are drawn directly, with the sampling error that 1,600
// lognormal requests give it, so that many gates can be tried.
func TestColoursAtTheDesignPoint(t *testing.T) {
	const (
		runSpread = .03
		// standard error of ln P95 of 1,600 requests whose log has a standard
		// deviation of 0.3: σ·√(p(1−p)/n) / φ(z₉₅)
		roundSpread = .3 * .00545 / .10314
		trials      = 4000
	)
	ttft, _ := Lookup("ttft_p95")
	tolerance := Tolerance{Relative, .15}
	draw := func(rng *rand.Rand, shift float64) series {
		shift += rng.NormFloat64() * runSpread
		s := series{planned: 5}
		for range 5 {
			s.rounds = append(s.rounds, 182*math.Exp(shift+rng.NormFloat64()*roundSpread))
		}
		v := math.Exp(stats.Mean(axis{log: true}.all(s.rounds)))
		s.pooled = Value{V: &v, N: 8000}
		return s
	}
	for _, tt := range []struct {
		name           string
		change         float64
		minRed, maxRed float64
		maxYellow      float64
		maxSurelyPast  float64
	}{
		{"no change", 0, 0, .005, .05, .001},
		{"10 % slower", .10, 0, .14, 1, .01},
		{"15 % slower, on the limit", .15, .4, .6, 1, .07},
		{"20 % slower", .20, .85, 1, .15, 1},
		{"30 % slower", .30, .995, 1, .005, 1},
	} {
		rng := rand.New(rand.NewPCG(11, 12))
		var red, yellow, surely float64
		for range trials {
			var history []series
			for range 5 {
				history = append(history, draw(rng, 0))
			}
			p := tolerancePart(tolerance, ttft, compareSeries(ttft, draw(rng, math.Log1p(tt.change)), history))
			switch p.status {
			case Fail:
				red++
				if p.certain {
					surely++
				}
			case Undecided:
				yellow++
			}
		}
		red, yellow, surely = red/trials, yellow/trials, surely/trials
		t.Logf("%s: red %.4f (surely %.4f), yellow %.4f", tt.name, red, surely, yellow)
		if red < tt.minRed || red > tt.maxRed || yellow > tt.maxYellow || surely > tt.maxSurelyPast {
			t.Errorf("%s: red %.4f, yellow %.4f, surely past %.4f: want red %v … %v, yellow ≤ %v, surely ≤ %v",
				tt.name, red, yellow, surely, tt.minRed, tt.maxRed, tt.maxYellow, tt.maxSurelyPast)
		}
	}
}
