# Sourced by run.sh: compacted topics keep the last value of every key, and nothing else.

# Cleaning comes every second and in small segments for these steps.
cleaner_soon() {
  configs "$addr" --alter --entity-type brokers --entity-default \
    --add-config log.cleaner.backoff.ms=1000,log.segment.bytes=1048576,log.cleaner.min.cleanable.ratio=0.01
}
cleaner_as_before() {
  configs "$addr" --alter --entity-type brokers --entity-default \
    --delete-config log.cleaner.backoff.ms,log.segment.bytes,log.cleaner.min.cleanable.ratio
}

# Kafka's own test: it writes keys over and over, and deletes some, to compacted topics, and holds what it reads after
# the cleaning to what it wrote. It sleeps seconds, whatever its help says.
compaction_tester() {
  tool LogCompactionTester --bootstrap-server "$addr" --messages 300000 --topics 2 --duplicates 5 --percent-deletes 10 --sleep 5 >"$work/tester.out" 2>&1 || {
    cat "$work/tester.out"
    return 1
  }
  cat "$work/tester.out"
  grep -q 'Data verification is completed' "$work/tester.out"
}

# roll TOPIC PARTITIONS ends the active segments, which are never cleaned: segment.ms has passed when the next record
# comes.
roll() {
  sleep 1.5
  local p
  for ((p = 0; p < $2; p++)); do
    printf '~roll:%s' "$p" | kcat -P -q -b "$addr" -t "$1" -p "$p" -K:
  done
}

# cleaned DIR waits until the topic has each file of DIR once, as it is there.
cleaned() {
  local try
  for ((try = 0; try < 40; try++)); do
    go_check kgo compact-tree "$1" -once && return 0
    sleep 1
  done
  return 1
}

# The source tree twice, a tenth of it changed in between: of each path the last version stays, byte for byte, and no
# other; also after a restart.
compacted_tree() {
  local second="$work/tree-changed" n=0 f
  cp -r "$tree" "$second"
  chmod -R u+w "$second"
  while IFS= read -r -d '' f; do
    if ((n++ % 10 == 0)); then printf '// changed\n' >>"$f"; fi
  done < <(find "$second" -type f -print0 | sort -z)
  make_topic "$addr" compact-tree 3 --config cleanup.policy=compact --config segment.ms=1000 --config segment.bytes=4194304
  go_load kgo compact-tree "$tree"
  go_load kgo compact-tree "$second"
  roll compact-tree 3
  cleaned "$second"
  target_end TERM
  target_start
  go_check kgo compact-tree "$second" -once
}

compaction_steps() {
  step compaction-settings cleaner_soon
  step compaction-kafka-tester compaction_tester
  step compaction-tree compacted_tree
  step compaction-settings-back cleaner_as_before
}
