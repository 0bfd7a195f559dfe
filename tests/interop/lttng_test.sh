#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# lttng_test.sh - LTTng records a program in user space, and orma's answers are compared with babeltrace2's text.
#
# Debian: lttng-tools, liblttng-ust-dev (the build needs it), babeltrace2. A session daemon of root would be the machine's,
# so that root runs it as another user.

needs_perfetto=
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly program=$ORMA_BUILD_DIR/tests/lttng_program

# as_user COMMAND... - runs a command as the user that records.
as_user() {
	local as=()
	[[ $(id -u) -ne 0 ]] || as=(setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups)
	"${as[@]}" "$@"
}

is_ready() { as_user env HOME="$dir/home" LTTNG_HOME="$dir/home" lttng --no-sessiond list >/dev/null 2>&1; }

# user_lttng ARGUMENT... - LTTng's command, which must succeed.
user_lttng() {
	as_user env HOME="$dir/home" LTTNG_HOME="$dir/home" timeout "$STEP_S" lttng --no-sessiond "$@" \
		>>"$dir/lttng.log" 2>&1 </dev/null || die "lttng $* failed"
}

start_lttng() {
	local name
	[[ -x $program ]] || skip "the program was not built: install liblttng-ust-dev"
	for name in lttng lttng-sessiond babeltrace2 awk; do
		type -P "$name" >/dev/null || skip "$name is missing: install lttng-tools, babeltrace2"
	done
	cp "$program" "$dir/program"
	mkdir "$dir/home" "$dir/trace"
	chmod 777 "$dir/home" "$dir/trace"
	local as=()
	[[ $(id -u) -ne 0 ]] || as=(setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups)
	start_daemon sessiond "${as[@]}" env HOME="$dir/home" LTTNG_HOME="$dir/home" lttng-sessiond --no-kernel
	poll "$READY_S" is_ready || die "lttng-sessiond was not ready after $READY_S s"
}

# run_program COUNT - LTTng discards events on a busy machine even where it was told to wait for space, so
# that the buffers of the cases hold all events, unless the losses are what is tested.
run_program() {
	as_user env HOME="$dir/home" LTTNG_HOME="$dir/home" LTTNG_UST_REGISTER_TIMEOUT=20000 \
		timeout "$STEP_S" "$dir/program" "$1" || die "the program failed"
}

# compare_events MINIMUM [seconds|cycles] - compares all events of the trace, with their fields, and their times of day or
# of the clock. LTTng measures the time of day for each trace anew, and orma takes one for all traces of a clock.
compare_events() {
	local time=${2:-seconds} other=1
	[[ $time == seconds ]] || other=2
	limited babeltrace2 "--clock-$time" --no-delta "$dir/trace" 2>"$dir/babeltrace.err" |
		awk -f "${BASH_SOURCE[0]%/*}/lttng_flatten.awk" | sort >"$dir/theirs.txt"
	limited "$orma" sql -f "${BASH_SOURCE[0]%/*}/lttng_events.sql" --csv "$dir/trace" |
		sed '1d; s/^"//; s/"$//' | cut -d ' ' -f "$other" --complement | sort >"$dir/ours.txt"
	[[ $(wc -l <"$dir/theirs.txt") -ge $1 ]] || fail "babeltrace2 prints $(wc -l <"$dir/theirs.txt") events, less than $1"
	cmp -s "$dir/theirs.txt" "$dir/ours.txt" || {
		diff "$dir/theirs.txt" "$dir/ours.txt" | head -20 >&2
		fail "orma and babeltrace2 differ"
	}
}

# ask QUERY - the answer without its header.
ask() { limited "$orma" sql --csv "$dir/trace" "$1" | sed 1d; }

case_every_event_and_field_is_as_babeltrace_prints_it() {
	start_lttng
	user_lttng create s --output="$dir/trace"
	user_lttng enable-channel --userspace --subbuf-size 128K --num-subbuf 32 c
	user_lttng enable-event --userspace --channel c --all
	user_lttng add-context --userspace --channel c --type vpid --type vtid --type procname --type pthread_id --type ip
	user_lttng start
	run_program 3000
	user_lttng stop
	user_lttng destroy
	compare_events 8000
	[[ $(ask "select group_concat(name) from (select name from thread where name != 'swapper' and name not like '%-ust' order by name)") == '"program,second"' ]] ||
		fail "the names of threads are $(ask 'select name from thread')"
	[[ $(ask "select sum(value) from stats where name glob 'ctf_*'") == 0 ]] || fail "there is a loss"
}

case_buffers_of_each_process_and_compact_headers_are_read() {
	start_lttng
	user_lttng create s --output="$dir/trace"
	user_lttng enable-channel --userspace --buffers-pid --subbuf-size 64K --num-subbuf 16 c
	user_lttng enable-event --userspace --channel c 'orma_test:*'
	user_lttng start
	run_program 500
	run_program 500
	user_lttng stop
	user_lttng destroy
	compare_events 2600 cycles
	# Without contexts, the trace still says which process made the events.
	[[ $(ask "select count(*) from process where name = 'program'") == 2 ]] || fail "there are not two processes"
}

case_snapshots_and_files_that_were_changed_are_read() {
	start_lttng
	user_lttng create s --snapshot --output="$dir/trace"
	user_lttng enable-channel --userspace --overwrite --subbuf-size 16K --num-subbuf 4 c
	user_lttng enable-event --userspace --channel c 'orma_test:*'
	user_lttng start
	run_program 5000
	user_lttng stop
	user_lttng snapshot record
	user_lttng destroy
	compare_events 100
}

case_files_of_one_stream_are_joined() {
	start_lttng
	user_lttng create s --output="$dir/trace"
	user_lttng enable-channel --userspace --subbuf-size 16K --num-subbuf 64 --tracefile-size 64K c
	user_lttng enable-event --userspace --channel c 'orma_test:*'
	user_lttng start
	run_program 3000
	user_lttng stop
	user_lttng destroy
	compare_events 8000
	[[ $(ask "select sum(value) from stats where name glob 'ctf_*'") == 0 ]] || fail "there is a loss"
}

# record_discarding - records with buffers that are too small, into an empty folder.
record_discarding() {
	rm -rf "$dir/trace"
	mkdir -m 777 "$dir/trace"
	user_lttng create s --output="$dir/trace"
	user_lttng enable-channel --userspace --subbuf-size 4K --num-subbuf 2 c
	user_lttng enable-event --userspace --channel c 'orma_test:*'
	user_lttng start
	run_program 100000
	user_lttng stop
	user_lttng destroy
}

# LTTng sometimes writes 0 as the counter of one packet, after larger ones. babeltrace2 then prints a difference near 2^64,
# and later counts the events again.
is_count_nonsense() { grep -qE 'discarded [0-9]{16,} event' "$dir/babeltrace.err"; }

case_discarded_events_are_counted() {
	local discarded
	start_lttng
	for _ in 1 2 3 4 5; do
		record_discarding
		compare_events 10
		is_count_nonsense || break
	done
	discarded=$(sed -n 's/.*[Tt]racer discarded \([0-9]*\) event.*/\1/p' "$dir/babeltrace.err" | awk '{ sum += $1 } END { print sum + 0 }')
	[[ $discarded -gt 0 ]] || fail "nothing was discarded"
	[[ $(ask "select value from stats where name = 'ctf_events_discarded'") == "$discarded" ]] ||
		fail "orma counts $(ask "select value from stats where name = 'ctf_events_discarded'") discarded events, babeltrace2 $discarded"
}

run_cases "$@"
