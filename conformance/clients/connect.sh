# Sourced by run.sh: a Connect worker that takes the lines of a file through a topic into another file.

connect_lines=20000

# connect_worker LOG starts a standalone worker with both connectors in the background; its process is $!. It keeps
# where the source is in a file, where the sink is with the group of its name.
connect_worker() {
  cat >connect.properties <<PROPERTIES
bootstrap.servers=$addr
key.converter=org.apache.kafka.connect.storage.StringConverter
value.converter=org.apache.kafka.connect.storage.StringConverter
offset.storage.file.filename=$PWD/source.offsets
offset.flush.interval.ms=500
plugin.discovery=only_scan
listeners=http://127.0.0.1:$(free_ports 1)
consumer.session.timeout.ms=6000
consumer.heartbeat.interval.ms=1000
PROPERTIES
  cat >source.properties <<PROPERTIES
name=lines-in
connector.class=LineSource
file=$PWD/in.txt
topic=connect-lines
PROPERTIES
  cat >sink.properties <<PROPERTIES
name=lines-out
connector.class=LineSink
tasks.max=2
file=$PWD/out.txt
topics=connect-lines
PROPERTIES
  (java_exec org.apache.kafka.connect.cli.ConnectStandalone connect.properties source.properties sink.properties) >"$1" 2>&1 &
}

# lines_arrive N waits until N different lines are there.
lines_arrive() {
  local i
  for ((i = 0; i < 600; i++)); do
    (($(cat out.txt 2>/dev/null | sort -u | wc -l) >= $1)) && return
    sleep 0.2
  done
  echo "$(sort -u out.txt | wc -l) lines arrived, want $1"
  tail -n 20 worker.*
  return 1
}

# The worker is killed in the middle, and the next is stopped at the end: every line arrives at least once.
connect_resumed() {
  local pid before
  mkdir -p "$work/connect"
  cd "$work/connect"
  topics "$addr" --create --topic connect-lines --partitions 2
  find "$part" -name '*.go' -exec cat {} + | awk -v n="$connect_lines" 'NR <= n { print NR ": " $0 }' >all.txt
  head -n $((connect_lines * 3 / 4)) all.txt >in.txt # so that it can't be done before it is killed, however late we look
  connect_worker worker.1
  pid=$!
  lines_arrive $((connect_lines / 4))
  kill -KILL "$pid"
  tail -n +$((connect_lines * 3 / 4 + 1)) all.txt >>in.txt
  connect_worker worker.2
  pid=$!
  lines_arrive "$connect_lines"
  kill "$pid"
  wait "$pid" || true
  diff <(sort in.txt) <(sort -u out.txt) | head -20
  echo "$(wc -l <out.txt) lines for $connect_lines"
  # What was committed at the stop is where the next goes on.
  before=$(wc -l <out.txt)
  seq -f 'late %g' 100 >>in.txt
  connect_worker worker.3
  pid=$!
  lines_arrive $((connect_lines + 100))
  kill "$pid"
  wait "$pid" || true
  (($(wc -l <out.txt) == before + 100))
  diff <(sort in.txt) <(sort -u out.txt)
}

connect_steps() {
  step connect-standalone-resumed connect_resumed
}
