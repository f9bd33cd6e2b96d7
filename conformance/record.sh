#!/usr/bin/env bash
# Records the transcripts anew from a fresh real Kafka (`make transcripts`).
#
#   record.sh [-check] [FILE...]     all of testdata without files; -check compares instead of rewriting
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/mortise-transcripts.XXXXXX")
port="${ORACLE_PORT:-19492}"
trap '"$here/oracle/kafka.sh" kill "$dir" 2>/dev/null || true; rm -rf "$dir"' EXIT
# Records have old times: retention must not take them.
"$here/oracle/kafka.sh" start "$dir" "$port" log.retention.check.interval.ms=86400000
cd "$here/.."
go run ./conformance/record -addr "localhost:$port" "$@"
