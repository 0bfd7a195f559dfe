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

readonly -a record=(perf record -q -e cpu-clock)

need_perf() {
	type -P perf >/dev/null || skip "perf is missing: install linux-perf"
	# A machine without the right to sample is no fault of the tree, so this skips in CI, too.
	limited "${record[@]}" -o "$dir/try" true >/dev/null 2>"$dir/perf.err" || {
		say "skipped: perf cannot sample here: $(tail -1 "$dir/perf.err")"
		exit 77
	}
}

# perf_record OPTION... - records the program. What perf writes to its standard output is in perf.out.
perf_record() {
	limited "${record[@]}" -F 2000 -g "$@" "$program" >"$dir/perf.out" 2>"$dir/perf.err" || die "perf record: $(cat "$dir/perf.err")"
}

# compare FILE - every sample with its thread, time and stack.
compare() {
	limited perf script -i "$1" -F tid,time,ip,dso >"$dir/perf.out" 2>"$dir/perf.err" || die "perf script: $(tail -5 "$dir/perf.err")"
	awk -f "$here/perf_flatten.awk" "$dir/perf.out" | sort >"$dir/theirs.txt"
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

# samples PID - has the process opened events?
samples() { find "/proc/$1/fd" -lname 'anon_inode:\[perf_event\]' 2>/dev/null | grep -q .; }

# The kernel mixes up mappings of one program's events with those that another one asks for.
case_perf_is_not_disturbed_by_a_profile() {
	need_perf
	start_daemon profile "$orma" profile -q -t 60s -o "$dir/profile.pftrace"
	poll "$READY_S" samples "${daemon_pid[profile]}" || die "orma profile does not sample: $(cat "$dir/profile.log")"
	perf_record -o "$dir/perf.data"
	stop_daemon profile INT
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
	perf_record -o -
	mv "$dir/perf.out" "$dir/perf.data"
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
	need_perf
	limited "${record[@]}" -F 4000 -g -o "$dir/perf.data" "$shares" 2>"$dir/perf.err" || die "perf record: $(cat "$dir/perf.err")"
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

is_larger() { [[ $(stat -c %s "$1" 2>/dev/null || echo 0) -gt $2 ]]; } # FILE BYTES
has_ended() { ! kill -0 "$1" 2>/dev/null; }                           # PID

# The program is stopped before the profile begins, and then in the middle of one.
case_a_program_that_hangs_does_not_hold_up_the_end() {
	local status=0 pid profile samples
	need_perf
	start_daemon spin bash -c 'while :; do :; done'
	pid=${daemon_pid[spin]}
	kill -STOP "$pid"
	timeout 10 "$orma" profile -p "$pid" -t 500ms -o "$dir/none" >/dev/null 2>"$dir/profile.err" || status=$?
	[[ $status -eq 1 ]] || fail "the profile of a stopped program ended with $status"
	grep -q 'there are no samples' "$dir/profile.err" || fail "it says: $(cat "$dir/profile.err")"
	kill -CONT "$pid"
	# A busy machine lets a program run for less than the 10 ms between two samples of the usual 99 Hz.
	"$orma" profile -q -p "$pid" -F 1000 -o "$dir/half" 2>"$dir/profile.err" &
	profile=$!
	# Without samples the trace has half of that.
	poll "$STEP_S" is_larger "$dir/half" 40000 || fail "the profile does not grow: $(cat "$dir/profile.err")"
	kill -STOP "$pid"
	kill -INT "$profile"
	poll 15 has_ended "$profile" || fail "the profile does not end"
	wait "$profile" || fail "orma profile: $(cat "$dir/profile.err")"
	samples=$(limited "$orma" sql --csv "$dir/half" "select count(*) from perf_sample" | sed 1d)
	[[ $samples -gt 10 ]] || fail "there are $samples samples: $(cat "$dir/profile.err")"
	kill -CONT "$pid"
}

run_cases "$@"
