# Sourced by run.sh and soak.sh: the integration tests of franz-go's kgo, built from the module's source.

# What these tests ask for is not there: transactions (TestTxnEtl, which does not skip itself), share groups, SASL, a
# Produce of Kafka 0.10. No other test may skip itself.
kgo_needs_more='TestTxnEtl|Test[A-Za-z]*Share[A-Za-z]*|TestSCRAMAuth|TestSCRAMAuthBadCredentials|TestOAuthAuth|TestIssueProduceBrokerTooOldFailsRecords'

install_kgo() {
  (
    cd "$here/clients/go"
    go mod download github.com/twmb/franz-go
    go list -m -f '{{.Dir}}/pkg/kgo' github.com/twmb/franz-go >"$work/kgo.source"
    go test -c -o "$work/kgo.test" github.com/twmb/franz-go/pkg/kgo
  )
}

# kgo_test RECORDS FLAGS... runs the tests where their source is, which one of them reads, on the broker under test, or
# with as many replicas as $kgo_factor says on the brokers at $kgo_seeds.
kgo_test() {
  local log="$work/kgo.log" code=0
  (cd "$(cat "$work/kgo.source")" && KGO_SEEDS="${kgo_seeds:-$addr}" KGO_TEST_RF="${kgo_factor:-1}" KGO_TEST_RECORDS="$1" KGO_LOG_LEVEL="${KGO_LOG_LEVEL:-none}" \
    "$work/kgo.test" -test.v -test.skip '^TestTxnEtl$' "${@:2}") >"$log" 2>&1 || code=1
  kgo_skipped "$log" || code=1
  grep -E '^ *--- FAIL|^panic:|_test.go:[0-9]+: ' "$log" | grep -vE 'DELETING|deleting|not set, skipping|does not support|completed in' || true
  grep -qE '^ *--- PASS: TestGroupETL/' "$log" || code=1
  return $code
}

kgo_skipped() {
  ! grep -E '^ *--- SKIP' "$1" | awk '{ print $3 }' | grep -vxE "$kgo_needs_more" | sed 's/^/skipped: /'
}

kgo_steps() {
  step kgo-tests kgo_test 100000 -test.timeout 4m
}
