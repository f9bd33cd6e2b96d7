#!/usr/bin/env bash
# The oracle: a real Apache Kafka 4.4, one node or three, on loopback.
#
#   kafka.sh lib                   fetch the jars; print the class path
#   kafka.sh start DIR PORT [K=V…] format DIR (when empty), start, wait until it serves
#   kafka.sh secured DIR PORT [K=V…] start one whose clients log in by SASL PLAIN (the users of transcripts) and whose
#                                  access rules are in force (StandardAuthorizer; admin is a super user)
#   kafka.sh telemetry DIR PORT [K=V…] start one that takes the metrics of clients (TelemetryReceiver.java)
#   kafka.sh three DIR PORT [K=V…] start three brokers, on PORT, PORT+2 and PORT+4, with data in DIR/1 … DIR/3
#   kafka.sh member DIR PORT N [K=V…] start broker N of the three (again)
#   kafka.sh voters DIR PORT [K=V…] start three brokers like those, all of which vote
#   kafka.sh voter DIR PORT N [K=V…] start broker N of these (again)
#   kafka.sh stop DIR              ask it to stop and wait (clean shutdown)
#   kafka.sh kill DIR              stop it with SIGKILL (crash)
#   kafka.sh tool CLASS ARGS…      run one of Kafka's command-line tools
#
# The controller listens on PORT+1, of three voters also on PORT+3 and PORT+5. Extra K=V are lines of server.properties.
# A single node has no eligible leader replicas (KIP-966), which would give min.insync.replicas a value for all brokers.
# Of three brokers the first is the controller, the only voter, and the others observe: any of those can be stopped.
# MORTISE_CACHE holds the jars (default ~/.cache/mortise). KAFKA_HEAP is the heap (default 512m).
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
cache="${MORTISE_CACHE:-$HOME/.cache/mortise}/kafka-4.4.0"
lib="$cache/lib"
classes="" # a folder with more classes of a broker
cluster_id=AAAAAAAAQACAAAAAAAAAAA

fetch_jars() {
  # The marker is written last, so a broken download is fetched again.
  if [[ ! -e "$cache/complete" ]]; then
    mkdir -p "$lib"
    (
      flock 9
      [[ -e "$cache/complete" ]] || {
        mvn -q -B -f "$here/pom.xml" dependency:copy-dependencies "-DoutputDirectory=$lib" >&2
        touch "$cache/complete"
      }
    ) 9>"$cache/lock"
  fi
}

java_run() {
  java "-Dlog4j2.configurationFile=$here/log4j2.yaml" -cp "$lib/*" "$@"
}

write_properties() { # DIR PORT [K=V…]
  local dir=$1 port=$2; shift 2
  cat <<EOF
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:$((port + 1))
listeners=PLAINTEXT://localhost:$port,CONTROLLER://localhost:$((port + 1))
advertised.listeners=PLAINTEXT://localhost:$port,CONTROLLER://localhost:$((port + 1))
inter.broker.listener.name=PLAINTEXT
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs=$dir/data
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
group.consumer.heartbeat.interval.ms=1000
group.consumer.min.heartbeat.interval.ms=500
EOF
  local kv
  for kv in "$@"; do echo "$kv"; done
}

format() { # DIR ARGS… of the storage tool
  local dir=$1; shift
  if [[ ! -e "$dir/data/meta.properties" ]]; then
    java_run kafka.tools.StorageTool format "$@" -t "$cluster_id" -c "$dir/server.properties" >"$dir/format.log" 2>&1 ||
      { cat "$dir/format.log" >&2; return 1; }
  fi
}

launch() { # DIR
  local dir=$1 heap="${KAFKA_HEAP:-512m}"
  (
    cd "$dir"
    exec setsid java "-Xmx$heap" "-Xms$heap" -server -XX:+UseG1GC -XX:MaxGCPauseMillis=20 \
      "-Dlog4j2.configurationFile=$here/log4j2.yaml" -cp "$lib/*${classes:+:$classes}" kafka.Kafka "$dir/server.properties"
  ) >"$dir/server.log" 2>&1 </dev/null &
  echo "$!" >"$dir/pid"
}

# Five minutes bound a start on a busy machine; it takes about three seconds on a quiet one.
await() { # DIR PORT
  local dir=$1 port=$2 pid i
  pid=$(cat "$dir/pid")
  for ((i = 0; i < 1200; i++)); do
    if (exec 3<>"/dev/tcp/localhost/$port") 2>/dev/null; then return 0; fi
    kill -0 "$pid" 2>/dev/null || break
    sleep 0.25
  done
  echo "kafka did not serve on port $port; its log ends:" >&2
  tail -20 "$dir/server.log" >&2
  return 1
}

start() { # DIR PORT [K=V…]
  local dir=$1 port=$2
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  write_properties "$dir" "${@:2}" >"$dir/server.properties"
  format "$dir" --feature eligible.leader.replicas.version=0
  launch "$dir"
  await "$dir" "$port"
}

telemetry() { # DIR PORT [K=V…]
  mkdir -p "$1/classes"
  classes=$(cd "$1/classes" && pwd)
  javac -cp "$lib/*" -d "$classes" "$here/TelemetryReceiver.java"
  start "$@" metric.reporters=TelemetryReceiver
}

# Of lines with the same key the later one counts.
member_properties() { # DIR PORT N [K=V…]
  local dir=$1 port=$2 n=$3 own=$(($2 + 2 * ($3 - 1))); shift 3
  write_properties "$dir" "$port" | grep -v '^controller.quorum.voters='
  cat <<EOF
node.id=$n
broker.rack=r$n
controller.quorum.bootstrap.servers=localhost:$((port + 1))
offsets.topic.replication.factor=3
broker.session.timeout.ms=3000
broker.heartbeat.interval.ms=500
replica.lag.time.max.ms=5000
auto.leader.rebalance.enable=false
EOF
  if ((n > 1)); then
    cat <<EOF
process.roles=broker
listeners=PLAINTEXT://localhost:$own
advertised.listeners=PLAINTEXT://localhost:$own
EOF
  fi
  local kv
  for kv in "$@"; do echo "$kv"; done
}

member() { # DIR PORT N [K=V…]
  local dir=$1 port=$2 n=$3
  mkdir -p "$dir/$n"
  dir=$(cd "$dir/$n" && pwd)
  member_properties "$dir" "$port" "$n" "${@:4}" >"$dir/server.properties"
  if ((n == 1)); then format "$dir" --standalone; else format "$dir"; fi
  launch "$dir"
}

three() { # DIR PORT [K=V…]
  local n
  for n in 1 2 3; do member "$1" "$2" "$n" "${@:3}"; done
  for n in 1 2 3; do await "$1/$n" $(($2 + 2 * (n - 1))); done
}

# voter_properties DIR PORT N [K=V…]: a broker that decides too. What else is as in `mortise dev cluster`.
voter_properties() {
  local dir=$1 port=$2 n=$3 own=$(($2 + 2 * ($3 - 1))); shift 3
  write_properties "$dir" "$port" | grep -v '^controller.quorum.voters='
  cat <<EOF
node.id=$n
controller.quorum.bootstrap.servers=localhost:$((port + 1)),localhost:$((port + 3)),localhost:$((port + 5))
listeners=PLAINTEXT://localhost:$own,CONTROLLER://localhost:$((own + 1))
advertised.listeners=PLAINTEXT://localhost:$own,CONTROLLER://localhost:$((own + 1))
offsets.topic.replication.factor=3
default.replication.factor=3
min.insync.replicas=2
EOF
  local kv
  for kv in "$@"; do echo "$kv"; done
}

voter() { # DIR PORT N [K=V…]
  local dir=$1 port=$2 n=$3 i all=""
  mkdir -p "$dir/$n"
  dir=$(cd "$dir/$n" && pwd)
  voter_properties "$dir" "$port" "$n" "${@:4}" >"$dir/server.properties"
  for i in 1 2 3; do all+=",$i@localhost:$((port + 2 * i - 1)):AAAAAAAAAAAAAAAAAAAAZ$(tr 123 Qgw <<<"$i")"; done
  format "$dir" --initial-controllers "${all#,}"
  launch "$dir"
}

voters() { # DIR PORT [K=V…]
  local n
  for n in 1 2 3; do voter "$1" "$2" "$n" "${@:3}"; done
  for n in 1 2 3; do await "$1/$n" $(($2 + 2 * (n - 1))); done
}

# Clients log in; the controller's listener, on which only the broker speaks, is anonymous.
secured() { # DIR PORT [K=V…]
  local dir=$1 port=$2 users="" user; shift 2
  for user in admin alice bob; do users+=" user_$user=\"$user-secret\""; done
  start "$dir" "$port" \
    "listeners=SASL_PLAINTEXT://localhost:$port,CONTROLLER://localhost:$((port + 1))" \
    "advertised.listeners=SASL_PLAINTEXT://localhost:$port,CONTROLLER://localhost:$((port + 1))" \
    inter.broker.listener.name=SASL_PLAINTEXT sasl.mechanism.inter.broker.protocol=PLAIN sasl.enabled.mechanisms=PLAIN \
    listener.security.protocol.map=CONTROLLER:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT \
    "listener.name.sasl_plaintext.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username=\"admin\" password=\"admin-secret\"$users;" \
    authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer \
    "super.users=User:admin;User:ANONYMOUS" "$@"
}

stop() { # DIR SIGNAL
  local pid
  pid=$(cat "$1/pid")
  kill "-$2" "$pid" 2>/dev/null || return 0
  local i
  for ((i = 0; i < 240; i++)); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.25
  done
  kill -KILL "$pid"
}

case "${1:-}" in
lib) fetch_jars; echo "$lib/*" ;;
start) fetch_jars; start "${@:2}" ;;
telemetry) fetch_jars; telemetry "${@:2}" ;;
secured) fetch_jars; secured "${@:2}" ;;
three) fetch_jars; three "${@:2}" ;;
member) fetch_jars; member "${@:2}"; await "$2/$4" $(($3 + 2 * ($4 - 1))) ;;
voters) fetch_jars; voters "${@:2}" ;;
voter) fetch_jars; voter "${@:2}"; await "$2/$4" $(($3 + 2 * ($4 - 1))) ;;
stop) stop "$2" TERM ;;
kill) stop "$2" KILL ;;
tool) fetch_jars; java_run "${@:2}" ;;
*) sed -n 2,20p "$0" >&2; exit 2 ;;
esac
