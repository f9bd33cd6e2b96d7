# Sourced by run.sh: our files in Kafka's hands, and Kafka's in ours.

# dump_clean FILE...: Kafka's own reader finds nothing wrong.
dump_clean() {
  local out="$work/dump.out"
  tool DumpLogSegments --deep-iteration --files "$1" >"$out" 2>&1
  ! grep -iE 'isvalid: false|exception|found [0-9]+ invalid|mismatch|not consecutive|Found non' "$out"
  tail -n 1 "$out" | grep -q .
}

dump_partition() { # TOPIC-PARTITION
  local dir f
  dir=$(partition_dir "$target_dir" "$1")
  for f in "$dir"/*.log; do dump_clean "$f"; done
  for f in "$dir"/*.index "$dir"/*.timeindex; do
    [[ -s $f ]] || continue
    tool DumpLogSegments --index-sanity-check --files "$f" >"$work/index.out" 2>&1
    cat "$work/index.out"
    grep -q 'passed sanity check' "$work/index.out"
    tool DumpLogSegments --verify-index-only --files "$f" >"$work/index.out" 2>&1
    ! grep -iE 'mismatch|exception|Found' "$work/index.out"
  done
  for f in "$dir"/*.snapshot; do
    [[ -e $f ]] || continue
    tool DumpLogSegments --files "$f" >"$work/snapshot.out" 2>&1
    ! grep -iE 'exception|corrupt' "$work/snapshot.out"
  done
}

# move_partition FROM TO: docs/moving-a-partition.md. The files of a partition take the place of another's,
# whose topic id stays; the receiving broker reads them through when it starts.
move_partition() {
  find "$2" -mindepth 1 ! -name partition.metadata -delete
  find "$1" -mindepth 1 -maxdepth 1 -type f ! -name partition.metadata -exec cp {} "$2/" \;
  rm -f "$(dirname "$2")/.kafka_cleanshutdown"
}

tree_on() { "$work/goclients" "$2" -client kgo -addr "$1" -topic "$3" -dir "$tree"; }

ours_to_kafka() {
  make_topic "$addr" give-kafka 1
  make_topic "$reference" give-kafka 1
  tree_on "$addr" load give-kafka
  target_end TERM
  reference_stop
  move_partition "$(partition_dir "$target_dir" give-kafka-0)" "$(partition_dir "$reference_dir" give-kafka-0)"
  reference_start
  target_start
  tree_on "$reference" check give-kafka
}

kafka_to_ours() {
  make_topic "$addr" take-kafka 1
  make_topic "$reference" take-kafka 1
  tree_on "$reference" load take-kafka
  reference_stop
  target_end TERM
  move_partition "$(partition_dir "$reference_dir" take-kafka-0)" "$(partition_dir "$target_dir" take-kafka-0)"
  target_start
  reference_start
  tree_on "$addr" check take-kafka
}

dump_all() {
  target_end TERM
  local name code=0
  for name in "$@"; do dump_partition "$name" || code=1; done
  target_start
  return $code
}

disk_steps() {
  step dump-log-segments dump_all tree-py-0 tree-java-1 tree-kgo-2 part-kcat-gz-0 crash-early-0 crash-late-1 tool-console-0
  step ours-to-kafka ours_to_kafka
  step kafka-to-ours kafka_to_ours
}
