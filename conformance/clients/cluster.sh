# Sourced by run.sh: Kafka's tools for clusters, kgo's tests, and Kafka's producer through a rolling restart, on three
# nodes of Mortise as `mortise dev cluster` starts them. What the tools print: three.sh. Faults: conformance/clusterload.

three_dir="$work/three"
three_port=$(free_ports 6 298 398 552) # three of a real Kafka take six; those of `mortise dev cluster` are at three distances more
three="localhost:$three_port"
three_step=1
[[ $target == kafka ]] && three_step=2 # its controllers are between its brokers
three_all="localhost:$three_port,localhost:$((three_port + three_step)),localhost:$((three_port + 2 * three_step))"
# Leaders stay where they are put, and a throttled replica takes more than one fetch.
three_options=(auto.leader.rebalance.enable=false replica.fetch.max.bytes=65536)

# three_cli COMMAND... runs a command of Mortise on the cluster.
three_cli() { env MORTISE_BROKERS="$three_all" MORTISE_ADMIN="localhost:$((three_port + 552))" "$work/mortise" "$@"; }

# three_start starts the nodes and waits until they decide together.
three_start() {
  mkdir -p "$three_dir"
  if [[ $target == kafka ]]; then
    "$here/oracle/kafka.sh" voters "$three_dir" "$three_port" "${three_options[@]}"
    return
  fi
  setsid "$work/mortise" dev cluster --nodes 3 --data "$three_dir" --base-port "$three_port" "${three_options[@]/#/--default=}" -o json >"$three_dir/dev.json" 2>"$three_dir/dev.log" </dev/null &
  echo $! >"$three_dir/pid"
  disown
  until_prints '^3$' three_voters
}

three_voters() { three_cli cluster voters -o json | python3 -c 'import json, sys; print(sum(r["voter"] for r in json.load(sys.stdin)["replicas"]))'; }

# three_stop ends all of them, those that a step has started too. A second call ends nothing: their numbers may be
# those of other processes by then.
three_stop() {
  local pid files=("$three_dir"/pid "$three_dir"/node-*/pid "$three_dir"/[123]/pid)
  for pid in $(cat "${files[@]}" 2>/dev/null); do kill -TERM "$pid" 2>/dev/null; done
  rm -f "${files[@]}"
}

# until_prints PATTERN COMMAND... waits until what a command prints has a line.
until_prints() {
  local pattern=$1 out i
  shift
  for ((i = 0; i < 240; i++)); do
    if out=$("$@" 2>&1) && grep -qE -- "$pattern" <<<"$out"; then return 0; fi
    sleep 0.5
  done
  echo "no $pattern from $*:"
  echo "$out"
  return 1
}

# prints PATTERN COMMAND... holds that what a command prints has a line.
prints() {
  local pattern=$1 out
  shift
  out=$("$@" 2>&1) || { echo "$* failed:"; echo "$out"; return 1; }
  grep -qE -- "$pattern" <<<"$out" || { echo "no $pattern from $*:"; echo "$out"; return 1; }
}

# silent COMMAND... holds that a command prints nothing.
silent() {
  local out
  out=$("$@" 2>&1) && [[ -z $out ]] || { echo "$* printed:"; echo "$out"; return 1; }
}

until_silent() {
  local i
  for ((i = 0; i < 60; i++)); do
    silent "$@" && return
    sleep 0.5
  done
  return 1
}

# three_pid NODE prints the process of a node.
three_pid() {
  cat "$three_dir/node-$1/pid" 2>/dev/null || cat "$three_dir/$1/pid" 2>/dev/null || python3 -c 'import json, sys
print(next(n["pid"] for n in json.load(open(sys.argv[1]))["nodes"] if n["id"] == int(sys.argv[2])))' "$three_dir/dev.json" "$1"
}

# node_end NODE SIGNAL ends a node; node_begin NODE starts it again, as its operator would.
node_end() {
  local pid i
  pid=$(three_pid "$1")
  kill "-$2" "$pid"
  for ((i = 0; i < 600; i++)); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  echo "node $1 is still there a minute after SIG$2"
  return 1
}
node_begin() {
  if [[ $target == kafka ]]; then
    "$here/oracle/kafka.sh" voter "$three_dir" "$three_port" "$1" "${three_options[@]}"
  else
    setsid "$work/mortise" serve --config "$three_dir/node-$1/mortise.yaml" >>"$three_dir/node-$1/mortise.log" 2>&1 </dev/null &
    echo $! >"$three_dir/node-$1/pid"
    disown
  fi
  three_in_sync
}

# three_in_sync waits until no node lacks anything.
three_in_sync() {
  if [[ $target == kafka ]]; then
    until_silent tool TopicCommand --bootstrap-server "$three" --describe --under-replicated-partitions
  else
    until_prints '^healthy' three_cli health
  fi
}

cluster_topics() {
  prints 'Created topic three' tool TopicCommand --bootstrap-server "$three" --create --topic three --partitions 6 --replication-factor 3 --config min.insync.replicas=2
  seq 1 1000 | three_cli produce three
}

cluster_node_gone() {
  node_end 3 KILL
  until_prints 'Isr: [12],[12]' tool TopicCommand --bootstrap-server "$three" --describe --under-replicated-partitions
  until_prints 'node-gone' eval 'three_cli health || true'
  seq 1001 2000 | three_cli produce three # acks=all goes on with two
  node_begin 3
  silent tool TopicCommand --bootstrap-server "$three" --describe --under-replicated-partitions
  [[ $(three_cli consume three -e | sort -n | uniq | wc -l) == 2000 ]]
}

# cluster_reassign: what Kafka's tool would move is what ours moves, held back and not.
cluster_reassign() {
  local plan="$three_dir/plan.json"
  echo '{"version":1,"partitions":[{"topic":"three","partition":0,"replicas":[3,1]},{"topic":"three","partition":1,"replicas":[2,3,1]}]}' >"$plan"
  prints 'moved' three_cli cluster reassign --file "$plan" --execute --throttle 100000000
  prints 'Reassignment of partition three-0 is completed' tool reassign.ReassignPartitionsCommand --bootstrap-server "$three" --reassignment-json-file "$plan" --verify
  prints 'Partition: 0.*Replicas: 3,1' tool TopicCommand --bootstrap-server "$three" --describe --topic three
  prints 'moved' three_cli cluster reassign --topic three --factor 3 --execute
  until_prints '^healthy' three_cli health
  three_cli cluster rebalance
  until_prints 'leaders of 0 partitions' three_cli cluster rebalance --dry-run
}

# cluster_rolling restarts every node in turn under Kafka's VerifiableProducer, which by itself would not try again what a
# leader refuses because it leads no more: all that it wrote is there once, and nothing failed.
cluster_rolling() {
  local count=20000 out="$three_dir/producer.json" pid i
  echo "retries=1000000" >"$three_dir/producer.properties"
  tool TopicCommand --bootstrap-server "$three" --create --topic rolling --partitions 6 --replication-factor 3 --config min.insync.replicas=2
  (tool VerifiableProducer --bootstrap-server "$three_all" --topic rolling --max-messages $count --throughput 500 --acks -1 \
    --command-config "$three_dir/producer.properties") >"$out" &
  pid=$!
  for i in 1 2 3; do
    prints 'stop it now' three_cli cluster drain "$i" --timeout 1m
    node_end "$i" TERM
    node_begin "$i"
  done
  three_cli cluster rebalance
  wait "$pid"
  prints "\"acked\":$count" tail -1 "$out"
  [[ $(grep -c producer_send_error "$out") == 0 ]]
  [[ $(three_cli consume rolling -e | wc -l) == "$count" ]] && [[ $(three_cli consume rolling -e | sort -u | wc -l) == "$count" ]]
}

# cluster_load breaks nodes under clients that count; see conformance/clusterload.
cluster_load() { (cd "$here/.." && go test -count=1 -v ./conformance/clusterload -mortise "$work/mortise" -faults 12 -java "$cache/kafka-4.4.0/lib/*:$work/classes" -timeout 9m); }

# cluster_kgo RECORDS FLAGS... is kgo_test with three replicas.
cluster_kgo() { kgo_seeds="$three_all" kgo_factor=3 kgo_test "$@"; }

cluster_steps() {
  if [[ $target == kafka ]]; then
    [[ -n ${RECORD:-} ]] || return
  else
    step cluster-load cluster_load
  fi
  must start-three three_start
  step cluster-tools cluster_tools
  if [[ $target == kafka ]]; then
    three_stop
    return
  fi
  step cluster-kgo cluster_kgo 30000 -test.timeout 9m
  step cluster-topics cluster_topics
  step cluster-node-gone cluster_node_gone
  step cluster-reassign cluster_reassign
  step cluster-rolling cluster_rolling
  three_stop
}
