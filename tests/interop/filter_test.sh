#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Trace filters: orma's daemon and Perfetto's filter the same packets in the same way.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

filtered=$ORMA_BUILD_DIR/tests/filtered

# record_filtered SIDE CONFIG_ARGUMENT... - records a new producer with SIDE's daemon into $dir/trace-SIDE.
record_filtered() {
	local side=$1
	shift
	"$filtered" config "$@" >"$dir/config"
	start_traced "$side"
	start_daemon producer "$filtered" produce
	wait_for_source test.filtered
	limited "$theirs/perfetto" -c "$dir/config" -o "$dir/trace-$side" >>"$dir/recorder.log" 2>&1 ||
		die "recording from $side failed"
	stop_daemon producer
	stop_daemon traced
}

compare_filtered() {
	record_filtered theirs "$@"
	rm -f "$dir/producer" "$dir/consumer"
	record_filtered ours "$@"
	limited "$filtered" compare "$dir/trace-theirs" "$dir/trace-ours" >&2 || fail "the filtered traces differ"
}

case_a_filtered_trace_has_the_bytes_of_theirs() {
	compare_filtered
}

case_a_filtered_file_has_the_bytes_of_theirs() {
	compare_filtered file
}

case_a_broken_filter_is_refused_by_both() {
	local side output wanted
	printf 'buffers { size_kb: 64 } duration_ms: 100 trace_filter { bytecode_v2: "x" }' >"$dir/config"
	for side in theirs ours; do
		start_traced "$side"
		output=$(limited "$theirs/perfetto" -c "$dir/config" --txt -o "$dir/trace" 2>&1) || true
		[[ $side == ours ]] && wanted='trace_filter.bytecode_v2: the checksum is' || wanted='bytecode invalid'
		[[ $output == *"$wanted"* ]] || fail "$side does not print '$wanted' but: $output"
		[[ ! -s $dir/trace ]] || fail "$side recorded with a broken filter"
		stop_daemon traced
		rm -f "$dir/producer" "$dir/consumer" "$dir/trace"
	done
}

run_cases "$@"
