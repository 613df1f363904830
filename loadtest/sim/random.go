package sim

// mix folds b into a and scrambles the result (the finaliser of splitmix64).
// It serves as hash of token chains and as a random source that needs no
// state: the n-th draw of a stream is mix(stream, n).
func mix(a, b uint64) uint64 {
	x := a ^ (b*0x9e3779b97f4a7c15 + 0x632be59bd9b4e019)
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9
	x = (x ^ (x >> 27)) * 0x94d049bb133111eb
	return x ^ (x >> 31)
}

// unit maps random bits to [0, 1).
func unit(x uint64) float64 { return float64(x>>11) / (1 << 53) }

// The streams that one seed is split into.
const (
	streamNoise uint64 = iota + 1
	streamStalls
	streamAnswers
	streamDrafts
	streamErrors
	streamStreamErrors
	streamMemory
)
