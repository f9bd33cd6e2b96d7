#!/usr/bin/env bash
# Long runs of real clients against Mortise while it is paused and connections are cut. Called by `make soak`; about
# 10 minutes on two cores.
#
#   soak.sh [STEP-PREFIX...]     run all steps, or those whose names start so
#
# SOAK_RECORDS is how many records each run takes through its groups (default 500000), SOAK_ROUNDS how often (default
# 5). What is printed and how it is
# left is as in run.sh.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mortise-soak.XXXXXX")
only=("$@")
records="${SOAK_RECORDS:-500000}"
rounds="${SOAK_ROUNDS:-5}"

# shellcheck source=clients/steps.sh
source "$here/clients/steps.sh"
# shellcheck source=clients/brokers.sh
source "$here/clients/brokers.sh"
# shellcheck source=clients/kgo.sh
source "$here/clients/kgo.sh"

step_seconds_max=1800
trap 'stop_all; rm -rf "$work"' EXIT

# while_troubled TROUBLE COMMAND... runs a command and makes trouble for the broker every other second until it is done,
# once at least.
while_troubled() {
  local trouble=$1 code=0 pid count=0
  shift
  "$@" &
  pid=$!
  while sleep 2 && kill -0 "$pid" 2>/dev/null; do
    "$trouble"
    count=$((count + 1))
  done
  wait "$pid" || code=$?
  echo "$trouble: $count times"
  ((count > 0)) && return $code
}

pause() {
  kill -STOP "$(cat "$target_dir/pid")"
  sleep 1
  kill -CONT "$(cat "$target_dir/pid")"
}

etl=(-test.count "$rounds" -test.timeout 25m -test.run '^TestGroupETL$')

must install-kgo install_kgo
must build build_target
must start-mortise target_start

step kgo-large kgo_test "$records" -test.timeout 25m
KGO_TEST_CHAOS=1 step kgo-connections-cut kgo_test "$records" "${etl[@]}"
step kgo-broker-paused while_troubled pause kgo_test "$records" "${etl[@]}"

finish
