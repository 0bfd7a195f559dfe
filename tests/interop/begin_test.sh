#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Our producers start before the daemon, or in a fork, with the daemons of both sides.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly early=$ORMA_BUILD_DIR/tests/early

write_config() {
	cat >"$dir/config" <<'END'
buffers { size_kb: 4096 }
duration_ms: 700
data_sources { config { name: "track_event" track_event_config { enabled_categories: "*" } } }
data_sources { config { name: "test.early" } }
END
}

# record_startup DAEMON RECORDER
record_startup() {
	local pid
	write_config
	start_daemon early "$early" startup "$dir/ready"
	poll "$READY_S" test -e "$dir/ready" || die "the program does not begin"
	pid=${daemon_pid[early]}
	start_traced "$1"
	wait_for_source test.early
	record "$2" "$dir/config" "$dir/trace"
	check_trace "$1" "$dir/trace" --owners "$pid" --slices 0 \
		--count "12.2.2=early@$pid:1" --has "11.9=3@$pid:52" --has "12.2.2=late@$pid" \
		--count "900.1@$pid:300"
}

# record_fork DAEMON RECORDER
record_fork() {
	local pid child
	write_config
	start_traced "$1"
	start_daemon early "$early" fork "$dir/ready"
	wait_for_source track_event
	poll "$READY_S" has_in_service --has "2.1.1=track_event:2" || die "the child does not come"
	pid=${daemon_pid[early]}
	child=$(pgrep -P "$pid")
	record "$2" "$dir/config" "$dir/trace"
	check_trace "$1" "$dir/trace" --owners "$pid,$child" --slices 0 \
		--has "12.2.2=parent@$pid" --none "12.2.2=child@$pid" \
		--has "12.2.2=child@$child" --none "12.2.2=parent@$child" \
		--has "2.1.1=$child@$child" --has "2.1.2=$pid@$child" --none "2@$pid"
}

case_what_began_before_their_daemon_is_in_their_trace() { record_startup theirs theirs; }

case_what_began_before_our_daemon_is_in_their_recorders_trace() { record_startup ours theirs; }

case_what_began_before_their_daemon_is_in_our_recorders_trace() { record_startup theirs ours; }

case_the_child_of_a_fork_is_a_producer_of_their_daemon() { record_fork theirs theirs; }

case_the_child_of_a_fork_is_a_producer_of_our_daemon() { record_fork ours ours; }

run_cases "$@"
