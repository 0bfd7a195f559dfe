#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# `orma record` records from Perfetto's `traced`, with producers of both sides.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

case_our_recorder_reads_their_probes_from_their_daemon() {
	start_traced theirs
	start_probes theirs
	record ours probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
	check_dump "$dir/trace"
}

case_our_recorder_reads_our_probes_from_their_daemon() {
	start_traced theirs
	start_probes ours
	record ours probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
	check_dump "$dir/trace"
}

case_our_recorder_reads_track_events_from_their_daemon() {
	start_traced theirs
	start_example
	record ours track_event "$dir/trace"
	check_track_events theirs "$dir/trace" "${daemon_pid[example]}" \
		--owners "${daemon_pid[example]}=$example_uid"
	check_dump "$dir/trace"
}

case_our_recorder_hands_their_daemon_a_file_to_write_into() {
	start_traced theirs
	start_probes ours
	record ours stream "$dir/trace"
	check_trace theirs "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats --source process_stats --source process_tree
}

case_our_interrupted_recording_from_their_daemon_is_whole() {
	start_traced theirs
	start_probes ours
	start_example
	record_interrupted ours everything "$dir/trace"
	check_trace theirs "$dir/trace" \
		--owners "${daemon_pid[probes]},${daemon_pid[example]}=$example_uid" \
		--source sys_stats:2 --source process_stats:1 --source process_tree --source track_event:3
}

case_our_binary_called_perfetto_takes_their_options() {
	start_traced theirs
	start_probes theirs
	record ours_as_theirs probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

case_our_probes_come_back_to_their_daemon_after_its_restart() {
	start_traced theirs
	start_probes ours
	stop_daemon traced
	start_traced theirs
	wait_for_source linux.sys_stats
	record ours probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

run_cases "$@"
