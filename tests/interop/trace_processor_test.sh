#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# trace_processor_test.sh - Perfetto's Trace Processor reads what orma writes, and answers as `orma sql` does.
#
# fetch-trace-processor has fetched it. Debian: nodejs, npm.
#
# It is release 55.3, the newest one that a registry has: Debian's perfetto 56 consists of traced, traced_probes, perfetto and
# libperfetto.so, and no package of npm's list has a newer WebAssembly. Release 55 has no tables for StackSample packets.
# Therefore profiles of waits, which consist of them, are not compared here.

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

# heap NAME OPTION... -- PROGRAM... - profiles the allocations of a program.
heap() {
	limited "$orma" heap -q -o "$dir/own-$1.pftrace" "${@:2}" >/dev/null 2>"$dir/heap.log" || die "orma heap: $(cat "$dir/heap.log")"
}

case_profiles_of_several_heaps() {
	need_processor
	local oracle=$ORMA_BUILD_DIR/tests/heap_oracle
	heap two-heaps -i 1 --heap oracle.007 --heap oracle.254 -- "$oracle" --heaps
	heap all-heaps -i 1 --all-heaps -- "$oracle" --heaps
	heap largest -i 1 --max -- "$oracle" 1
	check_agreement "$dir"/own-{two-heaps,all-heaps,largest}.pftrace
}

# Losses are counted on both sides, so the name does not begin with "own".
case_profiles_of_allocations_with_losses() {
	need_processor
	limited "$orma" heap -q -i 256 -o "$dir/overrun.pftrace" -- "$ORMA_BUILD_DIR/tests/heap_oracle" --overrun >/dev/null 2>"$dir/heap.log" ||
		die "orma heap: $(cat "$dir/heap.log")"
	check_agreement "$dir/overrun.pftrace"
}

has_sites() { [[ -e $1 && $(grep -c ^site_ "$1") -eq 100 ]]; }
has_heaps() { "$orma" query 2>/dev/null | grep -q android.heapprofd; }
has_sessions() { "$orma" status 2>/dev/null | grep -qF "(started: $1)"; }

# Two sessions profile two programs. One program is killed, the other one ends.
case_sessions_of_allocations() {
	need_processor
	local name oracle=$ORMA_BUILD_DIR/tests/heap_oracle
	export ORMA_HEAP_SOCK=$dir/heap
	start_traced ours
	start_daemon profilers "$orma" profd
	poll "$READY_S" has_heaps || die "there is no data source android.heapprofd"
	for name in "1" "64 all_heaps: true continuous_dump_config { dump_interval_ms: 100 }"; do
		# The programs wait for the profiler, so that a busy machine loses nothing.
		cat >"$dir/config-${name%% *}" <<-END
			buffers { size_kb: 65536 }
			data_sources { config { name: "android.heapprofd" heapprofd_config {
				block_client: true process_cmdline: "heap_oracle" sampling_interval_bytes: $name } } }
		END
		start_daemon "session-${name%% *}" "$orma" record -q -c "$dir/config-${name%% *}" -o "$dir/own-session-${name%% *}.pftrace"
	done
	poll "$READY_S" has_sessions 2 || die "the sessions do not start: $("$orma" status)"
	for name in killed ended; do
		start_daemon "$name" env ORMA_HEAP_WAIT=1 LD_PRELOAD="$ORMA_BUILD_DIR/liborma-heap.so" "$oracle" 1 "$dir/end"
		poll "$READY_S" has_sites "$dir/$name.log" || die "the program makes no allocations"
	done
	stop_daemon killed KILL 137
	touch "$dir/end"
	wait "${daemon_pid[ended]}" || fail "the program failed"
	unset "daemon_pid[ended]"
	stop_daemon session-1 INT 0
	stop_daemon session-64 INT 0
	check_agreement "$dir"/own-session-{1,64}.pftrace
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

# Kernel frames, a follower, two sessions, one with a scope, names that the recorder looks up at the end, and two pages for each
# CPU, which lose samples.
case_profiles_of_processors_with_losses() {
	need_processor
	cat >"$dir/config" <<-END
		buffers { size_kb: 65536 }
		data_sources { config { name: "linux.perf" perf_event_config {
			timebase { frequency: 2000 counter: SW_CPU_CLOCK timestamp_clock: PERF_CLOCK_MONOTONIC }
			followers { counter: SW_PAGE_FAULTS name: "faults" } ring_buffer_pages: 2
			callstack_sampling { kernel_frames: true scope { target_cmdline: "perf_program" } } } } }
		data_sources { config { name: "linux.perf" perf_event_config {
			timebase { frequency: 500 counter: SW_CPU_CLOCK } callstack_sampling { kernel_frames: true } } } }
		data_sources { config { name: "linux.process_stats" } }
	END
	limited "$orma" record -q -c "$dir/config" -o "$dir/losses.pftrace" -- "$ORMA_BUILD_DIR/tests/perf_program" >/dev/null 2>"$dir/record.log" ||
		die "orma record: $(cat "$dir/record.log")"
	[[ $(limited "$orma" sql --csv "$dir/losses.pftrace" "select count(*) > 10 from perf_sample" | sed 1d) == 1 ]] || {
		# A machine without the right to sample is no fault of the tree.
		say "skipped: there are no samples: $(cat "$dir/record.log")"
		exit 77
	}
	check_agreement "$dir/losses.pftrace"
}

case_recordings() {
	need_processor
	limited "$orma" record -q -t 700ms -o "$dir/own-record.pftrace" track_event linux.process_stats linux.sys_stats linux.system_info \
		-- "$example" 1 2>"$dir/record.log" || die "orma record: $(cat "$dir/record.log")"
	check_agreement "$dir/own-record.pftrace"
}

run_cases "$@"
