#!/usr/bin/env bash
# Builds llama-server, a real inference engine, for the tests: llama.cpp's engine
# comes prebuilt with npm's @node-llama-cpp/linux-x64, the server's sources come
# with node-llama-cpp as a git bundle; only those are compiled (under a minute).
# Nothing but the npm registry is needed. Usage: llama-server.sh DIR, which then
# holds bin/llama-server. What is there already is kept.
set -euo pipefail

version=3.21.1
[ $# = 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
dir=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$dir"
if [ -x bin/llama-server ] && [ "$(cat version 2>/dev/null)" = "$version" ]; then
	exit 0
fi
rm -rf src objects generated bin version

echo '{"private":true}' >package.json
npm install --save-exact --omit=optional --ignore-scripts --no-fund --no-audit --silent \
	"node-llama-cpp@$version" "@node-llama-cpp/linux-x64@$version"
libraries=$dir/node_modules/@node-llama-cpp/linux-x64/bins/linux-x64
git -c advice.detachedHead=false clone -q node_modules/node-llama-cpp/llama/gitRelease.bundle src
mkdir -p objects generated bin

# The server wants the assets of its web page; there are none.
cat >generated/ui.h <<'H'
#pragma once
#include <array>
#include <string>
struct llama_ui_asset { std::string name; const unsigned char * data; std::size_t size; std::string etag; std::string type; };
inline const llama_ui_asset * llama_ui_find_asset(const std::string &) { return nullptr; }
inline bool llama_ui_use_gzip() { return false; }
inline const std::array<llama_ui_asset, 0> & llama_ui_get_assets() { static const std::array<llama_ui_asset, 0> e{}; return e; }
H

src=$dir/src
export FLAGS="-O1 -g0 -fPIC -std=c++17 -DNDEBUG -DLLAMA_SHARED -DGGML_SHARED -DGGML_BACKEND_SHARED \
-DCPPHTTPLIB_LISTEN_BACKLOG=512 -DCPPHTTPLIB_REQUEST_URI_MAX_LENGTH=32768 -DCPPHTTPLIB_TCP_NODELAY=1 \
-I$src/include -I$src/ggml/include -I$src/common -I$src/vendor -I$src/tools/server -I$src/tools/mtmd -I$src -I$dir/generated"
# shellcheck disable=SC2016 # expanded by the inner shell
printf '%s\n' "$src"/tools/server/*.cpp "$src"/vendor/cpp-httplib/httplib.cpp |
	xargs -P"$(nproc)" -I{} sh -c 'g++ $FLAGS -c {} -o objects/$(basename {} .cpp).o'

# Images and audio (mtmd) are not built: their entry points return 0.
undefined=$(comm -23 \
	<(nm -u objects/*.o | awk '$2 ~ /mtmd_/ {print $2}' | sort -u) \
	<(nm --defined-only objects/*.o | awk 'NF==3 {print $3}' | sort -u))
{
	echo .text
	for symbol in $undefined; do
		printf '.globl %s\n%s:\n xorl %%eax,%%eax\n ret\n' "$symbol" "$symbol"
	done
	echo '.section .note.GNU-stack,"",@progbits'
} >generated/mtmd_stub.s
gcc -c generated/mtmd_stub.s -o objects/mtmd_stub.o

cp "$libraries"/*.so bin/
g++ -o bin/llama-server objects/*.o -Lbin -l:libllama-common.so -l:libllama.v0.4.0.so -l:libggml.v0.4.0.so \
	-l:libggml-base.so -lpthread -Wl,-rpath,'$ORIGIN' -Wl,-rpath-link,bin
bin/llama-server --version 2>&1 | head -n 1
echo "$version" >version
rm -rf src objects generated node_modules package.json package-lock.json
