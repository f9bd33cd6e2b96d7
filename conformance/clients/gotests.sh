# Sourced by run.sh: Go tests that ask a real Kafka, or its classes, or clients. Without them they are skipped, so a plain
# `go test ./...` needs no Java.

# asks_kafka PACKAGE TEST: the test must pass, not skip.
asks_kafka() {
  local out="$work/asks.$2"
  (cd "$here/.." && MORTISE_KAFKA_LIBS="$cache/kafka-4.4.0/lib" MORTISE_GOLDEN_CLIENTS="$cache" go test -count=1 -v -run "^$2\$" "$1") >"$out" || {
    cat "$out"
    return 1
  }
  grep -q -- "--- PASS: $2" "$out"
}

# group_walk takes walks of groups on both brokers, the same ones each time. To find something new:
# WALK_SEED=$RANDOM WALK_BATCHES=0 WALK_FOR=10m conformance/run.sh group-walk
group_walk() {
  (cd "$here/.." && go run ./conformance/groupwalk -kafka "$reference" -mortise "$addr" -for "${WALK_FOR:-60s}" -groups 100 \
    -batches "${WALK_BATCHES:-4}" -seed "${WALK_SEED:-1}")
}

# plugin_swaps upgrades plugins of each kind a hundred times under load; some 45 seconds. plugin_faults breaks those who
# say who may do what, at random; some 90 seconds.
# plugin_broken does each wrong once; some 60 seconds.
plugin_swaps() { (cd "$here/.." && go test -count=1 ./conformance/pluginload -run 'Swaps' -swaps 100 -timeout 9m); }
plugin_faults() { (cd "$here/.." && go test -count=1 ./conformance/pluginload -run 'NoFault' -faults 60 -timeout 9m); }

# plugin_rollout installs, upgrades and repairs plugins on three real nodes under load; some 15 seconds.
plugin_rollout() { (cd "$here/.." && go test -count=1 ./conformance/pluginload -run 'RollOut' -mortise "$work/mortise" -timeout 9m); }

plugin_broken() { (cd "$here/.." && go test -count=1 ./conformance/pluginload -run 'Blast' -broken -timeout 9m); }

gotest_steps() {
  step plugin-swaps plugin_swaps
  step plugin-broken plugin_broken
  [[ $target == kafka ]] || step plugin-rollout plugin_rollout
  step plugin-faults plugin_faults
  beside group-walk group_walk # it waits, most of its time, and looks again at what differs
  step assignors-agree asks_kafka ./core/internal/assignor TestKafkaAgrees
  step acls-agree asks_kafka ./sdk/auth TestKafkaDecidesSo
  step keys-agree asks_kafka ./conformance/golden TestClientsPutKeysThere
  step dump-log-aborted asks_kafka ./core/commitlog TestDumpLogSegmentsFindsNothingWrong
  all_beside
}
