#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks what tests/kernel/record recorded in a guest: against the activity that kernel_activity made, and one recording
# against another. Each function case_<name> is one test.
# shellcheck disable=SC2317 # the cases are called by name

set -euo pipefail

: "${ORMA_BUILD_DIR:?is not set: run the kernel tests through ctest}"
readonly tools=$ORMA_BUILD_DIR/tests
# These events are written with interrupts off, so that their order is the same in all recordings.
readonly STRICT=sched_switch,sched_waking
failures=0

fail() {
	echo "FAILED: $*" >&2
	failures=$((failures + 1))
}

# activity NAME KEY - prints a number that kernel_activity reported.
activity() { sed -n "s/^$1 \(.* \)\?$2=\([^ ]*\).*$/\2/p" "$results/activity"; }

# expect FILE COUNT REGEX - the file has exactly COUNT lines of events that match. In the regular expression, a space at
# the beginning is one in front of the pid.
expect() {
	local count
	count=$(grep -cE -- "$3" "$results/$1" || true)
	[[ $count -eq $2 ]] || fail "$1 has $count events like '$3', not $2"
}

expect_at_least() {
	local count
	count=$(grep -cE -- "$3" "$results/$1" || true)
	[[ $count -ge $2 ]] || fail "$1 has $count events like '$3', not $2 or more"
}

# compare A B - the two files have the same events between the marks.
compare() {
	"$tools/ftrace_compare" --strict "$STRICT" '"mark-begin"' '"mark-end"' "$1" "$2" >"$scratch/compared" || return 1
	# A comparison of a few events would say nothing.
	[[ $(sed -n 's/^\([0-9]*\) events agree.*/\1/p' "$scratch/compared") -gt 10000 ]]
}

expect_same() {
	compare "$results/$1" "$results/$2" || fail "$1 and $2 differ: $(cat "$scratch/compared")"
	tail -n 1 "$scratch/compared"
}

# expect_different WHAT FILE - the comparison notices that something is wrong.
expect_different() {
	cmp -s "$2" "$results/theirs.common.txt" && fail "$1: nothing was changed"
	if compare "$results/theirs.common.txt" "$2"; then
		fail "$1 is not noticed"
	fi
}

# check_activity FILE - a recording in verbose form has all events of the activity, and not more than happened.
check_activity() {
	local file=$1 tid ping pong rounds
	ping=$(activity switches ping) pong=$(activity switches pong) rounds=$(activity switches rounds)
	expect "$file" "$rounds" " $ping sched_waking comm=\"pong thread\" pid=$pong prio=$(activity switches prio) target_cpu=0"
	expect "$file" "$rounds" " $pong sched_waking comm=\"ping-thread\" pid=$ping prio=$(activity switches prio) target_cpu=0"
	expect_at_least "$file" "$rounds" "sched_switch prev_comm=\"ping-thread\" prev_pid=$ping prev_prio=89 prev_state=1 next_comm=\"[^\"]*\" next_pid=$pong"
	expect_at_least "$file" "$((rounds - 1))" "sched_switch prev_comm=\"pong thread\" prev_pid=$pong prev_prio=89 prev_state=1 next_comm=\"[^\"]*\" next_pid=$ping"

	tid=$(activity syscalls tid)
	expect "$file" "$(activity syscalls count)" " $tid sys_enter id=$(activity syscalls id) "
	expect "$file" "$(activity syscalls count)" " $tid sys_exit id=$(activity syscalls id) ret=[1-9]"

	tid=$(activity forks tid)
	expect "$file" "$(activity forks count)" " $tid task_newtask pid=[0-9]+ comm=\"kernel_activity\""
	expect "$file" "$(activity forks count)" " $tid sched_process_fork .*parent_pid=$tid"
	expect "$file" "$(activity forks count)" "sched_process_exit comm=\"child-[0-9]+\""
	expect "$file" "$(activity forks count)" "task_rename .*newcomm=\"child-[0-9]+\""
	expect "$file" "$(activity execs count)" "sched_process_exec filename=\"/bin/true\""

	tid=$(activity renames tid)
	expect "$file" "$(activity renames count)" " $tid task_rename pid=$tid .*newcomm=\"name=[0-9]+ .x22x.x22\""
	tid=$(activity markers tid)
	expect "$file" "$(activity markers count)" " $tid print "
	expect "$file" 1 " $tid print .*buf=\"C\|$tid\|level\|7"
	expect_at_least "$file" "$(activity faults count)" " $(activity faults tid) exceptions/page_fault_user "
	expect_at_least "$file" "$(activity faults count)" " $(activity faults tid) mm_page_alloc "

	tid=$(activity blocks tid)
	expect "$file" "$(activity blocks writes)" " $tid block_bio_queue .*nr_sector=8 rwbs=\"W"
	expect "$file" "$(activity blocks reads)" " $tid block_bio_queue .*nr_sector=8 rwbs=\"R"
	expect "$file" "$(activity files count)" " $(activity files tid) ext4_sync_file_enter "
	expect "$file" "$(activity files count)" " $(activity files tid) ext4_unlink_enter "
	expect_at_least "$file" "$((2 * $(activity network writes)))" " $(activity network tid) netif_receive_skb .*name=\"lo\""
	expect_at_least "$file" 1 " inet_sock_set_state .*newstate=1 "

	tid=$(activity signals tid)
	expect "$file" "$(activity signals count)" " $tid signal_generate .*pid=$tid .*sig=$(activity signals number)"
	expect "$file" "$(activity signals count)" " $tid signal_deliver .*sig=$(activity signals number)"
	expect_at_least "$file" "$(activity timers count)" " $(activity timers tid) hrtimer_start "
	expect_at_least "$file" "$(activity migrations count)" "sched_migrate_task .*pid=$(activity migrations tid) "
	expect_at_least "$file" 10 " cpuhp_enter cpu=1 "
	expect "$file" 1 " oom_score_adj_update comm=\"kernel_activity\" oom_score_adj=123 "
	expect "$file" 1 " $(activity cgroups tid) cgroup_mkdir .*path=\"/activity\""
	expect "$file" 2 " $(activity cgroups tid) cgroup_attach_task "
}

# check_no_loss FILE - no recorder and no buffer lost events, and times never go back.
check_no_loss() {
	local line
	while read -r line; do
		case $line in
		'# lost_events'* | '# error'* | '# broken_page'* | '# backwards'*) fail "$1: $line" ;;
		'# stats phase=2 cpu='*)
			[[ $line == *' overrun=0 commit_overrun=0 dropped=0 '* ]] || fail "$1: $line"
			;;
		esac
	done < <(grep '^#' "$results/$1")
	expect_at_least "$1" 2 '^# stats phase=2 cpu='
}

case_their_recordings_agree() { expect_same theirs.common.txt theirs_verbose.common.txt; }

case_their_recording_has_the_activity() { check_activity theirs_verbose.txt; }

case_their_recordings_are_without_loss() {
	check_no_loss theirs.txt
	check_no_loss theirs_verbose.txt
}

# A comparison that finds nothing wrong must be able to.
case_the_comparison_notices_faults() {
	local good=$results/theirs.common.txt bad=$scratch/bad at
	# A line in the middle of what is compared.
	at=$(grep -nE ' sched_switch .*"ping-thread"' "$good" | sed -n '100s/:.*//p')
	sed "${at}d" "$good" >"$bad"
	expect_different "a missing event" "$bad"
	sed "${at}p" "$good" >"$bad"
	expect_different "an event twice" "$bad"
	sed "${at}s/next_prio=89/next_prio=88/" "$good" >"$bad"
	expect_different "another priority" "$bad"
	sed "${at}s/ping-thread/ping-threa/" "$good" >"$bad"
	expect_different "another name" "$bad"
	# The order of switches, which a longer distance would also show as missing events.
	awk -v at="$at" 'NR == at { held = $0; next } { print } held && / sched_switch / { print held; held = "" }' \
		"$good" >"$bad"
	expect_different "another order" "$bad"
	awk '$1 != "#" { $2 += 5000000 } { print }' "$good" >"$bad"
	expect_different "another clock" "$bad"
}

if [[ $# -ne 2 ]] || ! declare -F "case_$2" >/dev/null; then
	echo "usage: ${0##*/} KERNEL CASE" >&2
	exit 2
fi
results=$ORMA_BUILD_DIR/kernel-results/$1
if [[ ! -r $results/status ]]; then
	echo "skipped: tests/kernel/record left no results" >&2
	[[ ${CI:-} == true ]] && exit 1
	exit 77
fi
scratch=$(mktemp -d "${TMPDIR:-/tmp}/orma-kernel-XXXXXX")
trap 'rm -rf "$scratch"' EXIT
"case_$2"
[[ $failures -eq 0 ]]
