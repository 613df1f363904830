#!/bin/sh
# Obtains the llm-gate binary: from the runner's tool cache, from a release
# archive whose SHA-256 is checked, or by building the checkout that this script
# lies in. The last line on standard output is the binary's path; in a workflow
# it is also the step's output `bin`.
#
#   INSTALL_VERSION     release to obtain, "v1.2.3"; else INSTALL_REF decides
#   INSTALL_REF         ref of the action: v1.2.3, v1.2 and v1 mean a release,
#                       anything else (a commit, a branch, none) means to build
#   INSTALL_REPOSITORY  owner/name that holds the releases
#   INSTALL_FROM        checkout to build (default: where this script lies)
#   INSTALL_TOKEN       token to ask the API which release v1 is; optional, only
#                       for its rate limit
set -eu

REPOSITORY=${INSTALL_REPOSITORY:-org/llm-gate}
SERVER=${GITHUB_SERVER_URL:-https://github.com}
API=${GITHUB_API_URL:-https://api.github.com}
FROM=${INSTALL_FROM:-$(cd "$(dirname "$0")" && pwd)}

say() { printf 'llm-gate: %s\n' "$*" >&2; }

die() {
	say "$*"
	if [ "${GITHUB_ACTIONS:-}" = true ]; then
		printf '::error title=llm-gate::%s\n' "$(printf '%s' "$*" | tr '\r\n' '  ' | sed 's/%/%25/g')"
	fi
	exit 2
}

# done_with PATH: the binary is there.
done_with() {
	if [ -n "${GITHUB_OUTPUT:-}" ]; then
		printf 'bin=%s\n' "$1" >>"$GITHUB_OUTPUT"
	fi
	printf '%s\n' "$1"
	exit 0
}

# fetch URL FILE [CURL OPTION...]
fetch() {
	url=$1 file=$2
	shift 2
	curl -fsSL --retry 3 --connect-timeout 15 --max-time 300 -o "$file" "$@" -- "$url"
}

# ask PATH FILE: asks the API. The token goes through standard input, as a
# command line is seen by every process of the machine.
ask() {
	case ${INSTALL_TOKEN:-} in
	'' | *[!A-Za-z0-9_.-]*) fetch "$API/$1" "$2" ;;
	*) printf 'header = "Authorization: Bearer %s"\n' "$INSTALL_TOKEN" | fetch "$API/$1" "$2" --config - ;;
	esac
}

sha256() {
	if command -v sha256sum >/dev/null 2>&1; then
		sha256sum "$1" | cut -d ' ' -f 1
	else
		shasum -a 256 "$1" | cut -d ' ' -f 1
	fi
}

# newest: of the full releases on standard input, the newest that v1 or v1.2
# stands for.
newest() {
	prefix=$(printf '%s' "$1" | sed 's/\./\\./g')
	grep -E "^$prefix(\.[0-9]+)+\$" | grep -E '^v[0-9]+\.[0-9]+\.[0-9]+$' |
		sort -t . -k 1.2,1n -k 2,2n -k 3,3n | tail -n 1
}

# resolve REF: the full release, "" where it is not known.
resolve() {
	case $1 in
	v*.*.*) printf '%s' "$1" && return ;;
	esac
	found=
	if command -v curl >/dev/null 2>&1 && ask "repos/$REPOSITORY/releases?per_page=100" "$WORK/releases.json"; then
		found=$(tr ',' '\n' <"$WORK/releases.json" |
			sed -n 's/.*"tag_name"[[:space:]]*:[[:space:]]*"\([^"]*\)".*/\1/p' | newest "$1")
	fi
	if [ -z "$found" ] && [ -d "$CACHE" ]; then # offline: what was fetched before
		found=$(find "$CACHE" -mindepth 1 -maxdepth 1 -type d -exec basename {} \; | sed 's/^/v/' | newest "$1")
	fi
	printf '%s' "$found"
}

# download VERSION DIR: 1 where the release cannot be had; a wrong checksum ends
# the script, since building instead would hide it.
download() {
	command -v curl >/dev/null 2>&1 || { say "no curl to download $1 with"; return 1; }
	archive=llm-gate_${OS}_$ARCH.tar.gz
	base=$SERVER/$REPOSITORY/releases/download/$1
	fetch "$base/SHA256SUMS" "$WORK/SHA256SUMS" || { say "cannot fetch $base/SHA256SUMS"; return 1; }
	fetch "$base/$archive" "$WORK/$archive" || { say "cannot fetch $base/$archive"; return 1; }
	want=$(sed -n "s/^\([0-9a-f]\{64\}\)[ *]*$archive\$/\1/p" "$WORK/SHA256SUMS")
	[ -n "$want" ] || die "verify $archive of $1: SHA256SUMS does not list it; nothing was installed"
	got=$(sha256 "$WORK/$archive")
	[ "$want" = "$got" ] || die "verify $archive of $1: SHA-256 is $got, SHA256SUMS says $want; nothing was installed"
	tar -xzf "$WORK/$archive" -C "$WORK" llm-gate || die "unpack $archive of $1: it holds no llm-gate"
	put "$WORK/llm-gate" "$2" || { say "cannot write to $2"; return 1; }
}

# put FILE DIR: installs by rename, so that a second job at the same time sees
# all of it or nothing.
put() {
	mkdir -p "$2" &&
		cp "$1" "$2/.llm-gate.$$" &&
		chmod 755 "$2/.llm-gate.$$" &&
		mv -f "$2/.llm-gate.$$" "$2/llm-gate"
}

# release REF: whether the ref's name is that of a release.
release() {
	case $1 in
	'' | *[!v0-9A-Za-z.-]*) return 1 ;;
	esac
	printf '%s\n' "$1" | grep -Eqx 'v[0-9]+(\.[0-9]+){0,2}|v[0-9]+\.[0-9]+\.[0-9]+-[0-9A-Za-z.-]+'
}

# build VERSION: of the checkout, without the network where its modules are there.
build() (
	cd "$FROM" || exit 1
	flags='-s -w'
	case $1 in # a downloaded action has no history to take its version from
	'' | *[!0-9A-Za-z._-]*) ;;
	*) flags="$flags -X github.com/org/llm-gate/gate/cli.version=$1" ;;
	esac
	set -- -ldflags "$flags" -o "$WORK/llm-gate" .
	# Git refuses the checkout of another user, and go build with it.
	git status --porcelain >/dev/null 2>&1 || set -- -buildvcs=false "$@"
	CGO_ENABLED=0 GOWORK=off go build "$@" >&2
)

case $(uname -s) in
Linux) OS=linux ;;
Darwin) OS=darwin ;;
*) die "$(uname -s) is not supported: use a Linux or macOS runner" ;;
esac
case $(uname -m) in
x86_64 | amd64) ARCH=amd64 CACHE_ARCH=x64 ;;
aarch64 | arm64) ARCH=arm64 CACHE_ARCH=arm64 ;;
*) die "$(uname -m) is not supported: use an amd64 or arm64 runner" ;;
esac
CACHE=${RUNNER_TOOL_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}}/llm-gate
if [ -n "${RUNNER_TEMP:-}" ] && ! { mkdir -p "$CACHE" && [ -w "$CACHE" ]; } 2>/dev/null; then
	CACHE=$RUNNER_TEMP/llm-gate # a tool cache that is read-only
fi
WORK=$(mktemp -d "${RUNNER_TEMP:-${TMPDIR:-/tmp}}/llm-gate-install.XXXXXX")
trap 'rm -rf "$WORK"' EXIT

ref=${INSTALL_VERSION:-${INSTALL_REF:-}}
version=
if release "$ref"; then
	version=$(resolve "$ref")
	if [ -n "$version" ]; then
		dir=$CACHE/${version#v}/$CACHE_ARCH
		if [ -x "$dir/llm-gate" ]; then
			say "$version from the tool cache"
			done_with "$dir/llm-gate"
		fi
		if download "$version" "$dir"; then
			say "$version downloaded, checksum verified"
			done_with "$dir/llm-gate"
		fi
	else
		say "no release is known for $ref"
	fi
elif [ -n "${INSTALL_VERSION:-}" ]; then
	die "version \"$INSTALL_VERSION\" is not a release: want one such as v1.2.3"
fi

if [ -f "$FROM/go.mod" ] && command -v go >/dev/null 2>&1; then
	bin=${RUNNER_TEMP:-$CACHE}/llm-gate-built
	version=${version:-${INSTALL_REF:-}}
	if release "$version"; then version=${version#v}; fi
	build "$version" || die "build llm-gate in $FROM: go build failed, see above"
	put "$WORK/llm-gate" "$bin" || die "install llm-gate: cannot write to $bin"
	say "built from $FROM"
	done_with "$bin/llm-gate"
fi
die "no way to obtain the binary for ref \"$ref\": use a release (uses: $REPOSITORY@v1), name one in the version input, or install Go before (actions/setup-go)"
