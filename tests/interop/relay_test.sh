#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several machines in one trace: producers of both sides connect through a relay to daemons of both sides. Debian's package
# has no traced_relay. relay.c sends the same messages, and Perfetto's own daemon proves that they are right.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# The port is below those that the kernel chooses itself. Cases that run at the same time have other process ids.
tcp=127.0.0.1:$((10000 + $$ % 20000))
readonly relay=$ORMA_BUILD_DIR/tests/relay
# The id of the machine: the low half of FNV-1a of the hint "elsewhere".
readonly machine=4056431787

at() { # ADDRESS COMMAND... - runs the command with this address for producers
	local PERFETTO_PRODUCER_SOCK_NAME=$1
	export PERFETTO_PRODUCER_SOCK_NAME
	"${@:2}"
}

# start_traced_for_relays SIDE [OPTION...] - starts a daemon for producers of this and of other machines.
start_traced_for_relays() { at "$dir/producer,$tcp" start_traced "$1" --enable-relay-endpoint "${@:2}"; }

# start_relay - starts the other machine: its producers connect to $dir/elsewhere, its clocks are 1000 s ahead.
start_relay() {
	PERFETTO_RELAY_SOCK_NAME=$tcp at "$dir/elsewhere" \
		start_ready relay TRACED_RELAY_NOTIFY_FD "$relay" elsewhere guest 1000
}

# make_config NAME LINE... - writes $dir/config: one of configs/, with lines added.
make_config() {
	cp "$configs/$1.pbtx" "$dir/config"
	printf '%s\n' "${@:2}" >>"$dir/config"
}

# check_machines SIDE FILE PID - checks that the probes PID belong to the other machine, which the trace describes.
check_machines() {
	local side=$1 file=$2 pid=$3 loss=--no-loss cpus clock both=()
	[[ $side == ours ]] && loss=--no-loss-marks
	cpus=$(nproc --all)
	for clock in 1 2 3 4 5 6; do
		both+=(--count "107.1.2.1.1=$clock:2" --count "107.1.3.1.1=$clock:2")
	done
	# There are two systems; a field that only the relay sends identifies the other one. Clocks are read twice, in one
	# round.
	limited "$trace_check" "$file" --sequences "$loss" --count 45:2 --count 45.8=77:1 \
		--has 45.1.1=Elsewhere --has 45.1.1="$(uname -s)" --count 107:1 --count 107.1:2 "${both[@]}" \
		--source "process_tree@$pid" --has "2.1.1=$$@$pid" --source "process_stats@$pid:2" \
		--source "sys_stats@$pid:2" --has "7.3.5@$pid:$((cpus * 2))" --has "98=$machine@$pid:5" \
		--has "3=$(id -u)@$pid:5" "${@:4}" ||
		fail "the trace ${file##*/} is not as expected"
}

record_probes_of_another_machine() { # DAEMON PROBES RECORDER
	start_traced_for_relays "$1"
	start_relay
	at "$dir/elsewhere" start_probes "$2"
	make_config probes "trace_all_machines: true"
	record "$3" "$dir/config" "$dir/trace"
	check_machines "$1" "$dir/trace" "${daemon_pid[probes]}"
	check_dump "$dir/trace"
}

case_their_probes_behind_a_relay_reach_our_daemon() { record_probes_of_another_machine ours theirs theirs; }
case_our_probes_behind_a_relay_reach_our_daemon() { record_probes_of_another_machine ours ours ours; }
case_our_probes_behind_a_relay_reach_their_daemon() { record_probes_of_another_machine theirs ours ours; }
case_their_probes_behind_a_relay_reach_their_daemon() { record_probes_of_another_machine theirs theirs theirs; }

# The probes of both machines have the same name and are in one trace.
case_two_machines_are_in_one_trace() {
	start_traced_for_relays ours
	start_relay
	at "$dir/elsewhere" start_probes theirs remote
	start_probes theirs local
	make_config probes "trace_all_machines: true"
	record theirs "$dir/config" "$dir/trace"
	check_machines ours "$dir/trace" "${daemon_pid[remote]}" \
		--source "sys_stats@${daemon_pid[local]}:2" --none "98@${daemon_pid[local]}"
}

# A config that does not ask for other machines gets only the producers of this machine. The trace still names the
# relay.
case_another_machine_is_not_recorded_unless_the_config_says_so() {
	start_traced_for_relays ours
	start_relay
	at "$dir/elsewhere" start_probes theirs remote
	start_probes theirs local
	record theirs probes "$dir/trace"
	limited "$trace_check" "$dir/trace" --sequences --no-loss-marks --source "sys_stats@${daemon_pid[local]}:2" \
		--none "7@${daemon_pid[remote]}" --count "98=$machine:2" --count 107:1 ||
		fail "the trace is not as expected"
}

# A file that is written during the recording has machines that connect later.
case_a_machine_that_comes_late_is_in_a_streamed_trace() {
	start_traced_for_relays ours
	make_config stream "trace_all_machines: true"
	sed -i '/^duration_ms/d' "$dir/config"
	start_daemon recorder "$theirs/perfetto" -c "$dir/config" --txt -o "$dir/trace"
	poll "$READY_S" has_in_service --has 6.3=STARTED || die "the session did not start"
	start_relay
	at "$dir/elsewhere" start_probes theirs
	# This waits for nothing: the second is the time that is recorded.
	sleep 1
	stop_daemon recorder INT 0
	limited "$trace_check" "$dir/trace" --sequences --no-loss-marks --count 107:1 --count 45:2 \
		--source "sys_stats@${daemon_pid[probes]}:1" --has "98=$machine@${daemon_pid[probes]}:1" ||
		fail "the trace is not as expected"
}

# shows_machines FILE - checks that a printed state shows the machine of each producer.
shows_machines() {
	local word
	for word in MACHINE guest '(host)'; do
		grep -qF "$word" "$1" || return 1
	done
}

case_the_query_shows_the_machine() {
	start_traced_for_relays ours
	start_relay
	at "$dir/elsewhere" start_probes theirs
	start_probes ours local
	has_in_service --has "1.7=$machine" --has 1.8=guest --count 1.7:1 || fail "the state has no machine"
	limited "$theirs/perfetto" --query >"$dir/query.theirs" || fail "their query failed"
	shows_machines "$dir/query.theirs" || fail "their query does not show the machine"
	limited "$orma" query >"$dir/query.ours" || fail "our query failed"
	shows_machines "$dir/query.ours" || fail "our query does not show the machine"
}

run_cases "$@"
