# Sourced by run.sh: the broker under test and the real Kafka beside it.

target="${CONFORMANCE_TARGET:-mortise}"
# free_ports N [DISTANCE...] prints the first of N free ports in a row, beside which those at each distance are free too,
# by TCP and UDP. They are below those that the system gives to connections, so that none takes them while a broker is
# not there, and no second call gives them to somebody else.
free_ports() {
  python3 - "$work/ports" "$@" <<'PY'
import random, socket, sys
count, distances = int(sys.argv[2]), [0, *map(int, sys.argv[3:])]
def free(port):
    try:
        for kind in socket.SOCK_STREAM, socket.SOCK_DGRAM:
            with socket.socket(type=kind) as s:
                s.bind(("127.0.0.1", port))
        return True
    except OSError:
        return False
with open(sys.argv[1], "a+") as given:
    given.seek(0)
    taken = set(map(int, given))
    while True:
        first = random.randrange(10000, 30000)
        ports = [first + d + i for d in distances for i in range(count)]
        if taken.isdisjoint(ports) and all(map(free, ports)):
            break
    given.writelines(f"{port}\n" for port in ports)
print(first)
PY
}

# serves PORT PID LOG waits until a broker takes connections, for two minutes at most: a machine may be busy.
serves() {
  local i
  for ((i = 0; i < 1200; i++)); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; then return 0; fi
    kill -0 "$2" 2>/dev/null || break
    sleep 0.1
  done
  tail -20 "$3"
  return 1
}

reference_port=$(free_ports 2)
reference="localhost:$reference_port"
reference_dir="$work/reference"
target_dir="$work/target"
target_port=$(free_ports 2) # A real Kafka takes two.
addr="localhost:$target_port"

# Retention must not take the old records of tests, and groups must not make them wait.
broker_options=(log.retention.check.interval.ms=86400000 group.initial.rebalance.delay.ms=0
  group.consumer.heartbeat.interval.ms=1000 group.consumer.min.heartbeat.interval.ms=500
  group.consumer.session.timeout.ms=6000 group.consumer.min.session.timeout.ms=6000 group.min.session.timeout.ms=500)

# target_environment prints the options as Mortise's environment variables.
target_environment() {
  local option key
  for option in "${broker_options[@]}"; do
    key=${option%%=*}
    key=${key^^}
    echo "MORTISE_DEFAULTS__${key//./_}=${option#*=}"
  done
}

build_target() {
  [[ $target == kafka ]] && return
  (cd "$here/.." && go build -o "$work/mortise" ./cmd/mortise)
}

reference_start() { "$here/oracle/kafka.sh" start "$reference_dir" "$reference_port" "${broker_options[@]}"; }
reference_stop() { "$here/oracle/kafka.sh" stop "$reference_dir"; }

target_start() {
  if [[ $target == kafka ]]; then
    "$here/oracle/kafka.sh" start "$target_dir" "$target_port" "${broker_options[@]}"
    return
  fi
  mkdir -p "$target_dir"
  local environment
  mapfile -t environment < <(target_environment)
  env "${environment[@]}" setsid "$work/mortise" serve --data "$target_dir/data" --listen "127.0.0.1:$target_port" \
    --advertise "localhost:$target_port" --admin-address 127.0.0.1:0 >>"$target_dir/server.log" 2>&1 </dev/null &
  echo $! >"$target_dir/pid"
  disown # Its end by SIGKILL is no news.
  serves "$target_port" "$(cat "$target_dir/pid")" "$target_dir/server.log"
}

# target_end SIGNAL stops the broker under test and waits until it is gone.
target_end() {
  local pid i
  pid=$(cat "$target_dir/pid" 2>/dev/null) || return 0
  kill "-$1" "$pid" 2>/dev/null || return 0
  for ((i = 0; i < 600; i++)); do
    kill -0 "$pid" 2>/dev/null || return 0
    sleep 0.1
  done
  echo "process $pid is still there a minute after SIG$1"
  kill -KILL "$pid"
  return 1
}

stop_all() {
  target_end KILL
  [[ -e $reference_dir/pid ]] && "$here/oracle/kafka.sh" kill "$reference_dir"
}

# partition_dir ROOT TOPIC-PARTITION prints where a broker keeps a partition.
partition_dir() {
  local found
  found=$(find "$1" -type d -name "$2" | head -1)
  [[ -n $found ]] || { echo "no directory $2 below $1" >&2; return 1; }
  echo "$found"
}

# java_exec takes the place of the shell, so that a signal reaches it. What runs is short: it isn't worth optimising.
java_exec() { exec java -XX:TieredStopAtLevel=1 "-Dlog4j2.configurationFile=$here/oracle/log4j2.yaml" -cp "$cache/kafka-4.4.0/lib/*:$work/classes" "$@"; }

# tool CLASS ARGS... runs one of Kafka's tools, named below org.apache.kafka.tools.
tool() { (java_exec "org.apache.kafka.tools.$1" "${@:2}"); }

make_topic() { # ADDR NAME PARTITIONS [--config K=V...]
  tool TopicCommand --bootstrap-server "$1" --create --topic "$2" --partitions "$3" --config max.message.bytes=16777216 "${@:4}"
}
