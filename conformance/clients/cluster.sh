# Sourced by run.sh: Kafka's tools for clusters, and its producer through a rolling restart, on three nodes of Mortise as
# `mortise dev cluster` starts them. Faults: conformance/clusterload.

three_dir="$work/three"
three_port=$(free_ports 3)
three="localhost:$three_port"
three_all="localhost:$three_port,localhost:$((three_port + 1)),localhost:$((three_port + 2))"

# three_cli COMMAND... runs a command of Mortise on the cluster.
three_cli() { env MORTISE_BROKERS="$three_all" MORTISE_ADMIN="localhost:$((three_port + 552))" "$work/mortise" "$@"; }

# three_start starts the nodes and waits until they decide together.
three_start() {
  mkdir -p "$three_dir"
  setsid "$work/mortise" dev cluster --nodes 3 --data "$three_dir" --base-port "$three_port" -o json >"$three_dir/dev.json" 2>"$three_dir/dev.log" </dev/null &
  echo $! >"$three_dir/pid"
  disown
  until_prints '^3$' three_voters
}

three_voters() { three_cli cluster voters -o json | python3 -c 'import json, sys; print(sum(r["voter"] for r in json.load(sys.stdin)["replicas"]))'; }

# three_stop ends all of them, those that a step has started too.
three_stop() {
  local pid
  for pid in $(cat "$three_dir"/pid "$three_dir"/node-*/pid 2>/dev/null); do kill -TERM "$pid" 2>/dev/null; done
  return 0
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

# three_pid NODE prints the process of a node.
three_pid() {
  cat "$three_dir/node-$1/pid" 2>/dev/null || python3 -c 'import json, sys
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
  setsid "$work/mortise" serve --config "$three_dir/node-$1/mortise.yaml" >>"$three_dir/node-$1/mortise.log" 2>&1 </dev/null &
  echo $! >"$three_dir/node-$1/pid"
  disown
  until_prints '^healthy' three_cli health
}

cluster_topics() {
  prints 'Created topic three' tool TopicCommand --bootstrap-server "$three" --create --topic three --partitions 6 --replication-factor 3 --config min.insync.replicas=2
  seq 1 1000 | three_cli produce three
  prints 'ReplicationFactor: 3' tool TopicCommand --bootstrap-server "$three" --describe --topic three
  for what in --under-replicated-partitions --under-min-isr-partitions --at-min-isr-partitions --unavailable-partitions; do
    silent tool TopicCommand --bootstrap-server "$three" --describe "$what"
  done
  prints 'Cluster ID: ' tool ClusterTool cluster-id --bootstrap-server "$three"
  prints "^3 .*localhost|^3 .*127\.0\.0\.1" tool ClusterTool list-endpoints --bootstrap-server "$three"
  prints "LeaderId: +[123]" tool MetadataQuorumCommand --bootstrap-server "$three" describe --status
  prints "Leader" tool MetadataQuorumCommand --bootstrap-server "$three" describe --replication
}

cluster_node_gone() {
  node_end 3 KILL
  until_prints 'Isr: [12],[12]' tool TopicCommand --bootstrap-server "$three" --describe --under-replicated-partitions
  prints 'at-min|Isr: [12],[12]' tool TopicCommand --bootstrap-server "$three" --describe --at-min-isr-partitions
  silent tool TopicCommand --bootstrap-server "$three" --describe --unavailable-partitions
  until_prints 'node-gone' eval 'three_cli health || true'
  seq 1001 2000 | three_cli produce three # acks=all goes on with two
  node_begin 3
  silent tool TopicCommand --bootstrap-server "$three" --describe --under-replicated-partitions
  [[ $(three_cli consume three -e | sort -n | uniq | wc -l) == 2000 ]]
}

cluster_elections() {
  tool LeaderElectionCommand --bootstrap-server "$three" --election-type preferred --all-topic-partitions
  until_prints 'leaders of 0 partitions' three_cli cluster rebalance --dry-run
}

cluster_reassign() {
  local plan="$three_dir/plan.json" i=0
  until_prints '"replicas"' tool reassign.ReassignPartitionsCommand --bootstrap-server "$three" --generate --broker-list 1,2,3 \
    --topics-to-move-json-file <(echo '{"version":1,"topics":[{"topic":"three"}]}')
  echo '{"version":1,"partitions":[{"topic":"three","partition":0,"replicas":[3,1]},{"topic":"three","partition":1,"replicas":[2,3,1]}]}' >"$plan"
  prints 'Successfully started partition reassignment' tool reassign.ReassignPartitionsCommand --bootstrap-server "$three" --reassignment-json-file "$plan" --execute
  until_prints 'Reassignment of partition three-0 is completed' tool reassign.ReassignPartitionsCommand --bootstrap-server "$three" --reassignment-json-file "$plan" --verify
  prints 'No partition reassignments found' tool reassign.ReassignPartitionsCommand --bootstrap-server "$three" --list
  prints 'Partition: 0.*Replicas: 3,1' tool TopicCommand --bootstrap-server "$three" --describe --topic three
  prints 'moved' three_cli cluster reassign --topic three --factor 3 --execute
  until_prints '^healthy' three_cli health
}

cluster_replicas() {
  local pid
  tool ReplicaVerificationTool --broker-list "$three" --topics-include three --report-interval-ms 1000 >"$three_dir/verification" 2>&1 &
  pid=$!
  until_prints 'max lag is 0 for partition three' cat "$three_dir/verification"
  kill "$pid" # it would go on for ever
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
cluster_load() { (cd "$here/.." && go test -count=1 -v ./conformance/clusterload -mortise "$work/mortise" -faults 12 -java "$cache/kafka-4.4.0/lib/*:$work/classes" -timeout 280s); }

cluster_steps() {
  [[ $target == kafka ]] && return
  step cluster-load cluster_load
  must start-three three_start
  step cluster-topics cluster_topics
  step cluster-node-gone cluster_node_gone
  step cluster-elections cluster_elections
  step cluster-reassign cluster_reassign
  step cluster-replicas cluster_replicas
  step cluster-rolling cluster_rolling
  three_stop
}
