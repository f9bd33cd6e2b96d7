# Sourced by run.sh: what Kafka's tools for clusters print of three nodes that are well, that lack one, and that move
# replicas, compared line by line with what they print of a real Kafka in the same states. That is recorded in
# testdata/tools/three.out. Not compared: that Kafka copies min.insync.replicas of the settings file to all brokers and
# then takes it from no single one; here the lowest of all brokers counts (KIP-966). To record anew:
#
#   CONFORMANCE_TARGET=kafka RECORD=1 conformance/run.sh cluster-tools

three_golden="$here/testdata/tools/three.out"

# three_tools runs commands of standard input in one JVM. @NAME@ is a file of three_files.
three_tools() { sed "s#@\([a-z]*\)@#$three_dir/\1.json#g" | (java_exec Tools "$three"); }

# three_files writes what the tools read.
three_files() {
  local plan='{"version":1,"partitions":[{"topic":"%s","partition":%d,"replicas":[%s]}]}\n'
  echo '{"version":1,"topics":[{"topic":"tt-a"},{"topic":"tt-b"}]}' >"$three_dir/topics.json"
  # shellcheck disable=SC2059
  {
    printf "$plan" tt-b 0 2,1 >"$three_dir/order.json"
    printf "$plan" tt-b 0 2,3 >"$three_dir/move.json"
    printf "$plan" tt-b 0 9,1 >"$three_dir/stranger.json"
    printf "$plan" tt-b 0 1,1 >"$three_dir/twice.json"
    printf "$plan" tt-b 7 1,2 >"$three_dir/missing.json"
    printf "$plan" tt-z 0 1,2 >"$three_dir/unknown.json"
    printf "$plan" tt-d 0 1,3 >"$three_dir/slow.json"
    printf "$plan" tt-b 1 1,2 >"$three_dir/more.json"
  }
  echo '{"partitions":[{"topic":"tt-a","partition":0},{"topic":"tt-b","partition":1}]}' >"$three_dir/elect.json"
}

# three_heading names a state.
three_heading() { echo "== $*"; }

three_well() {
  three_heading "three nodes"
  three_tools <<'COMMANDS'
TopicCommand --create --topic tt-a --replica-assignment 1:2:3,2:3:1,3:1:2 --config min.insync.replicas=2
TopicCommand --create --topic tt-b --replica-assignment 1:2,2:3
TopicCommand --create --topic tt-c --replica-assignment 3 --config min.insync.replicas=1
TopicCommand --create --topic tt-d --replica-assignment 2:3
TopicCommand --create --topic tt-e --replica-assignment 1:9
TopicCommand --create --topic tt-e --replica-assignment 1:1
TopicCommand --create --topic tt-e --replica-assignment 1:2,3
TopicCommand --create --topic tt-e --partitions 1 --replication-factor 4
TopicCommand --describe --topic tt-[a-d]
TopicCommand --describe --under-replicated-partitions
TopicCommand --describe --under-min-isr-partitions
TopicCommand --describe --at-min-isr-partitions
TopicCommand --describe --unavailable-partitions
ClusterTool cluster-id
ClusterTool list-endpoints
ClusterTool list-endpoints --include-fenced-brokers
FeatureCommand describe
MetadataQuorumCommand describe --status
MetadataQuorumCommand describe --replication
MetadataQuorumCommand describe --replication --human-readable
ConfigCommand --alter --entity-type brokers --entity-name 3 --add-config log.retention.ms=777777777
ConfigCommand --describe --entity-type brokers --entity-name 3
ConfigCommand --describe --entity-type brokers --entity-name 2
ConfigCommand --alter --entity-type brokers --entity-name 3 --delete-config log.retention.ms
ConfigCommand --alter --entity-type brokers --entity-default --add-config leader.replication.throttled.rate=-1
ConfigCommand --alter --entity-type topics --entity-name tt-a --add-config leader.replication.throttled.replicas=0
ConfigCommand --alter --entity-type brokers --entity-default --add-config min.insync.replicas=1
ConfigCommand --describe --entity-type brokers --entity-default
ConfigCommand --alter --entity-type brokers --entity-default --add-config min.insync.replicas=2
LeaderElectionCommand --election-type preferred --all-topic-partitions
LeaderElectionCommand --election-type preferred --topic tt-a --partition 0
LeaderElectionCommand --election-type unclean --topic tt-a --partition 0
LeaderElectionCommand --election-type preferred --topic tt-a --partition 8
LeaderElectionCommand --election-type preferred --topic tt-z --partition 0
LeaderElectionCommand --election-type preferred --path-to-json-file @elect@
LogDirsCommand --describe --broker-list 1,2,3 --topic-list tt-d
LogDirsCommand --describe --broker-list 9 --topic-list tt-d
ConfigCommand --describe --entity-type topics --entity-name tt-a
COMMANDS
}

# three_moves reassigns: at once, refused, held back, taken back.
three_moves() {
  three_heading "reassignments"
  three_tools <<'COMMANDS'
reassign.ReassignPartitionsCommand --generate --broker-list 1,2,3 --topics-to-move-json-file @topics@ --disable-rack-aware
reassign.ReassignPartitionsCommand --list
reassign.ReassignPartitionsCommand --reassignment-json-file @order@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @order@ --verify
TopicCommand --describe --topic tt-b
LeaderElectionCommand --election-type preferred --topic tt-b --partition 0
reassign.ReassignPartitionsCommand --reassignment-json-file @stranger@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @twice@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @missing@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @unknown@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @unknown@ --verify
reassign.ReassignPartitionsCommand --reassignment-json-file @unknown@ --cancel
reassign.ReassignPartitionsCommand --reassignment-json-file @move@ --cancel
reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --execute --throttle 1
ConfigCommand --describe --entity-type topics --entity-name tt-d
ConfigCommand --describe --entity-type brokers --entity-name 1
ConfigCommand --describe --entity-type brokers --entity-name 3
reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --verify --preserve-throttles
reassign.ReassignPartitionsCommand --list
TopicCommand --describe --topic tt-d
TopicCommand --describe --under-replicated-partitions
reassign.ReassignPartitionsCommand --reassignment-json-file @more@ --execute
reassign.ReassignPartitionsCommand --reassignment-json-file @more@ --execute --additional --throttle 2
ConfigCommand --describe --entity-type topics --entity-name tt-d
ConfigCommand --describe --entity-type brokers --entity-name 1
reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --cancel --preserve-throttles
ConfigCommand --describe --entity-type brokers --entity-name 2
TopicCommand --describe --topic tt-d
reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --verify
reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --execute --throttle 100000000
COMMANDS
  until_prints 'Reassignment of partition tt-d-0 is completed' three_verify >/dev/null
  three_tools <<'COMMANDS'
TopicCommand --describe --topic tt-d
ConfigCommand --describe --entity-type topics --entity-name tt-d
ConfigCommand --describe --entity-type brokers --entity-name 1
reassign.ReassignPartitionsCommand --list
LogDirsCommand --describe --topic-list tt-d
COMMANDS
}
three_verify() { three_tools <<<'reassign.ReassignPartitionsCommand --reassignment-json-file @slow@ --verify'; }

# three_lack is without node 3, which was killed.
three_lack() {
  three_heading "node 3 is gone"
  three_tools <<'COMMANDS'
TopicCommand --describe --topic tt-[a-d]
TopicCommand --describe --under-replicated-partitions
TopicCommand --describe --under-min-isr-partitions
TopicCommand --describe --at-min-isr-partitions
TopicCommand --describe --unavailable-partitions
TopicCommand --create --topic tt-e --replica-assignment 1:3
TopicCommand --create --topic tt-e --replica-assignment 3
TopicCommand --create --topic tt-f --partitions 1 --replication-factor 3
ClusterTool list-endpoints
ClusterTool list-endpoints --include-fenced-brokers
LeaderElectionCommand --election-type preferred --topic tt-a --partition 2
LeaderElectionCommand --election-type unclean --topic tt-c --partition 0
LeaderElectionCommand --election-type unclean --topic tt-a --partition 2
LeaderElectionCommand --election-type preferred --all-topic-partitions
LogDirsCommand --describe --broker-list 3 --topic-list tt-a
COMMANDS
}

three_again() {
  three_heading "node 3 is back"
  three_tools <<'COMMANDS'
TopicCommand --describe --topic tt-[a-d]
TopicCommand --describe --under-replicated-partitions
TopicCommand --describe --unavailable-partitions
ClusterTool list-endpoints
LeaderElectionCommand --election-type preferred --all-topic-partitions
TopicCommand --describe --topic tt-[a-d]
TopicCommand --delete --topic tt-[a-f]
TopicCommand --list
COMMANDS
}

# three_mask leaves out what must differ: ids, addresses, times, folders, the leader of the metadata and its offsets,
# plans that the tool makes at random, and features that are not ours.
three_mask() {
  sed -E -e "s#$three_dir/(node-)?[123]/[^\"]*#DIR#g" -e "s#$three_dir#DIR#g" -e 's/(localhost|127\.0\.0\.1)/HOST/g' -e 's/HOST:[0-9]+/HOST:PORT/g' -e 's/(HOST +)[0-9]+/\1PORT/' \
    -e 's/TopicId: [-_A-Za-z0-9]{22}/TopicId: ID/g' -e 's/(C|c)luster(Id| ID): +.*/\1luster\2: ID/' \
    -e 's/"(logDir|totalBytes|usableBytes)":("[^"]*"|-?[0-9]+)/"\1":X/g' -e 's/"directoryId": "[^"]*"/"directoryId": ID/g' \
    -e 's/^(LeaderId|LeaderEpoch|HighWatermark|MaxFollowerLag|MaxFollowerLagTimeMs):.*/\1: N/' \
    -e 's/^([123]\s+)[-_A-Za-z0-9]{22}\s.*(Leader|Follower|Observer)/\1ID \2/' -e 's/Epoch: [0-9]+/Epoch: N/' \
    -e 's/[ \t]+/ /g' -e 's/ $//' -e '/WARN|SLF4J|^ ?at |^$/d' -e 's/\[20[0-9-]+ [0-9:,]+\]/[TIME]/' \
    -e '/^Proposed partition/{n;s/.*/PLAN/}' -e '/^Feature: (kraft|share|streams|transaction)\.version/d' | three_sorted
}

# three_sorted puts the replicas of the metadata in the order of their ids: who leads is first, and may be any.
three_sorted() {
  awk '/^[123] ID (Leader|Follower)$/ { sub(/(Leader|Follower)$/, "VOTER"); rows[++n] = $0; next }
    { for (i = 1; i <= n; i++) for (j = 1; j <= n; j++) if (substr(rows[j], 1, 1) == i) print rows[j]; n = 0; print }
    END { for (i = 1; i <= n; i++) print rows[i] }'
}

# cluster_tools goes through the states and compares.
cluster_tools() {
  local out="$three_dir/tools.txt" verification="$three_dir/verification" pid
  set +e # A tool that fails as Kafka's does is right.
  three_files
  three_well >"$out" 2>&1
  seq 1 400 | sed 's/.*/key-&:value &/' | produce_lines "$three" tt-a
  seq -f '%01000g' 1 400 | sed 's/.*/key:&/' | tool ConsoleProducer --bootstrap-server "$three" --topic tt-d --command-property batch.size=0 \
    --reader-property parse.key=true --reader-property key.separator=:
  (java_exec org.apache.kafka.tools.ReplicaVerificationTool --broker-list "$three" --topics-include 'tt-[ab]' --report-interval-ms 1000) >"$verification" 2>&1 &
  pid=$!
  three_moves >>"$out" 2>&1
  node_end 3 KILL
  three_await '--under-replicated-partitions' 'tt-a.*Partition: 2'
  three_lack >>"$out" 2>&1
  kill "$pid" # it would go on for ever
  grep -q 'max lag is 0 for partition tt-' "$verification" || { cat "$verification"; return 1; }
  node_begin 3
  three_again >>"$out" 2>&1
  three_mask <"$out" >"$out.masked"
  if [[ -n ${RECORD:-} ]]; then
    mkdir -p "$(dirname "$three_golden")" && cp "$out.masked" "$three_golden"
    return
  fi
  diff "$three_golden" "$out.masked"
}

# three_await OPTION PATTERN waits until a list of partitions has a line.
three_await() { until_prints "$2" tool TopicCommand --bootstrap-server "$three" --describe "$1"; }
