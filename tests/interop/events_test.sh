#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Track events of every kind have the same meaning after Perfetto's daemon and after ours. Perfetto understands how
# categories are registered.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly every_kind=$ORMA_BUILD_DIR/tests/every_kind trace_events=$ORMA_BUILD_DIR/tests/trace_events

# record_kinds DAEMON RECORDER CONFIG NAME - makes $dir/NAME.trace, and $dir/NAME with its events as text.
record_kinds() {
	local pid
	start_traced "$1"
	start_daemon every_kind "$every_kind" 60
	wait_for_source track_event
	pid=${daemon_pid[every_kind]}
	record "$2" "$3" "$dir/$4.trace"
	check_trace "$1" "$dir/$4.trace" --source "track_event@$pid:20"
	"$trace_events" "$dir/$4.trace" "$pid" >"$dir/$4" || fail "$4 cannot be read"
	stop_daemon every_kind
	stop_daemon traced
}

same_through_both() {
	record_kinds theirs theirs "$1" theirs.events
	record_kinds ours ours "$1" ours.events
	diff "$dir/theirs.events" "$dir/ours.events" >&2 || fail "their daemon's trace and ours differ"
}

case_events_of_every_kind_are_the_same_through_their_daemon_and_ours() {
	same_through_both kinds
	diff "$configs/../kinds.expected" "$dir/ours.events" >&2 || fail "the events are not those that were emitted"
}

case_events_of_a_config_that_filters_and_samples_are_the_same_too() {
	same_through_both kinds_filtered
	grep -q 'name=FILTERED' "$dir/ours.events" || fail "dynamic names were not filtered"
	grep -q 'INSTANT in=kinds name=numbers time$' "$dir/ours.events" || fail "arguments were not filtered"
	grep -q 'kinds.tagged' "$dir/ours.events" && fail "a disabled tag was enabled"
	true
}

case_their_daemon_lists_our_categories() {
	start_traced theirs
	start_daemon every_kind "$every_kind" 60
	wait_for_source track_event
	# data_sources, ds_descriptor, track_event_descriptor, available_categories, name or tags
	query_service "$dir/state"
	"$trace_check" "$dir/state" --message --has 2.1.6.1.1=kinds --has 2.1.6.1.1=kinds.tagged \
		--has 2.1.6.1.3=fourth --has "2.1.6.1.2=Of every kind one" || fail "categories are missing"
}

case_of_too_many_categories_what_fits_is_listed_and_all_can_be_enabled() {
	local pid
	for daemon in theirs ours; do
		start_traced "$daemon"
		start_daemon every_kind "$every_kind" 60 20000
		wait_for_source track_event
		pid=${daemon_pid[every_kind]}
		query_service "$dir/state"
		"$trace_check" "$dir/state" --message --has 2.1.6.1.1=crowd.19999 --has 2.1.6.1.1=crowd.15000 ||
			fail "$daemon: the categories are not listed"
		"$trace_check" "$dir/state" --message --has 2.1.6.1.1=crowd.0 2>/dev/null &&
			fail "$daemon: the first category is listed, although the list is too small for it"
		record "$daemon" crowd "$dir/crowd.trace"
		"$trace_events" "$dir/crowd.trace" "$pid" >"$dir/crowd.events" || fail "the trace cannot be read"
		grep -q 'INSTANT in=crowd.0 name=of the crowd' "$dir/crowd.events" || fail "$daemon: crowd.0 was not enabled"
		stop_daemon every_kind
		stop_daemon traced
	done
}

run_cases "$@"
