# syntax=docker/dockerfile:1
# The same static binary as the releases, alone in an image: no shell, no root.
#   docker run --rm -v "$PWD:/work" -u "$(id -u)" llm-gate run --target http://host:8000
FROM --platform=$BUILDPLATFORM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN --mount=type=cache,target=/go/pkg/mod go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=devel
RUN --mount=type=cache,target=/go/pkg/mod --mount=type=cache,target=/root/.cache/go-build \
    CGO_ENABLED=0 GOOS=$TARGETOS GOARCH=$TARGETARCH \
    go build -trimpath -buildvcs=false -ldflags "-s -w -X github.com/org/llm-gate/gate/cli.version=$VERSION" -o /out/llm-gate . \
    && mkdir -m 1777 /out/tmp && mkdir -m 0777 /out/work

FROM scratch
LABEL org.opencontainers.image.title="llm-gate" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /out/tmp /tmp
COPY --from=build --chown=65532:65532 /out/work /work
COPY --from=build /out/llm-gate /usr/local/bin/llm-gate
ENV PATH=/usr/local/bin HOME=/tmp
WORKDIR /work
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/llm-gate"]
CMD ["--help"]
