# Sourced by run.sh: Kafka's own command-line tools, with the same steps on Mortise and on a real Kafka, and the same
# text expected of both after masking what must differ.

mask() {
  sed -E -e 's/\[20[0-9-]+ [0-9:,]+\]/[TIME]/' \
    -e "s/localhost:($target_port|$reference_port)/ADDRESS/g" -e "s/\(id: [0-9]+ rack: null isFenced: false\)/(NODE)/" \
    -e 's/TopicId: [-_A-Za-z0-9]{22}/TopicId: ID/g' -e "s#$target_dir[^\"]*|$reference_dir[^\"]*#DIR#g" \
    -e 's/"(logDir|size|totalBytes|usableBytes)":("[^"]*"|-?[0-9]+)/"\1":X/g' -e 's/Cluster ID: .*/Cluster ID: ID/' \
    -e 's/[0-9]+(\.[0-9]+)? (records\/sec|MB\/sec|ms)/N \2/g' -e 's/"(timestamp|avg_throughput)":[0-9.]+/"\1":N/g' -e '/WARN|SLF4J/d' "$1"
}

# both NAME FUNCTION... runs FUNCTION ADDR ARGS on both brokers at once and compares what they print.
both() {
  { "$2" "$reference" "${@:3}"; echo "exit $?"; } >"$work/$1.want" 2>&1 &
  local want=$!
  { "$2" "$addr" "${@:3}"; echo "exit $?"; } >"$work/$1.got" 2>&1
  wait "$want"
  diff <(mask "$work/$1.want") <(mask "$work/$1.got")
}

compare() { step "tool-$1" both_failing "$@"; }
both_failing() {
  set +e # A tool that fails the same way on both is right.
  both "$@"
}

topics() { tool TopicCommand --bootstrap-server "$1" "${@:2}"; }
configs() { tool ConfigCommand --bootstrap-server "$1" "${@:2}"; }
offsets() { tool GetOffsetShell --bootstrap-server "$1" "${@:2}"; }

create_topics() {
  topics "$1" --create --topic tool-a --partitions 3 --config retention.ms=123456789 --config cleanup.policy=compact,delete
  topics "$1" --create --topic tool-a
  topics "$1" --create --if-not-exists --topic tool-a
  topics "$1" --create --topic tool.b --replica-assignment 1,1
  topics "$1" --create --topic tool_b
  topics "$1" --create --topic 'tool bad'
  topics "$1" --create --topic tool-c --partitions 0
  topics "$1" --create --topic tool-c --replication-factor 3
  topics "$1" --create --topic tool-c --config no.such=1
}
describe_topics() {
  topics "$1" --list --exclude-internal | grep '^tool' | sort
  topics "$1" --describe --topic 'tool-a'
  topics "$1" --describe --topic 'tool.b'
  topics "$1" --describe --topic tool-unknown
}
alter_topics() {
  topics "$1" --alter --topic tool-a --partitions 5
  topics "$1" --alter --topic tool-a --partitions 2
  topics "$1" --describe --topic tool-a | sort
}
delete_topics() {
  topics "$1" --create --topic tool-gone
  topics "$1" --delete --topic tool-gone
  topics "$1" --delete --topic tool-gone
  topics "$1" --list | grep -c '^tool-gone'
}
topic_configs() {
  configs "$1" --alter --entity-type topics --entity-name tool-a --add-config max.message.bytes=2000000,retention.ms=987654321
  configs "$1" --describe --entity-type topics --entity-name tool-a
  configs "$1" --alter --entity-type topics --entity-name tool-a --delete-config max.message.bytes
  configs "$1" --describe --entity-type topics --entity-name tool-a
  configs "$1" --alter --entity-type topics --entity-name tool-a --add-config retention.ms=abc
  configs "$1" --describe --entity-type topics --entity-name tool-a --all | grep -v '^  mortise\.' | sort # Kafka has no such keys.
  configs "$1" --describe --entity-type topics --entity-name tool-unknown
}
broker_configs() {
  configs "$1" --alter --entity-type brokers --entity-name 1 --add-config log.retention.ms=777777777
  configs "$1" --describe --entity-type brokers --entity-name 1
  configs "$1" --alter --entity-type brokers --entity-default --add-config log.retention.ms=888888888
  configs "$1" --describe --entity-type brokers --entity-default
  configs "$1" --alter --entity-type brokers --entity-name 1 --delete-config log.retention.ms
  configs "$1" --alter --entity-type brokers --entity-default --delete-config log.retention.ms
  configs "$1" --alter --entity-type brokers --entity-name 1 --add-config num.partitions=7
}
console_round() {
  topics "$1" --create --topic tool-console --partitions 2
  printf 'k1:v1\nk2:v2\nk3:\nk4:v4 with spaces\n' | tool ConsoleProducer --bootstrap-server "$1" --topic tool-console \
    --reader-property parse.key=true --reader-property key.separator=:
  local p
  for p in 0 1; do
    tool consumer.ConsoleConsumer --bootstrap-server "$1" --topic tool-console --partition $p --offset earliest --max-messages 2 \
      --timeout-ms 30000 --formatter-property print.key=true --formatter-property print.offset=true --formatter-property print.partition=true
  done
}
get_offsets() {
  offsets "$1" --topic-partitions tool-console
  offsets "$1" --topic-partitions tool-console --time earliest
  offsets "$1" --topic-partitions tool-console --time latest
  offsets "$1" --topic-partitions tool-console --time max-timestamp | cut -d: -f1,2
  offsets "$1" --topic-partitions tool-console --time 1
  offsets "$1" --topic-partitions tool-console --time 99999999999999
  offsets "$1" --topic-partitions tool-unknown
}
delete_records() {
  local file="$work/delete.${1##*:}.json"
  echo '{"version":1,"partitions":[{"topic":"tool-console","partition":0,"offset":1},{"topic":"tool-console","partition":1,"offset":-1}]}' >"$file"
  tool DeleteRecordsCommand --bootstrap-server "$1" --offset-json-file "$file" | sort
  offsets "$1" --topic-partitions tool-console --time earliest
  echo '{"version":1,"partitions":[{"topic":"tool-console","partition":0,"offset":99}]}' >"$file"
  tool DeleteRecordsCommand --bootstrap-server "$1" --offset-json-file "$file"
}
log_dirs() { tool LogDirsCommand --bootstrap-server "$1" --describe --topic-list tool-console | tail -1; }
api_versions() { # The keys of Mortise's are compared; a broker may not claim more than Kafka does.
  tool BrokerApiVersionsCommand --bootstrap-server "$1" |
    grep -E '\((0|1|2|3|18|19|20|21|22|23|32|33|35|37|44|46|55|57|60|61|74|75)\)' | sed 's/,$//' | sort
}
cluster_id() { tool ClusterTool cluster-id --bootstrap-server "$1"; }
features() { tool FeatureCommand --bootstrap-server "$1" describe | grep metadata.version | sed 's/Epoch:.*//'; }
producer_perf() {
  topics "$1" --create --topic tool-perf --partitions 2
  tool ProducerPerformance --bootstrap-server "$1" --topic tool-perf --num-records 50000 --record-size 200 --throughput -1 \
    --command-property acks=all --command-property compression.type=lz4 | tail -1 | cut -d, -f1
  offsets "$1" --topic-partitions tool-perf | awk -F: '{ n += $3 } END { print n }'
}
verifiable() {
  topics "$1" --create --topic tool-verifiable --partitions 1
  tool VerifiableProducer --bootstrap-server "$1" --topic tool-verifiable --max-messages 500 | grep -o '"name":"[a-z_]*"' | sort | uniq -c
  offsets "$1" --topic-partitions tool-verifiable
}
quorum() { tool MetadataQuorumCommand --bootstrap-server "$1" describe --status | grep -E '^(LeaderId|CurrentVoters|CurrentObservers)' | sed -E 's/"directoryId": ?[^,]*, ?//g; s/\[\{.*\}\]/[VOTERS]/'; }

tools_steps() {
  compare api-versions api_versions
  compare cluster-id cluster_id
  compare features features
  compare quorum quorum
  compare topics-create create_topics
  compare topics-describe describe_topics
  compare topics-alter alter_topics
  compare topics-delete delete_topics
  compare configs-topic topic_configs
  compare configs-broker broker_configs
  compare console console_round
  compare offsets get_offsets
  compare delete-records delete_records
  compare log-dirs log_dirs
  compare producer-performance producer_perf
  compare verifiable-producer verifiable
}
