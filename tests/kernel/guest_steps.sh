# shellcheck shell=dash
# SPDX-License-Identifier: Apache-2.0
#
# guest_steps.sh - what the scripts of guests share: daemons, sessions, waiting. Busybox's shell runs it.
#
# The two sides are called "theirs" and "ours", as in the interop tests. Each has a daemon, probes and sockets of its
# own, so that both record at the same time from the same kernel.
# shellcheck disable=SC2034 # scripts use the variables

tracefs=/sys/kernel/tracing
# Only a step that hangs reaches this limit.
READY_S=100

say() { echo "[$(cut -d ' ' -f 1 /proc/uptime)] $*"; }

die() {
	say "FAILED: $*"
	exit 1
}

# wait_until COMMAND... - repeats the command until it succeeds. There is no event to wait for.
wait_until() {
	local end
	end=$(($(cut -d . -f 1 /proc/uptime) + READY_S))
	until "$@"; do
		[ "$(cut -d . -f 1 /proc/uptime)" -lt "$end" ] || die "waited in vain: $*"
		usleep 20000
	done
}

# Becomes a command with the sockets of a side. Only for subshells.
become() {
	export PERFETTO_PRODUCER_SOCK_NAME="/tmp/$1.producer" PERFETTO_CONSUMER_SOCK_NAME="/tmp/$1.consumer"
	shift
	exec "$@"
}

# Prints the path of a program of a side.
program() {
	case $1 in
	theirs) echo "/perfetto/bin/$2" ;;
	ours) echo "/guest/$2" ;;
	esac
}

# start_daemons SIDE - starts the daemon and the probes. Their pids are $traced_SIDE and $probes_SIDE.
start_daemons() {
	local side=$1
	(become "$side" "$(program "$side" traced)" >"/out/$side.traced.log" 2>&1) &
	eval "traced_$side=$!"
	wait_until [ -S "/tmp/$side.producer" ]
	start_probes "$side"
	say "$side: daemons started"
}

start_probes() {
	local side=$1
	(become "$side" "$(program "$side" traced_probes)" >>"/out/$side.probes.log" 2>&1) &
	eval "probes_$side=$!"
}

# start_session SIDE NAME - records with the config /out/NAME.config into /out/NAME.pftrace. The pid of the recorder is
# $session_NAME.
start_session() {
	(become "$1" "$(program "$1" perfetto)" -c "/out/$2.config" --txt -o "/out/$2.pftrace" \
		>"/out/$2.log" 2>&1) &
	eval "session_$2=$!"
}

# stop_session NAME... - ends sessions at the same time and waits for their traces.
stop_session() {
	local name pid
	for name in "$@"; do
		eval "pid=\$session_$name"
		kill -INT "$pid" || die "the recorder of $name has ended: $(cat "/out/$name.log")"
	done
	for name in "$@"; do
		eval "pid=\$session_$name"
		wait "$pid" || die "the recorder of $name failed: $(cat "/out/$name.log")"
	done
}

# print_tracefs - prints every setting of tracefs that a recorder can change. Filters and triggers are those of the events
# that recorders filter: reading the files of all events takes seconds under emulation.
print_tracefs() {
	local file list=''
	for file in "$tracefs"/* "$tracefs"/options/* "$tracefs"/per_cpu/*/buffer_size_kb "$tracefs"/events/enable \
		"$tracefs"/events/*/enable "$tracefs"/events/raw_syscalls/*/* "$tracefs"/events/kmem/rss_stat/* \
		"$tracefs"/events/sched/sched_switch/*; do
		case ${file##*/} in
		trace | trace_pipe | trace_marker | trace_marker_raw | free_buffer | available_* | kprobe_profile | \
			uprobe_profile | printk_formats | saved_cmdlines | saved_tgids | error_log | README | touched_functions | \
			enabled_functions | dyn_ftrace_total_info | buffer_total_size_kb | hist* | id | format | snapshot) ;;
		*) [ -f "$file" ] && list="$list $file" ;;
		esac
	done
	# shellcheck disable=SC2086 # a list
	grep -Hs '' $list
	ls "$tracefs/instances"
}

# is_tracing FOLDER EVENT - whether an instance of tracefs records an event.
is_tracing() {
	[ "$(cat "$1/tracing_on")" = 1 ] && [ "$(cat "$1/events/$2/enable")" = 1 ]
}
