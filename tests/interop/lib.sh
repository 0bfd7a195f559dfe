# shellcheck shell=bash
# SPDX-License-Identifier: Apache-2.0
#
# lib.sh - runs Perfetto's programs and orma's against each other on private sockets.
#
# A test script sources this, defines functions case_NAME and ends with `run_cases "$@"`. Each case runs in a process of
# its own, with a temporary folder $dir for sockets, logs and traces. start_daemon starts daemons; the kernel kills them
# when the script ends, whatever the reason. A case passes only if every daemon ended well and no process is left.
#
# The two sides are called "theirs" and "ours" everywhere: $theirs/perfetto and $ours/perfetto are programs.
# ORMA_BUILD_DIR is the build folder; CTest sets it. A script that does not use Perfetto's programs sets needs_perfetto to
# nothing before it sources this.
#
# Exit status of a script: 0 passed, 1 failed, 77 skipped.

set -euo pipefail

: "${ORMA_BUILD_DIR:?is not set: run the interop tests through ctest}"
configs=$(cd "${BASH_SOURCE[0]%/*}" && pwd)/configs
readonly configs
readonly theirs=$ORMA_BUILD_DIR/perfetto/bin
readonly trace_check=$ORMA_BUILD_DIR/tests/trace_check
readonly orma=$ORMA_BUILD_DIR/orma
readonly example=$ORMA_BUILD_DIR/examples/orma_example
# These limits are far above what a step takes, so that only a step that hangs reaches them.
readonly STEP_S=30 READY_S=20 STOP_S=10
# The user of producers that must have another user than the service.
readonly NOBODY=65534

declare -A daemon_pid=()
failures=0
dir=

say() { printf '%s\n' "$*" >&2; }

fail() {
	say "FAILED: $*"
	failures=$((failures + 1))
}

die() {
	fail "$*"
	exit 1
}

skip() {
	say "skipped: $*"
	[[ ${CI:-} == true ]] && exit 1
	exit 77
}

# pause SECONDS - as sleep, which would be a process each time. Nothing is ever written to the pipe.
exec {silence}<> <(:)
pause() { read -r -t "$1" -u "$silence" || true; }

# limited COMMAND... - runs a command that must end by itself.
limited() { timeout -k 2 "$STEP_S" "$@" </dev/null; }

# poll SECONDS COMMAND... - repeats the command until it succeeds or the time is over. There is no event to wait for.
poll() {
	local seconds=$1 end
	shift
	end=$((SECONDS + seconds))
	until "$@"; do
		((SECONDS < end)) || return 1
		pause 0.05
	done
}

# is_gone PID - whether the process has ended; it may be a zombie.
is_gone() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	# The state follows the name, which may contain any character.
	stat=${stat##*) }
	[[ $stat == Z* ]]
}

# start_daemon NAME COMMAND... - starts a process that belongs to this case. Its pid is ${daemon_pid[NAME]}.
start_daemon() {
	local name=$1
	shift
	[[ -z ${daemon_pid[$name]:-} ]] || die "$name is running already"
	# By default, background processes of a shell ignore SIGINT.
	setpriv --pdeathsig KILL env --default-signal=INT "$@" >>"$dir/$name.log" 2>&1 </dev/null &
	daemon_pid[$name]=$!
}

# start_ready NAME VARIABLE COMMAND... - start_daemon, and waits until the daemon has written to the
# descriptor whose number is in the environment variable.
start_ready() {
	local name=$1 variable=$2 fifo=$dir/$1.ready fd byte='' end
	shift 2
	rm -f "$fifo"
	mkfifo "$fifo"
	exec {fd}<>"$fifo"
	start_daemon "$name" env "$variable=$fd" "$@"
	end=$((SECONDS + READY_S))
	# Test whether there is input before reading: a read that times out may lose the byte that it took.
	until read -r -t 0 -u "$fd"; do
		is_gone "${daemon_pid[$name]}" && die "$name ended before it was ready"
		((SECONDS < end)) || die "$name was not ready after $READY_S s"
		pause 0.02
	done
	read -r -n 1 -u "$fd" byte
	exec {fd}>&-
	[[ $byte == 1 ]] || fail "$name wrote '$byte' instead of 1 when it was ready"
}

# start_traced SIDE [OPTION...] - our daemon has a filter that kills it at an unexpected system call. Builds with a
# sanitizer have no filter.
start_traced() {
	local filter=()
	[[ $1 == ours && -z ${ORMA_SANITIZE:-} ]] && filter=(--seccomp=kill)
	start_ready traced TRACED_NOTIFY_FD "${!1}/traced" "${filter[@]}" "${@:2}"
}
# start_probes SIDE [NAME [OPTION...]]
start_probes() { start_ready "${2:-probes}" TRACED_PROBES_NOTIFY_FD "${!1}/traced_probes" "${@:3}"; }

# start_example - starts the example program, as another user if this is root, and waits until its data source is
# registered.
start_example() {
	local as=()
	[[ -x $example ]] || die "$example was not built"
	example_uid=$(id -u)
	if [[ $example_uid -eq 0 ]]; then
		# The other user may not be able to read the build folder, but can read the temporary one.
		cp "$example" "$dir/orma_example"
		as=(setpriv --reuid "$NOBODY" --regid "$NOBODY" --clear-groups --pdeathsig KILL)
		example_uid=$NOBODY
	else
		ln -s "$example" "$dir/orma_example"
	fi
	start_daemon example "${as[@]}" "$dir/orma_example" 60
	wait_for_source track_event
}

# stop_daemon NAME [SIGNAL [STATUS]] - ends a daemon. It must end with STATUS; without one, with 0 or by SIGTERM.
stop_daemon() {
	local name=$1 signal=${2:-TERM} wanted=${3:-} pid=${daemon_pid[$1]:-} status=0
	[[ -n $pid ]] || die "$name is not running"
	unset "daemon_pid[$name]"
	is_gone "$pid" && fail "$name (pid $pid) ended before it was stopped"
	kill "-$signal" "$pid" 2>/dev/null || true
	if ! poll "$STOP_S" is_gone "$pid"; then
		fail "$name did not end within $STOP_S s of SIG$signal"
		kill -KILL "$pid" 2>/dev/null || true
	fi
	wait "$pid" || status=$?
	if [[ -n $wanted ]]; then
		[[ $status -eq $wanted ]] || fail "$name ended with status $status, not $wanted"
	else
		[[ $status -eq 0 || $status -eq 143 ]] || fail "$name ended with status $status"
	fi
}

stop_all() {
	local name
	# Stop clients before the daemon, so that they do not lose their connections.
	for name in "${!daemon_pid[@]}"; do
		[[ $name == traced ]] || stop_daemon "$name"
	done
	[[ -z ${daemon_pid[traced]:-} ]] || stop_daemon traced
}

# Sets $left to the environments of all processes that have this case's sockets in it, and succeeds if there is none.
is_nothing_left() {
	mapfile -t left < <(ORMA_INTEROP_DIR='' grep -lsF "ORMA_INTEROP_DIR=$dir" /proc/[0-9]*/environ)
	[[ ${#left[@]} -eq 0 ]]
}

# All processes of this case must have ended, or do so in a moment.
check_nothing_left() {
	local file pid left=()
	poll 2 is_nothing_left && return
	for file in "${left[@]}"; do
		pid=${file#/proc/}
		pid=${pid%/environ}
		fail "process $pid is left: $(tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline")"
		kill -KILL "$pid" 2>/dev/null || true
	done
}

finish() {
	local status=$? log
	trap - EXIT
	set +e
	stop_all
	check_nothing_left
	if [[ $status -ne 77 && ($status -ne 0 || $failures -gt 0) ]]; then
		for log in "$dir"/*.log; do
			[[ -s $log ]] || continue
			say "--- ${log##*/}"
			tail -n 40 "$log" >&2
		done
		status=1
	fi
	if [[ -n ${ORMA_KEEP:-} ]]; then
		say "kept: $dir"
	else
		rm -rf "$dir"
	fi
	exit "$status"
}

# ---- recording and querying ----

# set_recorder SIDE CONFIG OUT - sets $recorder to the command. CONFIG is one of configs/, or a path.
set_recorder() {
	local config=$configs/$2.pbtx
	[[ $2 != */* ]] || config=$2
	case $1 in
	theirs) recorder=("$theirs/perfetto") ;;
	ours) recorder=("$orma" record) ;;
	ours_as_theirs) recorder=("$ours/perfetto") ;;
	*) die "no recorder $1" ;;
	esac
	recorder+=(-c "$config" --txt -o "$3")
}

# record SIDE CONFIG OUT - records in the foreground until the config's duration is over.
record() {
	local status=0 recorder
	set_recorder "$@"
	limited "${recorder[@]}" >>"$dir/recorder.log" 2>&1 || status=$?
	[[ $status -eq 0 ]] || die "recording $2 with $1 failed with status $status"
	[[ -s $3 ]] || die "recording $2 with $1 left no trace"
}

# record_interrupted SIDE CONFIG OUT - records without a duration, and sends SIGINT after a second.
record_interrupted() {
	local recorder
	set_recorder "$@"
	start_daemon recorder "${recorder[@]}"
	poll "$READY_S" has_in_service --has 6.3=STARTED || die "the session of $1 did not start"
	# This is not a wait for an event: the second is the time that is recorded.
	sleep 1
	stop_daemon recorder INT 0
	[[ -s $3 ]] || die "recording $2 with $1 left no trace"
}

# query_service OUT - writes the service's state as bytes, which their program asks for.
query_service() { limited "$theirs/perfetto" --query-raw >"$1" 2>>"$dir/query.log"; }

has_in_service() {
	query_service "$dir/state" && "$trace_check" "$dir/state" --message "$@" 2>/dev/null
}

wait_for_source() {
	poll "$READY_S" has_in_service --has "2.1.1=$1" || die "no producer offers $1"
}

# ---- checking traces ----

# check_trace SIDE FILE ASSERTION... - checks the facts that hold for every trace without loss, and the assertions. SIDE
# is the side of the daemon.
check_trace() {
	local side=$1 file=$2 loss=--no-loss clock general=()
	shift 2
	# Our daemon has no reason to mark the first packet of a sequence; theirs marks it.
	[[ $side == ours ]] && loss=--no-loss-marks
	# A trace has one uuid, config and system info; and clocks, a sync marker and the session's events.
	general=(--count 89:1 --count 33:1 --count 45:1 --has 36 --has 45.4 --has 45.1.3)
	for clock in 1 2 3 4 5 6; do
		general+=(--has "6.1.1=$clock")
	done
	general+=(--has 69.2=1 --has 69.1=1 --has 69.3=1 --has 69.5=1 --has 69.4=1 --has 35.1.12)
	limited "$trace_check" "$file" --trusted "$(id -u)" --sequences "$loss" "${general[@]}" "$@" ||
		fail "the trace ${file##*/} is not as expected"
}

# check_probes SIDE FILE PID [ASSERTION...] - checks what configs/probes.pbtx records of one producer.
check_probes() {
	local side=$1 file=$2 pid=$3 cpus
	shift 3
	cpus=$(nproc --all)
	# Two polls show that they are periodic. How many there are depends on the machine's load.
	check_trace "$side" "$file" \
		--has 33.2.1.1=linux.process_stats --has 33.2.1.1=linux.sys_stats \
		--source "process_tree@$pid" --has "2.1.1=$$@$pid" --has "2.1.2@$pid:3" --has "2.1.3=bash@$pid" \
		--source "process_stats@$pid:2" --has "9.1.1=$$@$pid" --has "9.1.3@$pid:4" \
		--source "sys_stats@$pid:2" --has "7.1.2@$pid:40" --has "7.2.2@$pid:40" \
		--has "7.3.5@$pid:$((cpus * 2))" --has "7.4@$pid:2" --none "7.6@$pid" \
		--source "cpu_info@$pid" --has "67.1@$pid:$cpus" "$@"
}

# check_track_events SIDE FILE PID [ASSERTION...] - checks what the example program sends.
check_track_events() {
	local side=$1 file=$2 pid=$3
	shift 3
	check_trace "$side" "$file" --source "track_event@$pid:20" --slices 4 \
		--has "11.9=1@$pid:5" --has "11.9=2@$pid:5" --has "11.9=3@$pid" --has "11.9=4@$pid" \
		--has "60.3.1=$pid@$pid" "$@"
}

# check_dump FILE [OPTION...] - checks that `orma dump` prints every packet that trace_check finds in the file.
check_dump() {
	local printed counted
	limited "$orma" dump "$1" >"$dir/dump" || fail "orma dump ${1##*/} failed"
	printed=$(grep -c '^packet {' "$dir/dump")
	counted=$("$trace_check" "$@" --packets)
	[[ $printed -eq $counted ]] || fail "orma dump printed $printed packets of $counted"
}

# ---- cases ----

run_one() {
	dir=$(mktemp -d "${TMPDIR:-/tmp}/orma-interop-XXXXXX")
	chmod 755 "$dir"
	trap finish EXIT
	trap 'exit 1' INT TERM HUP
	export ORMA_INTEROP_DIR=$dir
	export PERFETTO_PRODUCER_SOCK_NAME=$dir/producer PERFETTO_CONSUMER_SOCK_NAME=$dir/consumer
	# The kernel's tracing belongs to this machine, not to a test.
	export ORMA_TRACEFS=$dir/tracefs
	# Producers of other users must be able to connect.
	umask 000
	ours=$dir/ours
	if [[ -x $orma ]]; then
		mkdir "$ours"
		ln -s "$orma" "$ours/traced"
		ln -s "$orma" "$ours/traced_probes"
		ln -s "$orma" "$ours/perfetto"
	fi
	[[ -z ${needs_perfetto-yes} || -x $theirs/traced ]] || skip "Perfetto's programs are not in $theirs; run tests/interop/fetch-perfetto"
	"case_$1"
}

# run_cases [NAME...] - runs the named cases, or all.
run_cases() {
	local name status worst=0
	if [[ $# -eq 1 ]]; then
		declare -F "case_$1" >/dev/null || {
			say "no case named $1"
			exit 2
		}
		run_one "$1"
		exit
	fi
	[[ $# -gt 0 ]] || mapfile -t -O 0 names < <(declare -F | sed -n 's/^declare -f case_//p')
	for name in "${@:-${names[@]}}"; do
		status=0
		bash "$0" "$name" || status=$?
		say "$name: $status"
		((status > worst)) && worst=$status
	done
	exit "$worst"
}
