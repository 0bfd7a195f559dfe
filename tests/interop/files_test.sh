#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that our daemon writes while their programs produce, and what stops them.
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# expect_failure TEXT COMMAND... - it fails and says so.
expect_failure() {
	local text=$1 output
	shift
	output=$(limited "$@" 2>&1) && fail "$* did not fail"
	[[ $output == *"$text"* ]] || fail "$* did not say '$text' but: $output"
}

case_a_full_disk_reaches_our_recorder() {
	start_traced ours
	start_probes theirs
	expect_failure 'no space left' "$orma" record -c "$configs/stream.pbtx" --txt -o /dev/full
	# Their recorder would remove /dev/full itself when run by root: it deletes an output that stays empty.
	# The daemon goes on.
	record ours stream "$dir/trace"
}

run_cases "$@"
