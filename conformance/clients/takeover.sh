# Sourced by run.sh: __consumer_offsets written by the one in the hands of the other. The groups have the topics of
# groups.sh, which both brokers have.

# takeover_groups ADDR PREFIX makes a group of each kind: empty ones and one with a static member, of both protocols,
# and one that only has offsets.
takeover_groups() {
  local p pid log
  {
    for p in "${group_protocols[@]}"; do
      echo "consumer.ConsoleConsumer --topic grp-a --group $2-$p --from-beginning --max-messages 7 --command-property group.protocol=$p"
    done
    echo "consumer.group.ConsumerGroupCommand --reset-offsets --group $2-simple --topic grp-b --to-offset 3 --execute"
  } | run_tools "$1" >"$work/takeover.first"
  for p in "${group_protocols[@]}"; do
    log="$work/takeover.$2.$p"
    (
      cd "$work"
      # With the classic protocol it is still a member when another broker loads the group.
      timeout=()
      [[ $p == classic ]] && timeout=(--session-timeout 600000)
      verifiable_consumer "$1" "$p" "$2-static-$p" --group-instance-id one "${timeout[@]}" >"$log" 2>&1
    ) &
    pid=$!
    consume_until "$log" '"offsets_committed"'
    kill -KILL "$pid"
  done
}

# takeover_state ADDR PREFIX prints what a broker knows of the groups: the offsets of each, and the members of those
# that wait long for them. A dead member of the consumer protocol is soon forgotten: then the group is empty.
takeover_state() {
  local p
  {
    for p in "${group_protocols[@]}"; do
      printf '%s\n' "--describe --group $2-$p --offsets" "--describe --group $2-$p --state" "--describe --group $2-static-$p --offsets"
    done
    echo "--describe --group $2-simple --offsets"
    echo "--describe --group $2-static-classic --members"
    echo "--list --state"
    echo "--list --type"
  } | sed 's/^/consumer.group.ConsumerGroupCommand /' | run_tools "$1" | grep -E "(^| )$2-|^exit|[eE]rror" | tr -s ' ' | sort
}

# move_offsets moves all partitions of __consumer_offsets.
move_offsets() { # FROM-DIR TO-DIR
  local p
  for ((p = 0; p < 50; p++)); do
    move_partition "$(partition_dir "$1" "__consumer_offsets-$p")" "$(partition_dir "$2" "__consumer_offsets-$p")"
  done
}

both_down() { reference_stop && target_end TERM; }
both_up() { reference_start && target_start; }

takeover() { # FROM-ADDR FROM-DIR TO-ADDR TO-DIR PREFIX
  takeover_groups "$1" "$5"
  # A receiver without groups has no such topic yet: looking for one makes it.
  group_command "$3" --describe --group none >/dev/null
  sleep_until_forgotten "$1" "$5-static-consumer"
  takeover_state "$1" "$5" >"$work/takeover.before"
  grep -c "$5-" "$work/takeover.before"
  both_down
  move_offsets "$2" "$4"
  both_up
  sleep_until_forgotten "$3" "$5-static-consumer"
  takeover_state "$3" "$5" >"$work/takeover.after"
  diff <(mask "$work/takeover.before") <(mask "$work/takeover.after")
  takeover_resumed "$3" "$5"
}

# sleep_until_forgotten waits until a group of the consumer protocol has no members.
sleep_until_forgotten() {
  local i
  for ((i = 0; i < 60; i++)); do
    group_command "$1" --describe --group "$2" --state | grep -q Empty && return
    sleep 1
  done
  echo "$2 still has members"
  return 1
}

# takeover_resumed: a consumer goes on where it was with the other broker.
takeover_resumed() {
  local p
  for p in "${group_protocols[@]}"; do
    echo "consumer.ConsoleConsumer --topic grp-a --group $2-$p --max-messages 13 --timeout-ms 30000 --command-property group.protocol=$p --command-property auto.offset.reset=none"
  done | run_tools "$1" >"$work/takeover.rest"
  # 13 of the 20 records were left to each; which, depends on the partition that was read first.
  cat "$work/takeover.rest"
  (($(grep -c '^value' "$work/takeover.rest") == 13 * ${#group_protocols[@]}))
  for p in "${group_protocols[@]}"; do
    (($(cat "$work/takeover.first" "$work/takeover.rest" | values_of "$2-$p" | sort -u | wc -l) == 20))
  done
}

# values_of GROUP prints what the group was given of what the tools printed.
values_of() { awk -v group="$1" '/^>/ { on = index($0, " --group " group " ") } on && /^value/'; }

# dump_offsets: Kafka's reader knows every record that we wrote about groups.
dump_offsets() {
  target_end TERM
  local files out="$work/dump.offsets" type
  files=$(find "$target_dir" -path '*__consumer_offsets-*' -name '*.log' -size +0 | paste -sd,)
  tool DumpLogSegments --offsets-decoder --files "$files" >"$out" 2>&1
  target_start
  ! grep -iE 'unknown|skipp|could not|exception|error' "$out"
  # A record that it could not read has no such key.
  ! grep '^| offset' "$out" | grep -v 'key: {"type":"[0-9]*","data"'
  # A commit, a classic group, and the five kinds of KIP-848.
  for type in 1 2 3 5 6 7 8; do
    grep -c "key: {\"type\":\"$type\",.* payload: {\"version\"" "$out"
  done
}

takeover_steps() {
  step dump-offsets dump_offsets
  step offsets-to-kafka takeover "$addr" "$target_dir" "$reference" "$reference_dir" give
  step offsets-to-ours takeover "$reference" "$reference_dir" "$addr" "$target_dir" take
}
