#!/usr/bin/env bash
# Measures Mortise beside a real Kafka 4.4 and writes bench/RESULTS.md, or the file that is
# its argument. It needs Go, Java, Maven for the jars the first time, some 25 GB of disk,
# some 14 GB of memory, and half an hour without other work; strace if system calls are to be
# counted. BENCH_FLAGS go to the program wherever it compares with Kafka (see -help); data
# goes to a new folder in BENCH_DIR, that of the part plugins to /dev/shm. BENCH_SHORT=1 runs
# everything once with little: some four minutes, to see that it works; the figures are worth
# nothing and go to the standard output. BENCH_PARTS names the parts to run, of those below;
# what is left out is empty then, and the file goes to the standard output as well.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
parts=(beside replicated costs many groups plugins)
wanted=${BENCH_PARTS:-${parts[*]}}
dir=$(mktemp -d "${BENCH_DIR:-${TMPDIR:-/tmp}}/mortise-bench.XXXXXX")
memory=
trap 'rm -rf "$dir" ${memory:+"$memory"}' EXIT

out=${1:-$here/RESULTS.md}
if [[ $# == 0 && -n ${BENCH_SHORT:-}${BENCH_PARTS:-} ]]; then
  out=/dev/stdout
fi

# How much each part does.
compared=() costs=() many=10000 groups=(-groups 5000) plugins=(-scale 0.1 -repeat 121)
if [[ -n ${BENCH_SHORT:-} ]]; then
  compared=(-cold -scale 0.03 -repeat 1 -warm 1024 -many 20)
  costs=(-warm 64) many=100 groups=(-groups 50 -groups-for 3s) plugins=(-scale 0.03 -repeat 1)
fi
# shellcheck disable=SC2206 # BENCH_FLAGS are several words
compared+=(${BENCH_FLAGS:-})

cd "$root"
go build -buildvcs=false -o "$dir/mortise" ./cmd/mortise
go build -buildvcs=false -o "$dir/bench" ./bench
go build -buildvcs=false -o "$dir/faulty" ./conformance/pluginload/faulty

# measure runs the program; what a part has left behind is not in the next one's way.
measure() {
  "$dir/bench" -mortise "$dir/mortise" -dir "$dir/data" "$@"
  rm -rf "$dir/data"
}

jars=
kafka() {
  if [[ -z $jars ]]; then
    jars=$(bash conformance/oracle/kafka.sh lib) || return # set -e does not hold here
    jars=${jars%/\*}
  fi
}

part() {
  case $1 in
    beside) kafka && measure -kafka "$jars" "${compared[@]}" ;;
    replicated) kafka && measure -kafka "$jars" -replicated "${compared[@]}" ;;
    costs) measure -costs "${costs[@]}" ;;
    many) measure -cold -only lifecycle -many "$many" ;;
    groups) measure "${groups[@]}" ;;
    plugins) memory=$(mktemp -d /dev/shm/mortise-bench.XXXXXX) && measure -dir "$memory" -plugins "$dir/faulty" "${plugins[@]}" ;;
    *) echo "bench: no part $1" >&2 && return 2 ;;
  esac
}

# Each table goes to a file first: a run that fails leaves the old results alone.
for p in "${parts[@]}"; do
  : >"$dir/$p"
done
for p in $wanted; do
  begin=$SECONDS
  part "$p" >"$dir/$p"
  echo "bench: $p took $((SECONDS - begin)) s" >&2
done

machine() {
  echo "- $(nproc) × $(lscpu | sed -n 's/^Model name: *//p'), $(($(sed -n 's/^MemTotal: *\([0-9]*\).*/\1/p' /proc/meminfo) >> 20)) GiB of memory"
  echo "- Linux $(uname -r | cut -d- -f1), $(go version | cut -d' ' -f3), Java $(java -version 2>&1 | sed -n '1s/.*"\(.*\)".*/\1/p'), Apache Kafka 4.4.0 with a heap of 1 GiB"
  if [[ -n ${BENCH_SHORT:-} ]]; then
    echo "- BENCH_SHORT: the figures are worth nothing"
  fi
}

# words are what NOTES.md says before a part, and after the last one.
words() { sed -n "/^<!-- $1 -->\$/,/^<!-- /p" "$here/NOTES.md" | sed '1d' | sed '${/^<!-- /d}'; }

{
  words head
  machine
  for p in "${parts[@]}"; do
    words "$p"
    cat "$dir/$p"
  done
  words end
} >"$dir/results"
cat "$dir/results" >"$out"
