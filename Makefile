# make demo   build, then show the gate at work on simulated engines
# make test   get the real programs that tests use, then run every test
.PHONY: build demo test tools lint fuzz

build:
	CGO_ENABLED=0 go build -trimpath -ldflags '-s -w' -o llm-gate .

demo: build
	./llm-gate demo

tools:
	.ci/tools

test: tools
	.ci/test

lint:
	.ci/lint

fuzz:
	.ci/fuzz 5s
