#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Perfetto's `perfetto --query` shows the producers and data sources of both sides, when orma's daemon answers and when
# Perfetto's does.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# shows_producer NAME PID UID - checks that the table has a row with number, pid, uid, optional flags, name.
shows_producer() {
	awk -v name="$1" -v pid="$2" -v uid="$3" '
		/^PRODUCER PROCESSES/ { here = 1 }
		/^DATA SOURCES/ { here = 0 }
		here && $2 == pid && $3 == uid && index($0, name) { found = 1 }
		END { exit !found }
	' "$dir/table" || fail "--query shows no producer $1 with pid $2 and uid $3"
}

# shows_source SOURCE PRODUCER
shows_source() {
	awk -v source="$1" -v producer="$2" '
		/^DATA SOURCES/ { here = 1 }
		/^TRACING SESSIONS/ { here = 0 }
		here && $1 == source && $2 == producer { found = 1 }
		END { exit !found }
	' "$dir/table" || fail "--query shows no data source $1 of $2"
}

query_table() {
	limited "$theirs/perfetto" --query >"$dir/table" 2>"$dir/query.log" || die "--query failed"
	# The log is printed when the case fails.
	cp "$dir/table" "$dir/table.log"
}

# check_probes_shown PID PRODUCER - PRODUCER is the expected name.
check_probes_shown() {
	local source
	query_table
	shows_producer "$2" "$1" "$(id -u)"
	for source in linux.process_stats linux.sys_stats linux.system_info; do
		shows_source "$source" "$2"
	done
	has_in_service --has 5 --has "1.2=$2" --has "1.5=$1" --has "1.3=$(id -u)" \
		--has 2.1.1=linux.process_stats --has 2.1.1=linux.sys_stats --has 2.2 ||
		fail "--query-raw does not show $2"
}

check_example_shown() {
	query_table
	shows_producer orma_example "${daemon_pid[example]}" "$example_uid"
	shows_source track_event orma_example
	has_in_service --has 1.2=orma_example --has "1.5=${daemon_pid[example]}" \
		--has "1.3=$example_uid" || fail "--query-raw does not show the example"
}

case_their_query_shows_our_probes_in_our_daemon() {
	start_traced ours
	start_probes ours
	check_probes_shown "${daemon_pid[probes]}" perfetto.traced_probes
}

case_their_query_shows_their_probes_in_our_daemon() {
	start_traced ours
	start_probes theirs
	check_probes_shown "${daemon_pid[probes]}" perfetto.traced_probes
}

case_their_query_shows_our_probes_in_their_daemon() {
	start_traced theirs
	start_probes ours
	check_probes_shown "${daemon_pid[probes]}" perfetto.traced_probes
}

case_their_query_shows_the_example_in_our_daemon() {
	start_traced ours
	start_example
	check_example_shown
}

case_their_query_shows_the_example_in_their_daemon() {
	start_traced theirs
	start_example
	check_example_shown
}

case_their_query_shows_a_session_in_our_daemon() {
	local recorder
	start_traced ours
	start_probes ours
	set_recorder theirs everything "$dir/trace"
	start_daemon recorder "${recorder[@]}"
	poll "$READY_S" has_in_service --count 6:1 --has 6.3=STARTED --has 6.5=4096:2 --has 6.7=2 ||
		fail "--query-raw does not show the session"
	query_table
	grep -qE '^[0-9]+ .* STARTED ' "$dir/table" || fail "--query shows no session"
	stop_daemon recorder INT 0
	has_in_service --count 6:0 || fail "the session is still shown after its end"
}

run_cases "$@"
