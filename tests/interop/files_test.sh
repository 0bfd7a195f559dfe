#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Files that our daemon writes while their programs produce: limits, and what stops them.
# shellcheck disable=SC2317

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

case_full_files_are_followed_by_others_that_stand_alone() {
	local number
	start_traced ours
	start_probes theirs
	{
		cat "$configs/stream.pbtx"
		printf 'output_path: "%s"\nmax_file_size_bytes: 70000\nmax_file_count: 3\n' "$dir/trace"
		printf 'incremental_state_config { clear_period_ms: 500 }\n'
	} >"$dir/rotated.pbtx"
	limited "$orma" record -c "$dir/rotated.pbtx" --txt >>"$dir/recorder.log" 2>&1 ||
		die "recording failed"
	for number in '' .1 .2; do
		[[ -s $dir/trace$number ]] || die "there is no trace$number"
		(($(stat -c %s "$dir/trace$number") < 70000)) || fail "trace$number is too large"
		limited "$trace_check" "$dir/trace$number" --trusted "$(id -u)" --owners "${daemon_pid[probes]}" \
			--count 89:1 --count 33:1 --count 45:1 --has 36 --has 6.1.1=6 --source sys_stats ||
			fail "trace$number does not stand alone"
	done
	[[ ! -e $dir/trace.3 ]] || fail "there is a fourth file"
	check_dump "$dir/trace"
}

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
