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

# members CLIENT TYPE FLAGS...
members() {
  local command
  read -ra command < <(member_of "$1")
  "$work/trouble" -addr "$addr" -group "members-$1-$2" -type "$2" "${@:3}" -- "${command[@]}"
}

# members_steps FLAGS...: the groups mostly wait, so they run at the same time.
members_steps() {
  local client type
  for type in "${group_protocols[@]}"; do
    for client in kgo python kafkajs sarama kafka-go; do
      # Only these know the newer protocol.
      [[ $type == consumer && $client != kgo && $client != python ]] && continue
      beside "members-$client-$type" members "$client" "$type" "$@"
    done
  done
  all_beside
}
