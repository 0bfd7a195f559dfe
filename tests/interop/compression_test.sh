#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compressed traces of both sides' daemons: decompressed by the codecs' own libraries, they contain what
# uncompressed traces contain. Perfetto 56 knows only the older of the two fields, and only deflate.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# How often probes poll within the two seconds of a config depends on the machine's load. Each must send one packet,
# and none may be lost.
readonly DEFLATE='compression_type: COMPRESSION_TYPE_DEFLATE'

# with_compression CONFIG TEXT - prints the path of a config to which the text is added.
with_compression() {
	{
		cat "$configs/$1.pbtx"
		printf '%s\n' "$2"
	} >"$dir/$1.pbtx"
	printf '%s' "$dir/$1.pbtx"
}

case_their_recorder_reads_deflated_packets_from_our_daemon() {
	start_traced ours
	start_probes theirs
	record theirs "$(with_compression probes "$DEFLATE")" "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}" --compressed deflate
	check_dump "$dir/trace" --compressed deflate
}

case_our_daemon_writes_a_deflated_file_for_their_recorder() {
	start_traced ours
	start_probes theirs
	record theirs "$(with_compression stream "$DEFLATE")" "$dir/trace"
	check_trace ours "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats --source process_stats --source process_tree --compressed deflate
	check_dump "$dir/trace" --compressed deflate
}

case_our_recorder_reads_deflated_packets_from_their_daemon() {
	start_traced theirs
	start_probes ours
	record ours "$(with_compression probes "$DEFLATE")" "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}" --compressed deflate
	check_dump "$dir/trace" --compressed deflate
}

case_their_daemon_writes_a_deflated_file_for_our_recorder() {
	start_traced theirs
	start_probes ours
	record ours "$(with_compression stream "$DEFLATE")" "$dir/trace"
	check_trace theirs "$dir/trace" --owners "${daemon_pid[probes]}" \
		--source sys_stats --source process_stats --source process_tree --compressed deflate
	check_dump "$dir/trace" --compressed deflate
}

case_zstd_holds_what_no_compression_holds() {
	start_traced ours
	start_probes theirs
	record ours "$(with_compression probes 'compression { zstd {} deflate {} }')" "$dir/packed"
	record ours probes "$dir/plain"
	check_probes ours "$dir/packed" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}" --compressed zstd
	check_probes ours "$dir/plain" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
	check_dump "$dir/packed" --compressed zstd
	# The copy has the same packets, not compressed. The other recording is of other seconds, in which the machine may do less.
	limited "$orma" cat "$dir/packed" -o "$dir/copy" || fail "orma cat packed failed"
	(($(stat -c %s "$dir/packed") * 2 < $(stat -c %s "$dir/copy"))) || fail "zstd saved less than half"
}

run_cases "$@"
