#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Producers of both sides connect to daemons of both sides over TCP and abstract sockets. TCP cannot pass descriptors,
# so the messages contain the chunks. The kernel does not know the user of a producer on TCP.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# The port is below those that the kernel chooses itself. Cases that run at the same time have other process ids.
tcp=127.0.0.1:$((10000 + $$ % 20000))

# at ADDRESS COMMAND... - runs the command with this address for producers.
at() {
	local PERFETTO_PRODUCER_SOCK_NAME=$1
	export PERFETTO_PRODUCER_SOCK_NAME
	"${@:2}"
}

# check_probes_of_nobody SIDE FILE UID - checks the records of configs/probes.pbtx when the producer has user UID and no
# process id.
check_probes_of_nobody() {
	local side=$1 file=$2 uid=$3 loss=--no-loss cpus
	[[ $side == ours ]] && loss=--no-loss-marks
	cpus=$(nproc --all)
	limited "$trace_check" "$file" --sequences "$loss" --has "3=$uid:5" \
		--has 33.2.1.1=linux.process_stats --has 33.2.1.1=linux.sys_stats \
		--source process_tree --has "2.1.1=$$" --has "2.1.3=bash" --source process_stats:2 \
		--source sys_stats:2 --has 7.1.2:40 --has "7.3.5:$((cpus * 2))" \
		--source cpu_info --has "67.1:$cpus" ||
		fail "the trace ${file##*/} is not as expected"
}

record_probes_over_tcp() { # DAEMON PROBES UID
	at "$tcp" start_traced "$1"
	at "$tcp" start_probes "$2"
	record theirs probes "$dir/trace"
	check_probes_of_nobody "$1" "$dir/trace" "$3"
	check_dump "$dir/trace"
}

case_their_probes_reach_our_daemon_over_tcp() { record_probes_over_tcp ours theirs "$NOBODY"; }
case_our_probes_reach_our_daemon_over_tcp() { record_probes_over_tcp ours ours "$NOBODY"; }
# Their daemon treats a producer whose user is unknown as root.
case_our_probes_reach_their_daemon_over_tcp() { record_probes_over_tcp theirs ours 0; }

case_our_library_reaches_our_daemon_over_tcp() {
	at "$tcp" start_traced ours
	at "$tcp" start_example
	record ours track_event "$dir/trace"
	limited "$trace_check" "$dir/trace" --sequences --no-loss-marks --has "3=$NOBODY:20" \
		--source track_event:20 --slices 4 --has 11.9=1:5 --has 11.9=2:5 ||
		fail "the trace is not as expected"
}

case_our_library_reaches_their_daemon_over_tcp() {
	at "$tcp" start_traced theirs
	at "$tcp" start_example
	record ours track_event "$dir/trace"
	limited "$trace_check" "$dir/trace" --sequences --no-loss \
		--source track_event:20 --slices 4 --has 11.9=1:5 --has 11.9=2:5 ||
		fail "the trace is not as expected"
}

# One session has the producers of all sockets in a list.
case_our_daemon_serves_several_sockets_at_once() {
	at "$dir/producer,@$dir/abstract,$tcp" start_traced ours
	start_probes theirs by_path
	at "@$dir/abstract" start_probes theirs by_name
	at "$tcp" start_probes theirs by_tcp
	record theirs probes "$dir/trace"
	limited "$trace_check" "$dir/trace" --sequences --no-loss-marks \
		--source "sys_stats@${daemon_pid[by_path]}:2" --source "sys_stats@${daemon_pid[by_name]}:2" \
		--has "3=$NOBODY:5" ||
		fail "the trace is not as expected"
}

case_our_probes_reach_their_daemon_on_an_abstract_socket() {
	at "@$dir/abstract" start_traced theirs
	at "@$dir/abstract" start_probes ours
	record theirs probes "$dir/trace"
	check_probes theirs "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

case_their_recorder_reaches_our_daemon_on_an_abstract_socket() {
	export PERFETTO_CONSUMER_SOCK_NAME=@$dir/abstract
	start_traced ours
	start_probes theirs
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

case_their_recorder_reaches_our_daemon_over_tcp_when_that_is_allowed() {
	export PERFETTO_CONSUMER_SOCK_NAME=$tcp
	start_traced ours --allow-remote-consumers
	start_probes theirs
	record theirs probes "$dir/trace"
	check_probes ours "$dir/trace" "${daemon_pid[probes]}" --owners "${daemon_pid[probes]}"
}

run_cases "$@"
