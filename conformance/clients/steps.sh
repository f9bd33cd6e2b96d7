# Sourced by run.sh: running and counting steps.

passed=0
failed=0

# A client that hangs is a failure like any other. A machine that is slow is none: on two quiet cores no step takes a
# third of this.
step_seconds_max=600

# bounded COMMAND... runs a command in a subshell and a process group of its own, and ends the group when it takes too
# long, and what the command left of it. Brokers are in groups of their own.
bounded() {
  local pid watch status=0
  set -m
  (set +m -e; "$@") &
  pid=$!
  (set +m; sleep "$step_seconds_max"; echo "took more than $step_seconds_max s"; kill -TERM -- "-$pid") &
  watch=$!
  set +m
  wait "$pid" || status=$?
  kill -- "-$watch" 2>/dev/null
  wait "$watch" 2>/dev/null
  kill -KILL -- "-$pid" 2>/dev/null
  return "$status"
}

# step NAME COMMAND... runs a step in a subshell and prints its line; what it printed is shown when it failed.
step() {
  local name=$1 start=$EPOCHREALTIME
  shift
  if ! chosen "$name"; then return 0; fi
  bounded "$@" >"$work/log.$name" 2>&1 # not as a condition: there bash ignores set -e
  ended "$name" $? "$(since "$start")"
}

# beside NAME COMMAND... starts a step that runs beside others until all_beside waits for them. Their lines come in
# the order of their starts.
beside() {
  local name=$1
  shift
  if ! chosen "$name"; then return 0; fi
  (
    start=$EPOCHREALTIME
    bounded "$@" >"$work/log.$name" 2>&1
    echo "$? $(since "$start")" >"$work/end.$name"
  ) &
  besides+=("$name:$!")
}
besides=()

all_beside() {
  local entry code seconds
  for entry in "${besides[@]}"; do
    wait "${entry##*:}"
    read -r code seconds <"$work/end.${entry%:*}"
    ended "${entry%:*}" "$code" "$seconds"
  done
  besides=()
}

# ended NAME CODE SECONDS counts a step and prints its line.
ended() {
  if (($2 == 0)); then
    passed=$((passed + 1))
    printf 'ok %s (%s)\n' "$1" "$3"
    return 0
  fi
  failed=$((failed + 1))
  printf 'FAIL %s (%s)\n' "$1" "$3"
  tail -n 40 "$work/log.$1" | sed 's/^/    /'
  return 1
}

# must is a step without which the rest makes no sense. It always runs, in this shell.
must() {
  local name=$1 start=$EPOCHREALTIME code=0
  shift
  "$@" >"$work/log.$name" 2>&1 || code=$?
  ended "$name" "$code" "$(since "$start")" || finish
}

chosen() {
  ((${#only[@]} == 0)) && return 0
  local prefix
  for prefix in "${only[@]}"; do [[ "$1" == "$prefix"* ]] && return 0; done
  return 1
}

since() { awk -v a="$1" -v b="$EPOCHREALTIME" 'BEGIN { printf "%.1f", b - a }'; }

finish() {
  printf '%d passed, %d failed\n' "$passed" "$failed"
  ((failed == 0)) || exit 1
  exit 0
}
