package loadtest

// Outcome is the class of a finished request. Exactly one applies.
type Outcome string

// The outcome classes. Only OK is a success; Client and Dropped say that this
// machine, not the server, failed: they stand on neither side of the error
// rate.
const (
	OK          Outcome = "ok"
	Connect     Outcome = "connect"      // no TCP connection: refused, unreachable, DNS
	TLS         Outcome = "tls"          // handshake or certificate
	Timeout     Outcome = "timeout"      // no complete answer within the request timeout
	HTTP4xx     Outcome = "http_4xx"     // 400–499 except 429
	HTTP429     Outcome = "http_429"     // refused by rate limit
	HTTP5xx     Outcome = "http_5xx"     // 500–599
	StreamError Outcome = "stream_error" // 200, then an error object or `event: error`
	Truncated   Outcome = "truncated"    // neither finish_reason nor [DONE], or the body was cut short
	Malformed   Outcome = "malformed"    // an event that is not the protocol's JSON
	Assertion   Outcome = "assertion"    // the answer failed a scenario's assertion
	Unfinished  Outcome = "unfinished"   // still in flight when the drain ended; counts as a timeout
	Client      Outcome = "client"       // ports, files or memory ran out here
	Dropped     Outcome = "dropped"      // never sent
)

// Outcomes lists every class in the order in which reports show them.
var Outcomes = []Outcome{
	OK, Connect, TLS, Timeout, HTTP4xx, HTTP429, HTTP5xx, StreamError,
	Truncated, Malformed, Assertion, Unfinished, Client, Dropped,
}

// Counted reports whether the outcome belongs to the error rate at all.
// Failures of the load generator's own machine do not.
func (o Outcome) Counted() bool { return o != Client && o != Dropped }

// Failed reports whether the outcome is a failure of the server.
func (o Outcome) Failed() bool { return o != OK && o.Counted() }
