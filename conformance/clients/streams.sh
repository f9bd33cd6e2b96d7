# Sourced by run.sh: a Kafka Streams application that counts the words of a part of the source tree ($part).

# word_count APPLICATION STATE LOG runs an instance in the background; its process is $!.
word_count() {
  (java_exec WordCount run "$addr" "$1" "$1-in" "$1-out" "$work/streams.$2" "$(find "$part" -type f | wc -l)") >"$3" 2>&1 &
}
word_topics() {
  make_topic "$addr" "$1-in" 3
  make_topic "$addr" "$1-out" 2
}
word_check() { (java_exec WordCount check "$addr" "$1-out" "$part" "$2"); }

# Stopped in the middle, its state thrown away, and resumed: the state comes back from the changelog, and no word is
# counted twice.
word_count_exact() {
  local log="$work/words-exact" pid
  word_topics words-exact
  go_load kgo words-exact-in "$part"
  word_count words-exact one "$log.1"
  pid=$!
  consume_until "$log.1" '^at 100$'
  kill "$pid"
  wait "$pid" || true
  grep -q closed "$log.1"
  ! grep -q done "$log.1"
  rm -rf "$work/streams.one"
  word_count words-exact one "$log.2"
  wait $!
  word_check words-exact exact
}

# Two instances share the work. One is killed, and the other, and a third does the rest: each word is counted at least
# once.
word_count_killed() {
  local log="$work/words-killed" one two
  word_topics words-killed
  word_count words-killed two "$log.1"
  one=$!
  consume_until "$log.1" '^state RUNNING$'
  word_count words-killed three "$log.2"
  two=$!
  consume_until "$log.2" '^state RUNNING$'
  go_load kgo words-killed-in "$part"
  consume_until "$log.1" '^at 30$'
  kill -KILL "$one"
  consume_until "$log.2" '^at 100$'
  kill -KILL "$two"
  ! grep -q done "$log.2"
  word_count words-killed two "$log.3"
  wait $!
  word_check words-killed atleast
}

streams_steps() {
  step streams-word-count-resumed word_count_exact
  step streams-word-count-killed word_count_killed
}
