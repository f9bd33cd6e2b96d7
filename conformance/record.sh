#!/usr/bin/env bash
# Records the transcripts anew from a fresh real Kafka (`make transcripts`).
#
#   record.sh [-check] [FILE...]     all of testdata without files; -check compares instead of rewriting
#
# Those of testdata/secured are recorded from a Kafka with logins and access rules, those of testdata/telemetry from one
# that takes the metrics of clients, those of testdata/three from one of three brokers, those of testdata/voters from one
# whose three brokers all vote. What Kafka's tools print of such: clients/three.sh.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
check=() plain=() secured=() telemetry=() three=() voters=()
for arg in "$@"; do
  case "$arg" in
  -check) check=(-check) ;;
  */secured/*) secured+=("$arg") ;;
  */telemetry/*) telemetry+=("$arg") ;;
  */three/*) three+=("$arg") ;;
  */voters/*) voters+=("$arg") ;;
  *) plain+=("$arg") ;;
  esac
done
if ((${#plain[@]} + ${#secured[@]} + ${#telemetry[@]} + ${#three[@]} + ${#voters[@]} == 0)); then
  plain=("$here"/testdata/*.txt) secured=("$here"/testdata/secured/*.txt) telemetry=("$here"/testdata/telemetry/*.txt) three=("$here"/testdata/three/*.txt)
  voters=("$here"/testdata/voters/*.txt)
fi
dir=$(mktemp -d "${TMPDIR:-/tmp}/mortise-transcripts.XXXXXX")
port="${ORACLE_PORT:-19492}"
stop() { "$here/oracle/kafka.sh" kill "$dir/$1" 2>/dev/null || true; }
trap 'stop plain; stop secured; stop telemetry; for n in 1 2 3; do stop three/$n; stop voters/$n; done; rm -rf "$dir"' EXIT

# record NAME PORT FILE... plays the files against the Kafka of that name.
record() {
  local name=$1 port=$2; shift 2
  (cd "$here/.." && go run ./conformance/record -addr "localhost:$port" "${check[@]}" "$@")
  stop "$name"
}

# Records have old times: retention must not take them.
if ((${#plain[@]} > 0)); then
  mkdir -p "$dir/plain"
  "$here/oracle/kafka.sh" start "$dir/plain" "$port" log.retention.check.interval.ms=86400000
  record plain "$port" $(for f in "${plain[@]}"; do realpath -- "$f"; done)
fi
if ((${#secured[@]} > 0)); then
  mkdir -p "$dir/secured"
  "$here/oracle/kafka.sh" secured "$dir/secured" "$((port + 10))" log.retention.check.interval.ms=86400000
  record secured "$((port + 10))" $(for f in "${secured[@]}"; do realpath -- "$f"; done)
fi
if ((${#telemetry[@]} > 0)); then
  mkdir -p "$dir/telemetry"
  "$here/oracle/kafka.sh" telemetry "$dir/telemetry" "$((port + 20))" log.retention.check.interval.ms=86400000
  record telemetry "$((port + 20))" $(for f in "${telemetry[@]}"; do realpath -- "$f"; done)
fi
if ((${#three[@]} > 0)); then
  files=$(for f in "${three[@]}"; do realpath -- "$f"; done)
  "$here/oracle/kafka.sh" three "$dir/three" "$((port + 30))" log.retention.check.interval.ms=86400000
  (cd "$here/.." && go run ./conformance/record -three "$dir/three" -addr "localhost:$((port + 30))" "${check[@]}" $files)
fi
if ((${#voters[@]} > 0)); then
  "$here/oracle/kafka.sh" voters "$dir/voters" "$((port + 40))" log.retention.check.interval.ms=86400000
  record voters/1 "$((port + 40))" $(for f in "${voters[@]}"; do realpath -- "$f"; done)
fi
