#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Triggers and clones: each side's recorder with the other's daemon.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly BUFFER='buffers { size_kb: 1024 }
data_sources { config { name: "linux.sys_stats" sys_stats_config { meminfo_period_ms: 50 } } }'

# write_config NAME TEXT - writes $dir/NAME, a config with a buffer and a data source of the probes.
write_config() { printf '%s\n%s\n' "$BUFFER" "$2" >"$dir/$1"; }

# trigger SIDE NAME - activates a trigger with a recorder whose config has nothing else.
trigger() {
	local recorder
	printf 'activate_triggers: "%s"\n' "$2" >"$dir/activate"
	set_recorder "$1" "$dir/activate" "$dir/none"
	# There is no trace, so that the recorder gets no file.
	limited "${recorder[@]:0:${#recorder[@]}-2}" >>"$dir/recorder.log" 2>&1 || fail "$1: activating $2 failed"
}

# begin DAEMON RECORDER CONFIG STATE [OUT] - starts a recording in the background and waits until its session has that
# state.
begin() {
	local recorder
	start_traced "$1"
	start_probes "$1"
	wait_for_source linux.sys_stats
	set_recorder "$2" "$dir/$3" "${5:-$dir/trace}"
	start_daemon recorder "${recorder[@]}"
	poll "$READY_S" has_in_service --has "6.3=$4" || die "no session is $4"
}

# await_recorder - waits until the recorder ends by itself, with status 0.
await_recorder() {
	local pid=${daemon_pid[recorder]} status=0
	poll "$STEP_S" is_gone "$pid" || die "the recorder does not end"
	unset 'daemon_pid[recorder]'
	wait "$pid" || status=$?
	[[ $status -eq 0 ]] || fail "the recorder ended with status $status"
}

# clone RECORDER OUT OPTION... - makes a clone with that side's `perfetto`.
clone() {
	local program=$theirs/perfetto
	[[ $1 == theirs ]] || program=$ours/perfetto
	limited "$program" "${@:3}" -o "$2" >>"$dir/clone.log" 2>&1 || fail "$1: cloning with ${*:3} failed"
	[[ -s $2 ]] || die "$1: the clone with ${*:3} is empty"
}

# check_clone FILE ASSERTION... - checks the facts that hold for every clone of a session with the probes.
check_clone() {
	limited "$trace_check" "$1" --sequences --has 6 --has 33 --count 89:1 --has 7.1 "${@:2}" ||
		fail "the clone ${1##*/} is not as expected"
}

start_by_trigger() {
	write_config start 'trigger_config { trigger_mode: START_TRACING trigger_timeout_ms: 30000
		triggers { name: "hit" stop_delay_ms: 500 } }'
	begin "$1" "$2" start CONFIGURED
	trigger "$2" other
	trigger "$2" hit
	await_recorder
	limited "$trace_check" "$dir/trace" --sequences --has 46.1=hit --has 46.2=perfetto_cmd_producer --has 7.1 ||
		fail "the trace is not as expected"
}

stop_by_trigger() {
	write_config stop 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 30000
		triggers { name: "hit" stop_delay_ms: 300 producer_name_regex: "perfetto_.*" } }'
	begin "$1" "$2" stop STARTED
	trigger "$2" hit
	await_recorder
	limited "$trace_check" "$dir/trace" --sequences --has 46.1=hit --has 7.1 ||
		fail "the trace is not as expected"
}

time_out_without_a_trigger() {
	write_config stop 'trigger_config { trigger_mode: STOP_TRACING trigger_timeout_ms: 1000 triggers { name: "hit" } }'
	begin "$1" "$2" stop STARTED
	await_recorder
	[[ ! -s $dir/trace ]] || fail "there is a trace"
}

snapshot_by_trigger() {
	write_config snapshot 'unique_session_name: "flight"
		trigger_config { trigger_mode: CLONE_SNAPSHOT trigger_timeout_ms: 60000
		triggers { name: "hit" stop_delay_ms: 100 } }'
	begin "$1" "$2" snapshot STARTED "$dir/out"
	trigger "$2" hit
	poll "$STEP_S" test -s "$dir/out.0" || die "no first snapshot"
	trigger "$2" hit
	poll "$STEP_S" test -s "$dir/out.1" || die "no second snapshot"
	clone "$2" "$dir/by-name" --clone-by-name flight
	stop_daemon recorder INT 0
	check_clone "$dir/out.0" --count 113:1 --has 113.1=hit --count 46:1
	check_clone "$dir/out.1" --count 113:1 --count 46:1
	check_clone "$dir/by-name" --none 113 --none 46
	[[ ! -s $dir/out ]] || fail "the session itself was read"
}

clone_a_running_session() {
	write_config ring 'unique_session_name: "ring" bugreport_score: 5'
	begin "$1" "$2" ring STARTED
	sleep 0.3
	clone "$2" "$dir/by-name" --clone-by-name ring
	clone "$2" "$dir/by-id" --clone 1
	clone "$2" "$dir/by-id" --clone 1 --clone-for-bugreport
	check_clone "$dir/by-name" --has 69.10 --has 69.11
	check_clone "$dir/by-id"
	check_dump "$dir/by-id"
	stop_daemon recorder INT 0
	check_clone "$dir/trace"
}

clone_a_session_that_writes_into_a_file() {
	write_config stream 'unique_session_name: "stream" write_into_file: true file_write_period_ms: 100'
	begin "$1" "$2" stream STARTED
	poll "$STEP_S" test -s "$dir/trace" || die "nothing is written"
	clone "$2" "$dir/clone" --clone-by-name stream
	stop_daemon recorder INT 0
	limited "$trace_check" "$dir/clone" --sequences --has 36 --has 33 --has 7.1 ||
		fail "the clone is not as expected"
}

case_their_session_starts_in_our_daemon_at_their_trigger() { start_by_trigger ours theirs; }
case_our_session_starts_in_their_daemon_at_our_trigger() { start_by_trigger theirs ours; }
case_their_session_stops_in_our_daemon_at_their_trigger() { stop_by_trigger ours theirs; }
case_our_session_stops_in_their_daemon_at_our_trigger() { stop_by_trigger theirs ours; }
case_their_session_without_a_trigger_leaves_nothing_of_our_daemon() { time_out_without_a_trigger ours theirs; }
case_their_recorder_takes_snapshots_from_our_daemon() { snapshot_by_trigger ours theirs; }
case_our_recorder_takes_snapshots_from_their_daemon() { snapshot_by_trigger theirs ours; }
case_their_clones_of_our_daemons_sessions() { clone_a_running_session ours theirs; }
case_our_clones_of_their_daemons_sessions() { clone_a_running_session theirs ours; }
case_their_clone_of_a_file_of_our_daemon() { clone_a_session_that_writes_into_a_file ours theirs; }

run_cases "$@"
