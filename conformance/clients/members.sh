# Sourced by run.sh and soak.sh: consumer groups of real clients, whose members are killed, paused and replaced; see
# go/trouble.

member_of() { # CLIENT prints the command of a member.
  case "$1" in
  python) echo "$cache/python/bin/python" "$here/clients/python/member.py" ;;
  kafkajs) echo env "NODE_PATH=$cache/node/node_modules" node "$here/clients/node/member.js" ;;
  *) echo "$work/member" "$1" ;;
  esac
}

install_members() { (cd "$here/clients/go" && go build -o "$work/" ./member ./trouble && go test ./trouble); }

# Each client with each protocol that it knows.
members_kinds=('kgo classic' 'python classic' 'kafkajs classic' 'sarama classic' 'kafka-go classic' 'kgo consumer' 'python consumer')

# members PREFIX CLIENT TYPE FLAGS...
members() {
  local command
  read -ra command < <(member_of "$2")
  "$work/trouble" -addr "$addr" -group "$1-$2-$3" -type "$3" "${@:4}" -- "${command[@]}"
}

# sarama_thrice: a group that starts at the oldest record reads everything once, and nothing in its second and third run.
sarama_thrice() {
  local topic=members-thrice run log pid
  make_topic "$addr" "$topic" 1
  seq 20 | sed 's/.*/&:&/' | kcat -P -q -b "$addr" -t "$topic" -K:
  for run in 1 2 3; do
    log="$work/thrice.$run"
    "$work/member" sarama "$addr" "$topic" "$topic" classic >"$log" &
    pid=$!
    consume_until "$log" '"owned":\['
    ((run > 1)) || consume_until "$log" '"key":"20"'
    sleep 2 # Long enough to read what should not be read again.
    kill "$pid"
    wait "$pid"
    grep -c '"record"' "$log" || true
  done | diff - <(printf '20\n0\n0\n')
}

# members_steps: the groups mostly wait, so they run at the same time.
members_steps() {
  local kind client type
  for kind in "${members_kinds[@]}"; do
    read -r client type <<<"$kind"
    beside "members-$client-$type" members members "$client" "$type"
  done
  all_beside
  step members-sarama-thrice sarama_thrice
}
