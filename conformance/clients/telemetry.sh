# Sourced by run.sh: clients that push their metrics (KIP-714), to a Mortise of its own that takes them.

telemetry_dir="$work/telemetry"

# telemetry_metrics prints what clients have pushed.
telemetry_metrics() {
  python3 -c 'import sys, urllib.request as web
sys.stdout.write(web.build_opener(web.ProxyHandler({})).open(sys.argv[1]).read().decode())' "http://127.0.0.1:$((telemetry_port + 1))/metrics" | grep '^mortise_client_'
}

# typed CLIENT FIRST LAST is what somebody types into a client: the last line when its first push was seen.
typed() {
  local i
  echo "$2"
  for ((i = 0; i < 600; i++)); do
    if telemetry_metrics | grep -F "client_id=\"$1\"" >/dev/null; then break; fi
    sleep 0.2
  done
  echo "$3"
}

# clients_push has Java's console clients and kgo push everything, twice a second and when they end. kgo does not know
# Kafka's * for everything, and waits a second at least.
clients_push() {
  local pid
  telemetry_port=$(free_ports 2)
  mkdir -p "$telemetry_dir"
  printf 'telemetry: {clients: true}\n' >"$telemetry_dir/mortise.yaml"
  "$work/mortise" serve --config "$telemetry_dir/mortise.yaml" --data "$telemetry_dir/data" --listen "127.0.0.1:$telemetry_port" \
    --advertise "localhost:$telemetry_port" --admin-address "127.0.0.1:$((telemetry_port + 1))" >"$telemetry_dir/server.log" 2>&1 &
  pid=$!
  serves "$telemetry_port" "$pid" "$telemetry_dir/server.log"
  run_tools "localhost:$telemetry_port" <<<"ClientMetricsCommand --alter --name all --metrics org.apache.kafka. --interval 500"
  typed console-producer a b | tool ConsoleProducer --bootstrap-server "localhost:$telemetry_port" --topic pushed
  typed mortise-cli c d | "$work/mortise" -b "localhost:$telemetry_port" produce pushed
  tool consumer.ConsoleConsumer --bootstrap-server "localhost:$telemetry_port" --topic pushed --from-beginning --max-messages 4 --timeout-ms 60000
  telemetry_metrics >"$telemetry_dir/metrics"
  kill "$pid"
  wait "$pid"
  telemetry_seen "$telemetry_dir/metrics"
}

# telemetry_seen wants every client with its name, and numbers of each kind of client.
telemetry_seen() {
  local wanted
  for wanted in 'client_id="console-producer".*client_software_name="apache-kafka-java"' \
    'client_id="console-consumer".*client_software_name="apache-kafka-java".*group_id="' \
    'client_id="mortise-cli".*client_software_name="kgo"' \
    '^mortise_client_org_apache_kafka_producer_topic_record_send_total\{.*topic="pushed"\} 2$' \
    '^mortise_client_org_apache_kafka_consumer_fetch_manager_fetch_total\{' \
    '^mortise_client_org_apache_kafka_producer_node_request_latency_avg\{'; do
    grep -qE "$wanted" "$1" || {
      echo "nobody pushed $wanted"
      cut -d' ' -f1 "$1" | sort | head -50
      return 1
    }
  done
}

telemetry_steps() {
  [[ $target == kafka ]] || step clients-push clients_push
}
