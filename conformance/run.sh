#!/usr/bin/env bash
# Real clients against Mortise, with a real Kafka beside it to compare. Called by `make conformance`.
#
#   run.sh [STEP-PREFIX...]      run all steps, or those whose names start so
#
# Each step prints "ok NAME (seconds)" or "FAIL NAME (seconds)" with what went wrong; the last line is
# "N passed, M failed". MORTISE_CACHE holds what is downloaded (default ~/.cache/mortise); CONFORMANCE_TARGET=kafka
# puts a second real Kafka in Mortise's place, which checks this script itself.
set -uo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/mortise-conformance.XXXXXX")
only=("$@")

# shellcheck source=clients/steps.sh
source "$here/clients/steps.sh"
# shellcheck source=clients/install.sh
source "$here/clients/install.sh"
# shellcheck source=clients/brokers.sh
source "$here/clients/brokers.sh"
# shellcheck source=clients/tree.sh
source "$here/clients/tree.sh"
# shellcheck source=clients/tools.sh
source "$here/clients/tools.sh"
# shellcheck source=clients/groups.sh
source "$here/clients/groups.sh"
# shellcheck source=clients/admin.sh
source "$here/clients/admin.sh"
# shellcheck source=clients/kgo.sh
source "$here/clients/kgo.sh"
# shellcheck source=clients/streams.sh
source "$here/clients/streams.sh"
# shellcheck source=clients/connect.sh
source "$here/clients/connect.sh"
# shellcheck source=clients/members.sh
source "$here/clients/members.sh"
# shellcheck source=clients/compaction.sh
source "$here/clients/compaction.sh"
# shellcheck source=clients/disk.sh
source "$here/clients/disk.sh"
# shellcheck source=clients/takeover.sh
source "$here/clients/takeover.sh"
# shellcheck source=clients/plugins.sh
source "$here/clients/plugins.sh"
# shellcheck source=clients/security.sh
source "$here/clients/security.sh"
# shellcheck source=clients/telemetry.sh
source "$here/clients/telemetry.sh"
# shellcheck source=clients/cluster.sh
source "$here/clients/cluster.sh"
# shellcheck source=clients/three.sh
source "$here/clients/three.sh"
# shellcheck source=clients/gotests.sh
source "$here/clients/gotests.sh"

# KEEP=1 leaves what the steps wrote.
trap 'stop_all; three_stop; [[ -n ${KEEP:-} ]] && echo "$work" || rm -rf "$work"' EXIT

for what in kcat java python node go members javac kgo; do
  must "install-$what" "install_$what"
done
must build build_target
must start-kafka reference_start
must start-mortise target_start

tools_steps
groups_steps
admin_steps
kgo_steps
members_steps
streams_steps
connect_steps
tree_steps
crash_steps
compaction_steps
disk_steps
takeover_steps
plugins_steps
security_steps
telemetry_steps
cluster_steps
gotest_steps

finish
