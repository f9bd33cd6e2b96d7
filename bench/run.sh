#!/usr/bin/env bash
# Measures Mortise beside a real Kafka 4.4 and writes bench/RESULTS.md. It needs
# Go, Java, Maven for the jars the first time, and some 20 GB of disk; strace if
# system calls are to be counted. BENCH_FLAGS go to the program (see -help); data
# goes to a new folder in BENCH_DIR.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
out=${1:-$here/RESULTS.md}
dir=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mortise-bench.XXXXXX")
trap 'rm -rf "$dir"' EXIT

cd "$root"
go build -buildvcs=false -o "$dir/mortise" ./cmd/mortise
go build -buildvcs=false -o "$dir/bench" ./bench
jars=$(bash conformance/oracle/kafka.sh lib)
jars=${jars%/\*}

# Each table goes to a file first: a run that fails leaves the old results alone.
# shellcheck disable=SC2086 # BENCH_FLAGS are several words
"$dir/bench" -mortise "$dir/mortise" -kafka "$jars" -dir "$dir/data" ${BENCH_FLAGS:-} >"$dir/beside"
"$dir/bench" -mortise "$dir/mortise" -kafka "$jars" -dir "$dir/data" -replicated ${BENCH_FLAGS:-} >"$dir/replicated"
"$dir/bench" -mortise "$dir/mortise" -dir "$dir/data" -costs >"$dir/costs"
"$dir/bench" -mortise "$dir/mortise" -dir "$dir/data" -cold -only lifecycle -many 10000 >"$dir/many"
"$dir/bench" -mortise "$dir/mortise" -dir "$dir/data" -groups 5000 >"$dir/groups"
go build -buildvcs=false -o "$dir/faulty" ./conformance/pluginload/faulty
"$dir/bench" -mortise "$dir/mortise" -dir "$dir/data" -plugins "$dir/faulty" -scale 0.25 -repeat 9 >"$dir/plugins"

machine() {
  echo "- $(nproc) × $(lscpu | sed -n 's/^Model name: *//p'), $(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) >> 20)) GiB of memory"
  echo "- Linux $(uname -r | cut -d- -f1), $(go version | cut -d' ' -f3), Java $(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p'), Apache Kafka 4.4.0 with a heap of 1 GiB"
}

{
  sed -n '/^<!-- head -->$/,/^<!-- beside -->$/p' "$here/NOTES.md" | sed '1d;$d'
  machine
  sed -n '/^<!-- beside -->$/,/^<!-- replicated -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/beside"
  sed -n '/^<!-- replicated -->$/,/^<!-- costs -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/replicated"
  sed -n '/^<!-- costs -->$/,/^<!-- many -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/costs"
  sed -n '/^<!-- many -->$/,/^<!-- groups -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/many"
  sed -n '/^<!-- groups -->$/,/^<!-- plugins -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/groups"
  sed -n '/^<!-- plugins -->$/,/^<!-- end -->$/p' "$here/NOTES.md" | sed '1d;$d'
  cat "$dir/plugins"
  sed -n '/^<!-- end -->$/,$p' "$here/NOTES.md" | sed '1d'
} >"$dir/results"
mv "$dir/results" "$out"
