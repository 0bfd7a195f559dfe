#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Perfetto's `perfetto` records from orma's daemon, with producers of both sides.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

case_their_recorder_reads_our_probes_from_our_daemon() {
	start_traced ours
	start_probes ours
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
	check_dump "$dir/trace"
}

case_their_recorder_reads_their_probes_from_our_daemon() {
	start_traced ours
	start_probes theirs
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
	check_dump "$dir/trace"
}

case_our_probes_report_all_that_theirs_report() {
	start_traced ours
	start_probes theirs their_probes
	start_probes ours our_probes
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[their_probes]}" \
		--owners "${daemon_pid[their_probes]},${daemon_pid[our_probes]}"
	# Both probes read the counters and processors of the same kernel.
	check_probes ours "$dir/trace" "${daemon_pid[our_probes]}" \
		--covers 7.1.1 "${daemon_pid[our_probes]}" "${daemon_pid[their_probes]}" \
		--covers 7.2.1 "${daemon_pid[our_probes]}" "${daemon_pid[their_probes]}" \
		--covers 7.3.1 "${daemon_pid[our_probes]}" "${daemon_pid[their_probes]}"
}

case_their_recorder_reads_track_events_from_our_daemon() {
	start_traced ours
	start_example
	record theirs track_event "$dir/trace"
	check_track_events ours "$dir/trace" "${daemon_pid[example]}" \
		--owners "${daemon_pid[example]}=$example_uid"
}

case_our_daemon_writes_their_probes_into_the_file_of_their_recorder() {
	start_traced ours
	start_probes theirs
	record theirs stream "$dir/trace"
	check_trace ours "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats --source process_stats --source process_tree
	check_dump "$dir/trace"
}

case_an_interrupted_recording_from_our_daemon_is_whole() {
	start_traced ours
	start_probes theirs their_probes
	start_example
	record_interrupted theirs everything "$dir/trace"
	check_trace ours "$dir/trace" \
		--owners "${daemon_pid[their_probes]},${daemon_pid[example]}=$example_uid" \
		--source sys_stats:2 --source process_stats:1 --source process_tree --source track_event:3
}

case_their_probes_come_back_to_our_daemon_after_its_restart() {
	start_traced ours
	start_probes theirs
	stop_daemon traced
	start_traced ours
	wait_for_source linux.system_info
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

run_cases "$@"
