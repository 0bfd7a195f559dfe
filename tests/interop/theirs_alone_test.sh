#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Perfetto's programs on both sides, with the checks of the other tests. A failure here is a fault of the machine or of
# these tests, not of orma.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

case_their_recorder_reads_their_probes_from_their_daemon() {
	start_traced theirs
	start_probes theirs
	record theirs probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

case_two_producers_of_one_source_are_told_apart() {
	start_traced theirs
	start_probes theirs
	start_probes theirs more_probes
	record theirs probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" \
		--owners "${daemon_pid[probes]},${daemon_pid[more_probes]}"
	check_probes theirs "$dir/trace" "${daemon_pid[more_probes]}" \
		--covers 7.1.1 "${daemon_pid[probes]}" "${daemon_pid[more_probes]}" \
		--covers 7.2.1 "${daemon_pid[more_probes]}" "${daemon_pid[probes]}"
}

case_their_daemon_writes_into_the_file_itself() {
	start_traced theirs
	start_probes theirs
	record theirs stream "$dir/trace"
	check_trace theirs "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats --source process_stats --source process_tree
}

case_an_interrupted_recording_of_theirs_is_whole() {
	start_traced theirs
	start_probes theirs
	record_interrupted theirs everything "$dir/trace"
	check_trace theirs "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats:2 --source process_stats:1 --source process_tree
}

case_their_probes_come_back_to_a_restarted_daemon_of_theirs() {
	start_traced theirs
	start_probes theirs
	stop_daemon traced
	start_traced theirs
	wait_for_source linux.system_info
	record theirs probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

run_cases "$@"
