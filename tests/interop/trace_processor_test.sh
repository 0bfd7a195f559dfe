#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trace_processor_test.sh - Perfetto's Trace Processor reads what orma writes, and answers as `orma sql` does.
#
# fetch-trace-processor has fetched it. Debian: nodejs, npm.

needs_perfetto=
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly here=${BASH_SOURCE[0]%/*} processor=$ORMA_BUILD_DIR/trace-processor

# Without npm or a network this skips in CI, too.
need_processor() {
	[[ -e $processor/is-complete ]] || {
		say "skipped: Trace Processor is not in $processor; run tests/interop/fetch-trace-processor"
		exit 77
	}
}

# check_agreement TRACE... - both answer the same about these traces.
check_agreement() {
	node "$here/trace_processor_agrees.mjs" "$orma" "$processor" "$@" >"$dir/agreement" 2>&1 || {
		head -c 4000 "$dir/agreement" >&2
		fail "Trace Processor and orma differ"
	}
	tail -1 "$dir/agreement" >&2
}

# text_trace NAME - a trace of the tests of commands, as bytes.
text_trace() { "$ORMA_BUILD_DIR/tests/text_to_trace" <"$here/../cli/traces/$1.txt" >"$dir/$1.pftrace" || die "text_to_trace $1"; }

case_traces_in_text() {
	need_processor
	local name
	local -a traces=("$here"/../../../shared/data/track-event-csdk.pftrace "$here"/../../../shared/data/linux-procfs.pftrace)
	[[ -e ${traces[0]} ]] || traces=()
	for name in compact heap links requests; do
		text_trace "$name"
		traces+=("$dir/$name.pftrace")
	done
	limited "$orma" export --json "$dir/requests.json" "$dir/requests.pftrace" || fail "orma export --json failed"
	check_agreement "${traces[@]}" "$dir/requests.json"
}

case_profiles_of_allocations() {
	need_processor
	limited "$orma" heap -q -i 1 -o "$dir/own-heap.pftrace" -- "$ORMA_BUILD_DIR/tests/heap_oracle" 3 >"$dir/sites" 2>"$dir/heap.log" ||
		die "orma heap: $(cat "$dir/heap.log")"
	limited "$orma" heap -q --dump-interval 20ms -o "$dir/own-dumps.pftrace" -- "$ORMA_BUILD_DIR/tests/heap_oracle" 3 >/dev/null 2>"$dir/heap.log" ||
		die "orma heap: $(cat "$dir/heap.log")"
	check_agreement "$dir/own-heap.pftrace" "$dir/own-dumps.pftrace"
}

case_profiles_of_processors() {
	need_processor
	limited "$orma" profile -q -F 500 -o "$dir/own-profile.pftrace" -- "$ORMA_BUILD_DIR/tests/perf_program" >/dev/null 2>"$dir/profile.log" || {
		# A machine without the right to sample is no fault of the tree.
		say "skipped: orma profile: $(cat "$dir/profile.log")"
		exit 77
	}
	check_agreement "$dir/own-profile.pftrace"
}

case_recordings() {
	need_processor
	limited "$orma" record -q -t 700ms -o "$dir/own-record.pftrace" track_event linux.process_stats linux.sys_stats linux.system_info \
		-- "$example" 1 2>"$dir/record.log" || die "orma record: $(cat "$dir/record.log")"
	check_agreement "$dir/own-record.pftrace"
}

run_cases "$@"
