# Sourced by run.sh: Kafka's own consumers and its tools for groups, on Mortise and on a real Kafka; see tools.sh.

group_protocols=(classic consumer)

# run_tools ADDR runs the commands on standard input, one a line. Ids of members differ from run to run.
run_tools() { (java_exec Tools "$1") | mask_members; }
mask_members() {
  sed -E -e 's/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/UUID/g' -e 's/(^|[ :=])[-_A-Za-z0-9]{22}([ ,]|$)/\1ID\2/g' \
    -e 's/ +$//'
}

# group_command ADDR ARGS... runs one command. The order of members is that of their ids, which are random.
group_command() { run_tools "$1" <<<"consumer.group.ConsumerGroupCommand ${*:2}" | sort; }

# patient_group has static members of the consumer protocol kept while they are away, so that what is said of them
# does not depend on how soon it is asked.
patient_group() { # ADDR PROTOCOL GROUP MS
  [[ $2 == classic ]] || configs "$1" --alter --entity-type groups --entity-name "$3" --add-config "consumer.session.timeout.ms=$4"
}

group_data() { # ADDR
  topics "$1" --create --topic grp-a --partitions 2
  topics "$1" --create --topic grp-b --partitions 1
  seq 1 20 | sed 's/.*/key-&:value &/' | produce_lines "$1" grp-a
  seq 1 5 | sed 's/.*/key-&:value &/' | produce_lines "$1" grp-b
  offsets "$1" --topic-partitions 'grp-.*' | sort
}
produce_lines() {
  tool ConsoleProducer --bootstrap-server "$1" --topic "$2" --reader-property parse.key=true --reader-property key.separator=:
}

# group_console ADDR PROTOCOL [K=V]: a group reads a topic to its end twice; the second time there is nothing new.
group_console() {
  local extra=()
  [[ -n ${3:-} ]] && extra=(--command-property "$3")
  local g="grp-console-$2${3:+-static}" until
  patient_group "$1" "$2" "$g" 60000
  for until in --max-messages=20 --timeout-ms=5000; do
    tool consumer.ConsoleConsumer --bootstrap-server "$1" --topic grp-a --group "$g" --from-beginning "$until" \
      --command-property "group.protocol=$2" "${extra[@]}" | sort
  done
  group_command "$1" --describe --group "$g"
}

# group_idle ADDR PROTOCOL: every action on a group without members, and on none at all.
group_idle() {
  local g="grp-idle-$2" to
  mkdir -p "$work/idle.${1##*:}" && cd "$work/idle.${1##*:}" || return
  tool consumer.ConsoleConsumer --bootstrap-server "$1" --include 'grp-[ab]' --group "$g" --from-beginning --max-messages 25 \
    --command-property "group.protocol=$2" | sort
  printf 'grp-a,0,3\ngrp-b,0,2\n' >reset.csv
  {
    for to in --list '--list --state' '--list --state empty' '--list --state stable' '--list --type' '--list --type classic' \
      '--list --type consumer' '--list --state nonsense'; do
      echo "consumer.group.ConsumerGroupCommand $to"
    done
    sed "s/^/consumer.group.ConsumerGroupCommand /" <<ACTIONS
--describe --group $g
--describe --group $g --offsets --verbose
--describe --group $g --members
--describe --group $g --members --verbose
--describe --group $g --state
--describe --group $g --state --verbose
--describe --group grp-none
--describe --group grp-none --members
--describe --group grp-none --state
--reset-offsets --group $g --topic grp-a --to-earliest
--reset-offsets --group $g --topic grp-a --to-earliest --dry-run
--describe --group $g
--reset-offsets --group $g --topic grp-a --to-earliest --execute
--describe --group $g
--reset-offsets --group $g --topic grp-a:1 --to-offset 3 --execute
--reset-offsets --group $g --topic grp-a:0 --to-offset 999 --execute
--reset-offsets --group $g --all-topics --to-current --execute
--reset-offsets --group $g --all-topics --shift-by -1 --execute
--reset-offsets --group $g --all-topics --shift-by 1000 --execute
--reset-offsets --group $g --all-topics --shift-by -1000 --execute
--reset-offsets --group $g --all-topics --to-datetime 2001-01-01T00:00:00.000 --execute
--reset-offsets --group $g --all-topics --to-datetime 2101-01-01T00:00:00.000 --execute
--reset-offsets --group $g --all-topics --by-duration PT12H --execute
--reset-offsets --group $g --all-topics --by-duration PT0S --execute
--reset-offsets --group $g --topic grp-a --topic grp-b --to-latest --execute
--reset-offsets --group $g --from-file reset.csv --execute
--reset-offsets --group $g --all-topics --to-current --export
--reset-offsets --group $g --topic grp-unknown --to-earliest --execute
--reset-offsets --group grp-fresh-$2 --topic grp-a --to-offset 2 --execute
--describe --group grp-fresh-$2
--delete-offsets --group $g --topic grp-b
--delete-offsets --group $g --topic grp-b
--delete-offsets --group $g --topic grp-a:1
--delete-offsets --group $g --topic grp-unknown
--delete-offsets --group grp-none --topic grp-a
--describe --group $g
--delete --group $g
--delete --group $g
--delete --group grp-fresh-$2 --group grp-none
--describe --group $g
--validate-regex grp-.*
ACTIONS
    sed 's/^/GroupsCommand /' <<ACTIONS
--list
--list --consumer
--list --group-type classic
--list --group-type consumer
--list --protocol consumer
--list --protocol connect
ACTIONS
  } | run_tools "$1" | only_these_groups
}

# only_these_groups drops what other steps left: groups are listed in no order.
only_these_groups() { grep -E '^>|grp-|^exit|[eE]rror|^(GROUP|Consumer)' | sort_lists; }
sort_lists() {
  awk '/^> / { flush(); print; sorting = / --list/; next }
    sorting { lines[n++] = $0; next }
    { print }
    END { flush() }
    function flush(  i, j, t) {
      for (i = 1; i < n; i++) { t = lines[i]; for (j = i - 1; j >= 0 && lines[j] > t; j--) lines[j + 1] = lines[j]; lines[j + 1] = t }
      for (i = 0; i < n; i++) print lines[i]
      n = 0
    }' | tr -s ' '
}

# consume_until LOG PATTERN waits until a consumer has printed a pattern.
consume_until() {
  local i
  for ((i = 0; i < 900; i++)); do
    grep -qE "$2" "$1" 2>/dev/null && return
    sleep 0.1
  done
  echo "no $2 in $1:"
  cat "$1"
  return 1
}

verifiable_consumer() { # ADDR PROTOCOL GROUP FLAGS..., in the background
  java_exec org.apache.kafka.tools.VerifiableConsumer --bootstrap-server "$1" --topic grp-a --group-protocol "$2" --group-id "$3" "${@:4}"
}
events() { grep -oE '"name":"[a-z_]+"|"(count|offset|minOffset|maxOffset|partition)":[0-9]+|"success":[a-z]+' "$1" | tr '\n' ' ' | sed 's/"name"/\n&/g'; }

# group_active ADDR PROTOCOL: the same actions while a member is there. It reads and commits what there is.
group_active() {
  local g="grp-active-$2" log="$work/active.$2.${1##*:}" pid
  verifiable_consumer "$1" "$2" "$g" --reset-policy earliest >"$log" 2>&1 &
  pid=$!
  consume_until "$log" '"offsets_committed".*"offset":'
  sed 's/^/consumer.group.ConsumerGroupCommand /' <<ACTIONS | run_tools "$1"
--describe --group $g
--describe --group $g --members
--describe --group $g --members --verbose
--describe --group $g --state
--list --state stable --type $2
--reset-offsets --group $g --topic grp-a --to-earliest --execute
--delete-offsets --group $g --topic grp-a
--delete-offsets --group $g --topic grp-b
--delete --group $g
ACTIONS
  kill "$pid"
  wait "$pid"
  events "$log" | sort -u
  group_command "$1" --describe --group "$g" --state
}

# group_static ADDR PROTOCOL: two static members; one stops, which nobody minds, and comes back.
group_static() {
  local g="grp-static-$2" log="$work/static.$2.${1##*:}" first second timeout=()
  [[ $2 == classic ]] && timeout=(--session-timeout 60000)
  patient_group "$1" "$2" "$g" 12000 # It is waited for.
  verifiable_consumer "$1" "$2" "$g" --group-instance-id one "${timeout[@]}" >"$log.one" 2>&1 &
  first=$!
  consume_until "$log.one" '"offsets_committed"'
  verifiable_consumer "$1" "$2" "$g" --group-instance-id two "${timeout[@]}" >"$log.two" 2>&1 &
  second=$!
  consume_until "$log.two" '"partitions_assigned".*"partition":'
  group_command "$1" --describe --group "$g"
  group_command "$1" --describe --group "$g" --members --verbose
  kill "$first"
  wait "$first"
  group_command "$1" --describe --group "$g" --members
  verifiable_consumer "$1" "$2" "$g" --group-instance-id one "${timeout[@]}" >"$log.again" 2>&1 &
  first=$!
  consume_until "$log.again" '"partitions_assigned".*"partition":'
  group_command "$1" --describe --group "$g" --members --verbose
  kill "$first" "$second"
  wait "$first" "$second"
  grep -c partitions_assigned "$log.two"
}

consumer_perf() { # ADDR PROTOCOL
  topics "$1" --create --topic "grp-perf-$2" --partitions 2
  tool ProducerPerformance --bootstrap-server "$1" --topic "grp-perf-$2" --num-records 20000 --record-size 200 --throughput -1 | tail -1 | cut -d, -f1
  tool ConsumerPerformance --bootstrap-server "$1" --topic "grp-perf-$2" --group "grp-perf-$2" --num-records 20000 --command-property "group.protocol=$2" | cut -d, -f3,5
  group_command "$1" --describe --group "grp-perf-$2" | awk '/grp-perf/ { n += $4; lag += $6 } END { print n, lag }'
}

streams_resetter() {
  topics "$1" --create --topic grp-app-counts-changelog
  topics "$1" --create --topic grp-app-words-repartition
  sed 's/^/StreamsResetter --application-id grp-app --force /' <<ACTIONS | run_tools "$1"
--input-topics grp-a,grp-b --dry-run
--input-topics grp-a,grp-b
--input-topics grp-a --to-offset 4
--input-topics grp-a --shift-by 2
--input-topics grp-a --to-latest
--input-topics grp-unknown
--internal-topics grp-app-counts-changelog
ACTIONS
  group_command "$1" --describe --group grp-app
  topics "$1" --list | grep '^grp-app'
}

groups_steps() {
  local p
  compare groups-data group_data
  for p in "${group_protocols[@]}"; do
    compare "groups-console-$p" group_console "$p"
    compare "groups-console-static-$p" group_console "$p" group.instance.id=console
    compare "groups-idle-$p" group_idle "$p"
    compare "groups-active-$p" group_active "$p"
    compare "groups-static-$p" group_static "$p"
    compare "groups-consumer-performance-$p" consumer_perf "$p"
  done
  compare groups-streams-resetter streams_resetter
}
