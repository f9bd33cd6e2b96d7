# Sourced by run.sh: Kafka's tools for configs of every kind and for log directories, on Mortise and on a real Kafka;
# see tools.sh.

# admin_configs ADDR: every kind of entity, with what is refused.
admin_configs() { # ADDR
  topics "$1" --create --topic adm-a --partitions 1 >/dev/null
  sed 's/^/ConfigCommand /' <<'COMMANDS' | run_tools "$1" | mask_admin
--alter --entity-type topics --entity-name adm-a --add-config retention.ms=5000,cleanup.policy=[compact,delete]
--describe --entity-type topics --entity-name adm-a
--alter --entity-type topics --entity-name adm-a --add-config segment.bytes=12
--alter --entity-type topics --entity-name adm-a --add-config no.such=12
--alter --entity-type topics --entity-name adm-a --delete-config retention.ms,cleanup.policy
--describe --entity-type topics --entity-name adm-a
--alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=777777777
--describe --entity-type brokers --entity-name 1
--alter --entity-type brokers --entity-default --add-config log.retention.ms=888888888
--describe --entity-type brokers --entity-default
--describe --entity-type topics --entity-name adm-a --all
--alter --entity-type brokers --entity-name 1 --delete-config log.retention.ms
--alter --entity-type brokers --entity-default --delete-config log.retention.ms
--alter --entity-type brokers --entity-name 1 --add-config num.partitions=7
--alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=abc
--alter --entity-type brokers --entity-name 7 --add-config log.retention.ms=5
--alter --entity-type brokers --entity-default --add-config replica.alter.log.dirs.io.max.bytes.per.second=-5
--alter --entity-type broker-loggers --entity-name 1 --add-config root=ERROR
--describe --entity-type broker-loggers --entity-name 1
--alter --entity-type broker-loggers --entity-name 1 --add-config root=LOUD
--alter --entity-type broker-loggers --entity-name 1 --add-config no.such=INFO
--alter --entity-type broker-loggers --entity-name 1 --delete-config root
--alter --entity-type broker-loggers --entity-name 1 --add-config root=WARN
--alter --entity-type groups --entity-name adm-g --add-config consumer.session.timeout.ms=46000
--describe --entity-type groups --entity-name adm-g
--describe --entity-type groups
--alter --entity-type groups --entity-name adm-g --add-config consumer.session.timeout.ms=1
--alter --entity-type groups --entity-name adm-g --add-config consumer.heartbeat.interval.ms=abc
--alter --entity-type groups --entity-name adm-g --add-config no.such=1
--alter --entity-type groups --entity-name adm-g --delete-config consumer.session.timeout.ms
--describe --entity-type groups --entity-name adm-g
--alter --entity-type client-metrics --entity-name adm-m --add-config interval.ms=1000,metrics=a.,match=[client_id=a.*]
--describe --entity-type client-metrics --entity-name adm-m
--describe --entity-type client-metrics
--alter --entity-type client-metrics --entity-name adm-m --add-config interval.ms=1
--alter --entity-type client-metrics --entity-name adm-m --add-config match=[nobody=x]
--alter --entity-type client-metrics --entity-name adm-m --delete-config interval.ms,metrics,match
--describe --entity-type client-metrics
COMMANDS
}

# Loggers other than root have names of their own, and some keys are Mortise's. In which order the tool prints groups
# depends on the order in which they were made, too.
mask_admin() {
  perl -0777 -pe 's/((?:^Dynamic configs for group .*\n(?:  .*\n)*)+)/join "", sort split m{^(?=Dynamic)}m, $1/gem' |
    sed -E -e '/^  mortise\./d' -e '/^  root=/!{/^  [^ ]+=(TRACE|DEBUG|INFO|WARN|ERROR|FATAL) sensitive=false synonyms=\{\}$/d}'
}

# Two brokers with two log directories each.
admin_kafka_dir="$work/admin-kafka"
admin_mortise_dir="$work/admin-mortise"

admin_start() {
  admin_kafka_port=$(free_ports 2)
  "$here/oracle/kafka.sh" start "$admin_kafka_dir" "$admin_kafka_port" "${broker_options[@]}" \
    "log.dirs=$admin_kafka_dir/d1,$admin_kafka_dir/d2" || return
  admin_mortise_port=$(free_ports 1)
  mkdir -p "$admin_mortise_dir"
  MORTISE_DATA__LOG_DIRS="[\"$admin_mortise_dir/d1\",\"$admin_mortise_dir/d2\"]" setsid "$work/mortise" serve \
    --data "$admin_mortise_dir/data" --listen "127.0.0.1:$admin_mortise_port" --advertise "localhost:$admin_mortise_port" \
    --admin-address "" >"$admin_mortise_dir/server.log" 2>&1 </dev/null &
  echo $! >"$admin_mortise_dir/pid"
  disown
  serves "$admin_mortise_port" "$(cat "$admin_mortise_dir/pid")" "$admin_mortise_dir/server.log"
}

admin_stop() {
  [[ -e $admin_kafka_dir/pid ]] && "$here/oracle/kafka.sh" kill "$admin_kafka_dir"
  [[ -e $admin_mortise_dir/pid ]] && kill "$(cat "$admin_mortise_dir/pid")"
}

# admin_dirs ADDR ROOT: a partition of known bytes moves to the other directory and back, with the tools' own text.
admin_dirs() {
  local addr=$1 root=$2 to i
  mkdir -p "$work/dirs.${addr##*:}" && cd "$work/dirs.${addr##*:}" || return
  topics "$addr" --create --topic adm-move --partitions 1
  # One record a batch: the size of the log does not depend on how fast the producer is answered.
  seq 1 2000 | tool ConsoleProducer --bootstrap-server "$addr" --topic adm-move --command-property batch.size=0
  for to in d2 d1 d2; do
    echo '{"version":1,"partitions":[{"topic":"adm-move","partition":0,"replicas":[1],"log_dirs":["'"$root/$to"'"]}]}' >plan.json
    printf 'reassign.ReassignPartitionsCommand --reassignment-json-file plan.json --%s\n' \
      'execute --replica-alter-log-dirs-throttle 100000000' | run_tools "$addr"
    for ((i = 0; i < 100; i++)); do
      printf 'reassign.ReassignPartitionsCommand --reassignment-json-file plan.json --verify\n' | run_tools "$addr" >verify.txt
      grep -q 'has been successfully\|completed\|is complete' verify.txt && ! grep -q 'still in progress' verify.txt && break
      sleep 0.2
    done
    cat verify.txt
    [[ -d $root/$to/adm-move-0 ]] && echo "it is in $to"
    tool consumer.ConsoleConsumer --bootstrap-server "$addr" --topic adm-move --from-beginning --max-messages 2000 | md5sum
  done
  printf 'LogDirsCommand --describe --topic-list adm-move\n' | run_tools "$addr" | grep -o '"partition":"[^"]*","size":[0-9]*,"offsetLag":[0-9]*,"isFuture":[a-z]*'
  echo '{"version":1,"partitions":[{"topic":"adm-move","partition":0,"replicas":[1],"log_dirs":["/nowhere"]}]}' >plan.json
  printf 'reassign.ReassignPartitionsCommand --reassignment-json-file plan.json --execute\n' | run_tools "$addr"
  configs "$addr" --describe --entity-type brokers --entity-name 1
}

admin_dirs_both() {
  admin_start || return
  admin_dirs "localhost:$admin_kafka_port" "$admin_kafka_dir" 2>&1 | mask_dirs >"$work/admin-dirs.want"
  admin_dirs "localhost:$admin_mortise_port" "$admin_mortise_dir" 2>&1 | mask_dirs >"$work/admin-dirs.got"
  admin_stop
  grep -c 'it is in' "$work/admin-dirs.got" | grep -qx 3 && diff "$work/admin-dirs.want" "$work/admin-dirs.got"
}
mask_dirs() { sed -E -e "s#$admin_kafka_dir|$admin_mortise_dir#DIR#g" -e "s/localhost:[0-9]+/ADDRESS/g" -e '/WARN|SLF4J/d'; }

admin_steps() {
  compare admin-configs admin_configs
  step admin-log-dirs admin_dirs_both
}
