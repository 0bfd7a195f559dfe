#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# perf_test.sh - Linux's perf records a program, and orma's samples and stacks are compared with the text of `perf script`.
#
# Debian: linux-perf. The kernel must let this user sample their own programs (kernel.perf_event_paranoid at most 2).

needs_perfetto=
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly here=${BASH_SOURCE[0]%/*}
readonly program=$ORMA_BUILD_DIR/tests/perf_program

need_perf() {
	type -P perf >/dev/null || skip "perf is missing: install linux-perf"
	# A machine without the right to sample is no fault of the tree, so this skips in CI, too.
	perf record -q -e cpu-clock -o "$dir/try" true >/dev/null 2>&1 || {
		say "skipped: the kernel refuses to sample"
		exit 77
	}
}

# perf_record OPTION... - records the program.
perf_record() { limited perf record -q -e cpu-clock -F 2000 -g "$@" "$program" 2>"$dir/perf.err" || die "perf record: $(cat "$dir/perf.err")"; }

# compare FILE - every sample with its thread, time and stack.
compare() {
	limited perf script -i "$1" -F tid,time,ip,dso 2>/dev/null | awk -f "$here/perf_flatten.awk" | sort >"$dir/theirs.txt"
	limited "$orma" sql -f "$here/perf_stacks.sql" --csv "$1" | sed '1d; s/^"//; s/"$//' | sort >"$dir/ours.txt"
	[[ $(wc -l <"$dir/theirs.txt") -ge 50 ]] || fail "perf prints $(wc -l <"$dir/theirs.txt") samples, less than 50"
	[[ $(cut -d ' ' -f 1 "$dir/theirs.txt" | uniq | wc -l) -eq 2 ]] || fail "the samples are not of two threads"
	cmp -s "$dir/theirs.txt" "$dir/ours.txt" || {
		diff "$dir/theirs.txt" "$dir/ours.txt" | head -20 >&2
		fail "orma and perf script differ"
	}
}

case_samples_and_stacks_are_as_perf_prints_them() {
	need_perf
	perf_record -o "$dir/perf.data"
	compare "$dir/perf.data"
}

case_a_compressed_recording_is_read() {
	need_perf
	perf version --build-options | grep -q 'zstd: \[ on' || skip "this perf has no zstd"
	"$orma" --version | grep -q zstd || skip "this orma has no zstd"
	perf_record -z -o "$dir/perf.data"
	compare "$dir/perf.data"
}

case_what_perf_writes_to_a_pipe_is_read() {
	need_perf
	perf_record -o - >"$dir/perf.data"
	compare "$dir/perf.data"
}

run_cases "$@"
