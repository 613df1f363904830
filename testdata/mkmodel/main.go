// Command mkmodel writes a tiny model of llama architecture for llama.cpp, with
// a vocabulary and seeded weights made on the spot: no third party's data. It
// says whole words only and, unless -eos is raised, never ends an answer by
// itself, so that lengths are exact. The number of layers is a knob for speed:
// real regressions of a known size in a real engine.
//
//	go run ./testdata/mkmodel -o tiny.gguf -layers 105
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout, os.Stderr); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "mkmodel:", err)
		}
		os.Exit(2)
	}
}

func run(args []string, stdout, stderr io.Writer) error {
	var s shape
	flags := flag.NewFlagSet("mkmodel", flag.ContinueOnError)
	flags.SetOutput(stderr)
	out := flags.String("o", "tiny.gguf", "output file")
	seed := flags.Int64("seed", 1, "seed of the weights")
	flags.IntVar(&s.embedding, "dim", 64, "embedding length, a multiple of 8")
	flags.IntVar(&s.hidden, "hidden", 192, "feed-forward length")
	flags.IntVar(&s.layers, "layers", 4, "layers: the knob for speed")
	flags.IntVar(&s.context, "ctx", 4096, "context length in tokens")
	flags.Float64Var(&s.endBias, "eos", never, "output bias of the end token: 0 is as likely as a word")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if err := s.validate(); err != nil {
		return err
	}
	v := newVocabulary()
	tensors := s.weights(v, *seed)
	if err := writeFile(*out, s.metadata(v), tensors); err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	_, err := fmt.Fprintf(stdout, "%s: %d tokens, %d layers\n", *out, len(v.tokens), s.layers)
	return err
}

func writeFile(name string, facts []fact, tensors []tensor) (err error) {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	w := bufio.NewWriter(f)
	if err := encode(w, facts, tensors); err != nil {
		return err
	}
	return w.Flush()
}
