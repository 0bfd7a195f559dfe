#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Our daemon writes files while their programs produce: limits of files, and errors.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

case_full_files_are_followed_by_others_that_stand_alone() {
	local number
	start_traced ours
	start_probes theirs
	{
		# Sample often, so that one file is not enough even on a busy machine. Leave out the tree of processes, because
		# that of a machine with hundreds of them fills a file by itself.
		sed -e '/^data_sources {/{N;N;/process_stats/{N;N;N;d}}' \
			-e 's/\(meminfo\|vmstat\)_period_ms: 50/\1_period_ms: 10/g' "$configs/stream.pbtx"
		printf 'output_path: "%s"\nmax_file_size_bytes: 70000\nmax_file_count: 2\n' "$dir/trace"
		printf 'incremental_state_config { clear_period_ms: 500 }\n'
	} >"$dir/rotated.pbtx"
	limited "$orma" record -c "$dir/rotated.pbtx" --txt >>"$dir/recorder.log" 2>&1 ||
		die "recording failed"
	for number in '' .1; do
		[[ -s $dir/trace$number ]] || die "there is no trace$number"
		(($(stat -c %s "$dir/trace$number") < 70000)) || fail "trace$number is too large"
		limited "$trace_check" "$dir/trace$number" --trusted "$(id -u)" \
			--count 89:1 --count 33:1 --count 45:1 --has 36 --has 6.1.1=6 ||
			fail "trace$number does not stand alone"
	done
	# A file may become full between two samples.
	cat "$dir/trace.1" "$dir/trace" >"$dir/both"
	limited "$trace_check" "$dir/both" --trusted "$(id -u)" --owners "${daemon_pid[probes]}" --source sys_stats ||
		fail "samples are missing"
	[[ ! -e $dir/trace.2 ]] || fail "there is a third file"
	check_dump "$dir/trace"
}

# expect_failure TEXT COMMAND... - checks that the command fails and prints the text.
expect_failure() {
	local text=$1 output
	shift
	output=$(limited "$@" 2>&1) && fail "$* did not fail"
	[[ $output == *"$text"* ]] || fail "$* did not print '$text' but: $output"
}

case_a_full_disk_reaches_either_recorder() {
	start_traced ours
	start_probes theirs
	# Their recorder removes its output when the service reports an error.
	ln -s /dev/full "$dir/full"
	expect_failure 'no space left' "$orma" record -c "$configs/stream.pbtx" --txt -o "$dir/full"
	limited "$theirs/perfetto" -c "$configs/stream.pbtx" --txt -o "$dir/full" >"$dir/theirs.out" 2>&1 || true
	grep -q 'no space left' "$dir/theirs.out" || fail "their recorder was not told: $(cat "$dir/theirs.out")"
	[[ -c /dev/full ]] || die "/dev/full is gone"
	# The daemon continues to work.
	record ours stream "$dir/trace"
}

run_cases "$@"
