# Sourced by run.sh: the source tree of the Go toolchain through one client and out through another.

tree=$(go env GOROOT)/src
part="$tree/net" # A few hundred files, for clients that are slow or old.

java_tree() { (java_exec Tree "$@"); }
python_tree() { "$cache/python/bin/python" "$here/clients/python/tree.py" "$@"; }
go_load() { "$work/goclients" load -client "$1" -addr "$addr" -topic "$2" -dir "$3" "${@:4}"; }
go_check() { "$work/goclients" check -client "$1" -addr "$addr" -topic "$2" -dir "$3" "${@:4}"; }
node_load() { NODE_PATH="$cache/node/node_modules" node "$here/clients/node/tree.js" load "$addr" "$1" "$part" 100000; }

# One process a file, four at a time: kcat sets headers on its command line only.
kcat_load() {
  (cd "$part" && find . -type f -printf '%P\0' | xargs -0 -P4 -I{} sh -c \
    'exec kcat -P -q -b "$0" -t "$1" -X message.max.bytes=16777216 -z "$2" -k "$3" -H "sha256=$(sha256sum <"$3" | cut -d" " -f1)" "$3"' \
    "$addr" "$1" "$2" {})
}
kcat_check() {
  kcat -C -q -b "$addr" -t "$1" -o beginning -e -f '%p %o %K %S %h\n%k%s\n' -X fetch.message.max.bytes=16777216 \
    -X receive.message.max.bytes=134217728 | "$work/goclients" checkstream -dir "$2"
}

tree_pair() { # TOPIC LOAD-COMMAND... -- CHECK-COMMAND...
  local topic=$1 load=()
  shift
  while [[ $1 != -- ]]; do load+=("$1"); shift; done
  shift
  make_topic "$addr" "$topic" 3
  "${load[@]}"
  "$@"
}

tree_steps() {
  step tree-librdkafka-to-kgo tree_pair tree-py python_tree load "$addr" tree-py "$tree" -- go_check kgo tree-py "$tree"
  step tree-java-to-kcat tree_pair tree-java java_tree load "$addr" tree-java "$tree" -- kcat_check tree-java "$tree"
  step tree-kgo-to-java tree_pair tree-kgo go_load kgo tree-kgo "$tree" -- java_tree check "$addr" tree-kgo "$tree"
  step tree-kgo-to-librdkafka python_tree check "$addr" tree-kgo "$tree"
  step part-sarama-to-kafka-go tree_pair part-sarama go_load sarama part-sarama "$part" -- go_check kafka-go part-sarama "$part"
  step part-kafka-go-to-sarama tree_pair part-kafka-go go_load kafka-go part-kafka-go "$part" -- go_check sarama part-kafka-go "$part"
  step part-kcat-to-kcat tree_pair part-kcat kcat_load part-kcat none -- kcat_check part-kcat "$part"
  step part-kcat-gzip-to-kgo tree_pair part-kcat-gz kcat_load part-kcat-gz gzip -- go_check kgo part-kcat-gz "$part"
  step part-kafkajs-to-kgo part_kafkajs
  step auto-create-kafka-go go_load kafka-go auto-create "$part/textproto"
}

part_kafkajs() {
  node_load part-kafkajs
  go_check kgo part-kafkajs "$part"
}

# Kill the broker while a load runs, start it again, let the load go on: nothing acknowledged may be missing, and
# what was acknowledged is where it was said to be. The load holds 1000 files after those that are waited for, which is
# more than are under way at a time: so it runs when the broker is killed, and is not over however late that is.
kill_and_restart() { # TOPIC ACKED-AT
  local acked="$work/acked.$1" loader lines
  make_topic "$addr" "$1" 3
  go_load kgo "$1" "$tree" -acked "$acked" -hold $(($2 + 1000)) &
  loader=$!
  while kill -0 "$loader" 2>/dev/null; do
    lines=$(wc -l <"$acked" 2>/dev/null || echo 0)
    ((lines >= $2)) && break
    sleep 0.05
  done
  kill -0 "$loader" # The load must not be over yet.
  target_end KILL
  touch "$acked.on"
  target_start
  wait "$loader"
  go_check kgo "$1" "$tree" -acked "$acked"
}

crash_steps() {
  step kill-9-early kill_and_restart crash-early 200
  step kill-9-late kill_and_restart crash-late 6000
  step tree-after-kill-9 go_check kgo tree-java "$tree"
  step clean-restart clean_restart
}

clean_restart() {
  target_end TERM
  target_start
  go_check kgo tree-py "$tree"
}
