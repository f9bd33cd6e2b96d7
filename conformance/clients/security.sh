# Sourced by run.sh: clients that log in by SASL PLAIN and have rights, against a Mortise of its own with users in a file
# and Kafka's access rules, and a real Kafka with the same users beside it.

secured_dir="$work/secured"
secured_reference_dir="$work/secured-reference"

secured_start() {
  secured_port=$(free_ports 3)
  secured_addr="localhost:$secured_port"
  secured_reference="localhost:$((secured_port + 1))"
  mkdir -p "$secured_dir"
  local user
  for user in admin alice bob; do
    echo "$user-secret" | "$work/mortise" user add "$user" "$secured_dir/users.yaml" --no-scram
    printf 'security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=%s required username="%s" password="%s-secret";\n' \
      org.apache.kafka.common.security.plain.PlainLoginModule "$user" "$user" >"$secured_dir/$user.properties"
  done
  sed 's/alice-secret/guess/' "$secured_dir/alice.properties" >"$secured_dir/wrong.properties"
  cat >"$secured_dir/mortise.yaml" <<YAML
listeners:
  - {name: GUARDED, address: "127.0.0.1:$secured_port", advertised: "$secured_addr", authenticator: users, super_users: true}
security:
  super_users: ["User:admin"]
  authorizers: [acl]
plugins:
  catalogue:
    - {name: users, kind: authenticator, builtin: file-users, timeout: 30s, config: {file: "$secured_dir/users.yaml"}}
    - {name: acl, kind: authorizer, builtin: acl, timeout: 30s}
YAML
  setsid "$work/mortise" serve --config "$secured_dir/mortise.yaml" --data "$secured_dir/data" --admin-address 127.0.0.1:0 \
    >"$secured_dir/server.log" 2>&1 </dev/null &
  echo $! >"$secured_dir/pid"
  disown
  "$here/oracle/kafka.sh" secured "$secured_reference_dir" "$((secured_port + 1))"
  serves "$secured_port" "$(cat "$secured_dir/pid")" "$secured_dir/server.log"
}

secured_stop() {
  kill -KILL "$(cat "$secured_dir/pid")"
  "$here/oracle/kafka.sh" kill "$secured_reference_dir"
}

acls() { tool AclCommand --bootstrap-server "$1" --command-config "$secured_dir/admin.properties" "${@:2}"; }
secured_topic() { tool TopicCommand --bootstrap-server "$1" --command-config "$secured_dir/admin.properties" --create --topic "$2"; }

# secured_both NAME FUNCTION... runs FUNCTION ADDR ARGS on both brokers and compares what they print.
secured_both() {
  set +e # A tool that fails the same way on both is right.
  local target_addr=$secured_addr reference_addr=$secured_reference
  { "$2" "$reference_addr" "${@:3}"; echo "exit $?"; } >"$work/$1.want" 2>&1 &
  local want=$!
  { "$2" "$target_addr" "${@:3}"; echo "exit $?"; } >"$work/$1.got" 2>&1
  wait "$want"
  diff <(secured_mask "$work/$1.want") <(secured_mask "$work/$1.got")
}

# Sets are printed in any order, so lines are sorted, without their indent: only the first of a set has a blank before it; who may not see the rules is shown Kafka's picture of the request. How
# often a client logs that it can't reach a broker depends on how fast it is: each such line counts once.
secured_mask() {
  mask "$1" | sed -E -e "s/localhost:($secured_port|$((secured_port + 1)))/ADDRESS/g" -e "s#localhost/127.0.0.1:[0-9]+#ADDRESS#g" \
    -e 's/[Nn]ode -?[0-9]+/node N/g' -e 's/\(correlationId|correlation id [0-9]+/correlation id N/g' \
    -e 's/(supports operations) \[.*\]/\1 [THESE]/' -e 's/(ClusterAuthorizationException): .*/\1/' -e 's/^[ \t]+//' | grep -vE '^at |^Caused by|OAuth|^$' | sort |
    awk '!(/\(org.apache.kafka.clients.NetworkClient\)$/ && seen[$0]++)'
}

# What kafka-acls prints about rules of each kind: added, listed, taken away.
acl_texts() {
  acls "$1" --list
  acls "$1" --add --allow-principal User:alice --operation Write --operation Describe --topic secured-a
  acls "$1" --add --allow-principal User:alice --deny-principal User:bob --operation Read --topic secured- --resource-pattern-type prefixed
  acls "$1" --add --allow-principal User:alice --consumer --group secured-g --topic secured-b
  acls "$1" --add --allow-principal User:bob --producer --transactional-id tx --topic '*'
  acls "$1" --add --allow-principal 'User:*' --allow-host 10.1.2.3 --operation All --cluster
  acls "$1" --add --allow-principal nobody --operation Read --topic x
  acls "$1" --add --allow-principal User:alice --operation Read --cluster
  acls "$1" --list --topic secured-a
  acls "$1" --list --topic secured-a --resource-pattern-type match
  acls "$1" --list --principal User:alice | sort
  acls "$1" --remove --force --allow-principal User:alice --operation Describe --topic secured-a
  acls "$1" --remove --force --topic secured- --resource-pattern-type prefixed
  acls "$1" --remove --force --topic secured-unknown
  acls "$1" --list | sort
  tool AclCommand --bootstrap-server "$1" --command-config "$secured_dir/bob.properties" --list
}

console_write() {
  echo hello | tool ConsoleProducer --bootstrap-server "$1" --command-config "$secured_dir/$2.properties" --topic secured-console
}
console_read() {
  tool consumer.ConsoleConsumer --bootstrap-server "$1" --command-config "$secured_dir/$2.properties" --topic secured-console \
    --group secured-console --from-beginning --max-messages 1 --timeout-ms 60000
}

# The console tools with a right and without, with a wrong password, and with a right that is gone again.
console_texts() {
  secured_topic "$1" secured-console
  console_write "$1" alice
  acls "$1" --add --allow-principal User:alice --producer --topic secured-console
  console_write "$1" alice
  console_write "$1" wrong
  console_read "$1" alice
  acls "$1" --add --allow-principal User:alice --consumer --group secured-console --topic secured-console
  console_read "$1" alice
  acls "$1" --remove --force --allow-principal User:alice --producer --topic secured-console
  console_write "$1" alice
}

# secured_client KIND ADDR USER PASSWORD TOPIC COUNT writes so many records one by one, telling of each, and ends with 0, with
# 3 if it is told that it may not, or with 4 if it can't log in.
secured_client() {
  case $1 in
  python) "$cache/python/bin/python" "$here/clients/python/secured.py" "${@:2}" ;;
  node) NODE_PATH="$cache/node/node_modules" node "$here/clients/node/secured.js" "${@:2}" ;;
  kcat) secured_kcat "${@:2}" ;;
  *) "$work/goclients" secured "$1" "${@:2}" ;;
  esac
}

# kcat ends with 1 whatever the matter is: its words tell. It takes lines as they come.
secured_kcat() {
  local n code err
  err=$(mktemp "$work/kcat.XXXXXX")
  for ((n = 0; n < $5; n++)); do echo "record $n" && sleep 0.1; done 2>"$err.lines" |
    kcat -P -b "$1" -X security.protocol=SASL_PLAINTEXT -X sasl.mechanism=PLAIN -X sasl.username="$2" -X sasl.password="$3" \
      -X linger.ms=0 -X message.timeout.ms=20000 -t "$4" 2>"$err"
  code=${PIPESTATUS[1]}
  sed 's/^/kcat: /' "$err" | tail -20
  grep -qi 'authentication fail' "$err" && return 4
  grep -qi 'authorization fail' "$err" && return 3
  return "$code"
}

# secured_run ADDR KIND writes without a right, with it, with a wrong password, and has its right taken away while it
# writes. It prints how each ended, and says to standard error what the client said.
secured_run() {
  local topic="secured-$2" pid i code written
  written=$(mktemp "$work/written.XXXXXX")
  secured_topic "$1" "$topic"
  code=0; secured_client "$2" "$1" alice alice-secret "$topic" 3 >"$written.0" 2>&1 || code=$?
  echo "without a right: $code"
  acls "$1" --add --allow-principal User:alice --producer --topic "$topic" >/dev/null
  code=0; secured_client "$2" "$1" alice alice-secret "$topic" 3 >"$written.1" 2>&1 || code=$?
  echo "with it: $code"
  code=0; secured_client "$2" "$1" alice guess "$topic" 3 >"$written.2" 2>&1 || code=$?
  echo "a wrong password: $code"
  secured_client "$2" "$1" alice alice-secret "$topic" 2000 >"$written" 2>&1 &
  pid=$!
  for ((i = 0; i < 300; i++)); do
    [[ -s $written || ($2 == kcat && $i -gt 30) ]] && break # kcat is silent.
    sleep 0.1
  done
  acls "$1" --remove --force --allow-principal User:alice --producer --topic "$topic" >/dev/null
  code=0; wait "$pid" || code=$?
  echo "its right is taken away: $code"
  tail -n 3 "$written.0" "$written.1" "$written.2" "$written" >&3
}

# secured_as_kafka KIND wants a client to end as it does with Kafka, and the login to be what decides.
secured_as_kafka() {
  exec 3>&1
  secured_both "secured-$1" secured_run "$1" || return 1
  grep -q 'with it: 0' "$work/secured-$1.got" && grep -q 'a wrong password: 4' "$work/secured-$1.got" &&
    ! grep -q 'taken away: 0' "$work/secured-$1.got"
}

security_steps() {
  [[ $target == kafka ]] && return
  must secured-start secured_start
  step secured-acls secured_both secured-acls acl_texts
  step secured-console secured_both secured-console console_texts
  local kind
  for kind in kgo sarama kafka-go python node kcat; do beside "secured-$kind" secured_as_kafka "$kind"; done
  all_beside
  secured_stop
}
