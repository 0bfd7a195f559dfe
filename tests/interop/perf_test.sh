#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# perf_test.sh - Linux's perf records a program, and orma's samples and stacks are compared with the text of `perf script`, and the
# shares of functions in perf's samples with those in `orma profile`'s.
#
# Debian: linux-perf. The kernel must let this user sample their own programs (kernel.perf_event_paranoid at most 2).

needs_perfetto=
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly here=${BASH_SOURCE[0]%/*}
readonly program=$ORMA_BUILD_DIR/tests/perf_program shares=$ORMA_BUILD_DIR/tests/perf_shares

find_perf() {
	type -P perf >/dev/null || skip "perf is missing: install linux-perf"
	# Programs of perf that run at the same time share a cache of build ids in HOME, and one of them may abort there.
	export HOME=$dir
}

need_perf() {
	find_perf
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
	limited perf script -i "$1" -F tid,time,ip,dso 2>"$dir/perf.err" | awk -f "$here/perf_flatten.awk" | sort >"$dir/theirs.txt" ||
		die "perf script: $(tail -5 "$dir/perf.err")"
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

# tenths FILE - the percentages of the samples in perf_shares that its functions have: five, three, two.
tenths() {
	{
		local at kind name
		while read -r at kind name; do
			[[ $name != five && $name != three && $name != two ]] || printf 'function %s %d\n' "$name" "0x$at"
		done < <(nm "$shares")
		limited "$orma" sql -f "$here/perf_leaves.sql" --csv "$1" | sed 1d
	} | awk -f "$here/perf_shares.awk"
}

case_shares_of_a_profile_are_those_of_perf() {
	find_perf
	# Kernels whose build id this perf cannot read are no fault of the tree; therefore without build ids.
	local -a record=(perf record -q -N -B -e cpu-clock -F 4000 -g)
	"${record[@]}" -o "$dir/try" true >/dev/null 2>&1 || {
		say "skipped: the kernel refuses to sample"
		exit 77
	}
	limited "${record[@]}" -o "$dir/perf.data" "$shares" 2>"$dir/perf.err" || die "perf record: $(cat "$dir/perf.err")"
	limited "$orma" profile -q -F 4000 -o "$dir/profile.pftrace" -- "$shares" || die "orma profile failed"
	local of_perf of_orma
	of_perf=$(tenths "$dir/perf.data")
	of_orma=$(tenths "$dir/profile.pftrace")
	say "samples and shares of five, three and two: perf $of_perf, orma $of_orma"
	# Three points are four sigma of the difference at 5000 samples each.
	awk -v of_perf="$of_perf" -v of_orma="$of_orma" 'BEGIN {
		split(of_perf, a); split(of_orma, b); split("0 50 30 20", truth)
		if (a[1] < 2000 || b[1] < 2000) exit 1
		for (i = 2; i <= 4; i++)
			if ((a[i] - b[i]) ^ 2 > 9 || (b[i] - truth[i]) ^ 2 > 9) exit 1
	}' || fail "perf and orma differ, or are wrong"
}

# The program is stopped before the profile begins, and then in the middle of one.
case_a_program_that_hangs_does_not_hold_up_the_end() {
	local status=0 pid
	need_perf
	start_daemon spin bash -c 'while :; do :; done'
	pid=${daemon_pid[spin]}
	kill -STOP "$pid"
	timeout 10 "$orma" profile -p "$pid" -t 500ms -o "$dir/none" >/dev/null 2>"$dir/profile.err" || status=$?
	[[ $status -eq 1 ]] || fail "the profile of a stopped program ended with $status"
	grep -q 'there are no samples' "$dir/profile.err" || fail "it says: $(cat "$dir/profile.err")"
	kill -CONT "$pid"
	# On a busy machine it takes a second or two until sampling begins, which the four seconds count from.
	{
		sleep 3.5
		kill -STOP "$pid"
	} &
	timeout 15 "$orma" profile -q -p "$pid" -t 4s -o "$dir/half" 2>"$dir/profile.err" || fail "orma profile: $(cat "$dir/profile.err")"
	wait $!
	[[ $(limited "$orma" sql --csv "$dir/half" "select count(*) > 10 from perf_sample" | sed 1d) == 1 ]] || fail "there are not ten samples"
	kill -CONT "$pid"
}

run_cases "$@"
