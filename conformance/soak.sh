#!/usr/bin/env bash
# Long runs of real clients against Mortise while it is killed, restarted and paused and connections are cut. Called
# by `make soak`; about two hours on two cores.
#
#   soak.sh [STEP-PREFIX...]     run all steps, or those whose names start so
#
# SOAK_RECORDS is how many records each run of kgo's tests takes through its groups (default 500000), SOAK_ROUNDS how
# often (default 5), SOAK_TIME how long records come for other groups (default 2m). What is printed and how it is
# left is as in run.sh.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mortise-soak.XXXXXX")
only=("$@")
records="${SOAK_RECORDS:-500000}"
rounds="${SOAK_ROUNDS:-5}"
produce_for="${SOAK_TIME:-2m}"

# shellcheck source=clients/steps.sh
source "$here/clients/steps.sh"
# shellcheck source=clients/install.sh
source "$here/clients/install.sh"
# shellcheck source=clients/brokers.sh
source "$here/clients/brokers.sh"
# shellcheck source=clients/kgo.sh
source "$here/clients/kgo.sh"
# shellcheck source=clients/cluster.sh
source "$here/clients/cluster.sh"
# shellcheck source=clients/members.sh
source "$here/clients/members.sh"

step_seconds_max=1800
# KEEP=1 leaves what the steps wrote: the logs of the nodes, and of kgo's tests with what each goroutine waited for.
trap 'stop_all; three_stop; [[ -n ${KEEP:-} ]] && echo "$work" || rm -rf "$work"' EXIT

# while_troubled SECONDS TROUBLE COMMAND... runs a command and makes trouble for the broker every so many seconds until
# it is done, once at least.
while_troubled() {
  local seconds=$1 trouble=$2 code=0 pid count=0
  shift 2
  "$@" &
  pid=$!
  while sleep "$seconds" && kill -0 "$pid" 2>/dev/null; do
    "$trouble"
    count=$((count + 1))
  done
  wait "$pid" || code=$?
  echo "$trouble: $count times"
  ((count > 0)) && return $code
}

crash() { target_end KILL && target_start; }
restart() { target_end TERM && target_start; }
pause() {
  kill -STOP "$(cat "$target_dir/pid")"
  sleep 1
  kill -CONT "$(cat "$target_dir/pid")"
}

# The same for the nodes of a cluster, one after the other; the next one only when all is in sync again. Who is killed or
# hangs is away for long enough that others take over, a real Kafka's too (broker.session.timeout.ms is 9 s). What kgo
# tells of that is counted: see kgo_lossy.
node=0
node_away=12
node_restart() {
  node=$((node % 3 + 1))
  node_end "$node" TERM && node_begin "$node"
}
node_kill() {
  node=$((node % 3 + 1))
  node_end "$node" KILL && sleep "$node_away" && node_begin "$node"
}
node_pause() {
  local pid
  node=$((node % 3 + 1))
  pid=$(three_pid "$node")
  kill -STOP "$pid" && sleep "$node_away" && kill -CONT "$pid"
  three_in_sync
}

# groups_of_all PREFIX runs a group of each client at the same time.
groups_of_all() {
  local kind client type code=0 pids=() pid
  for kind in "${members_kinds[@]}"; do
    read -r client type <<<"$kind"
    (members "$1" "$client" "$type" -records 50000 -produce-for "$produce_for" 2>&1 | sed "s/^/$client $type: /") &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid" || code=1; done
  return $code
}

etl=(-test.count "$rounds" -test.timeout 25m -test.run '^TestGroupETL$')

for what in java javac python node members kgo kgo_lossy; do
  must "install-$what" "install_$what"
done
must build build_target
must start-mortise target_start

# Each plugin does each wrong, and the traffic that needs none is held to its throughput: 20 to 30 minutes, and a machine
# that does nothing else. The end of the output is a table of all pairs.
plugins_broken() { (cd "$here/.." && go test -count=1 ./conformance/pluginload -run Blast -strict -v -timeout 45m); }

# Nodes of a cluster are broken in every way, 500 times in 25 minutes. The end of the output is a table.
cluster_broken() {
  (cd "$here/.." && go test -count=1 -v ./conformance/clusterload -run "Failover|FullDisk|Trouble" -mortise "$work/mortise" -strict \
    -faults 500 -for 25m -seed "$RANDOM" -java "$cache/kafka-4.4.0/lib/*:$work/classes" -timeout 29m)
}

# 10,000 partitions on three nodes, idle and when a node is killed: some 4 minutes.
cluster_large() { (cd "$here/.." && go test -count=1 -v ./conformance/clusterload -run Scale -mortise "$work/mortise" -partitions 10000 -strict -timeout 29m); }

# 100 simulated brokers with 100,000 partitions: what travels and what is copied for each change. A minute of CPU.
simulated_large() { (cd "$here/.." && go test -count=1 -v ./cluster/clustertest -run Scale -brokers 100 -partitions 100000 -timeout 29m); }

# Properties with inputs that nobody has tried, a hundred times as many as in go test.
properties() {
  cd "$here/.." || return
  local packages
  mapfile -t packages < <(go list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' ./... | grep core/seeded | grep -v '^[^ ]*core/seeded ' | cut -d' ' -f1)
  go test -count=1 -timeout 29m "${packages[@]}" -rapid.seed="$RANDOM" -rapid.checks=10000
}

step properties properties
step_seconds_max=2760 step plugins-broken plugins_broken
step cluster-broken cluster_broken
step cluster-large cluster_large
step simulated-large simulated_large
step kgo-large kgo_test "$records" -test.timeout 25m
KGO_TEST_CHAOS=1 step kgo-connections-cut kgo_test "$records" "${etl[@]}"
step kgo-broker-paused while_troubled 2 pause kgo_test "$records" "${etl[@]}"
must start-three three_start
step cluster-kgo-large cluster_kgo "$records" -test.timeout 25m
KGO_TEST_CHAOS=1 step cluster-kgo-connections-cut cluster_kgo "$records" "${etl[@]}"
step cluster-kgo-node-restarted while_troubled 10 node_restart cluster_kgo "$records" "${etl[@]}"
# The members of these tests join in the first seconds.
step cluster-kgo-node-killed while_troubled 5 node_kill kgo_lossy cluster_kgo "$records" "${etl[@]}"
step cluster-kgo-node-paused while_troubled 5 node_pause kgo_lossy cluster_kgo "$records" "${etl[@]}"
three_stop
step groups-broker-killed while_troubled 10 crash groups_of_all killed
step groups-broker-restarted while_troubled 10 restart groups_of_all restarted
step groups-broker-paused while_troubled 5 pause groups_of_all paused

finish
