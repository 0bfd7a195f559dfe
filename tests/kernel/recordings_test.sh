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

# activity NAME KEY [FILE] - prints a number that kernel_activity reported.
activity() { sed -n "s/^$1 \(.* \)\?$2=\([^ ]*\).*$/\2/p" "$results/${3:-activity}"; }

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

# print_comparable FILE - prints events without what may differ between two recordings. The kernel reads its tick counter
# and the state of a task that is being reaped for each instance anew; another CPU may ask for a switch between two writes, which is
# in the flags. The rest is in ours, and upstream has it not, or not always: kernel addresses of all types are
# hidden; numbers of a single char; in generic events, arrays of bytes; in instances, the texts that pointers refer to.
print_comparable() {
	awk 'function remove(key,   fields, count, i) {
			count = split(bytes[key], fields, " ")
			for (i = 1; i <= count; i++)
				gsub(" " fields[i] "(:[0-9]+)?=(\"[^\"]*\"|-?[0-9]+)", "")
		}
		FILENAME == ARGV[1] { bytes[$1] = bytes[$1] " " $2; next }
		{
			name = $4
			if (sub(/^[^\/]*\//, "", name) && "/" name in bytes)
				remove("/" name)
			if (name in bytes)
				remove(name)
			if (name == "timer_start" || name == "timer_expire_entry")
				sub(/ now=[0-9]+/, "")
			sub(/ prev_state=(16|32) /, " prev_state=dead ")
			# 2, 4 and 32 say that a switch is due.
			if (name == "sched_waking" && match($5, /^flags=/)) {
				flags = substr($5, 7)
				$5 = "flags=" flags % 2 + flags % 32 - flags % 8 + flags - flags % 64
			}
			if (name == "rcu_utilization")
				sub(/ s:9="[^"]*"/, "")
			gsub(/\(address\)/, "(pointer)")
			print
		}' "$results/bytes" "$1"
}

# compare A B - the two files have the same events between the marks.
compare() {
	print_comparable "$1" >"$scratch/a"
	print_comparable "$2" >"$scratch/b"
	"$tools/ftrace_compare" --strict "$STRICT" '"mark-begin"' '"mark-end"' "$scratch/a" "$scratch/b" \
		>"$scratch/compared" || return 1
	# A comparison of a few events would say nothing.
	[[ $(sed -n 's/^\([0-9]*\) events agree.*/\1/p' "$scratch/compared") -gt 2000 ]]
}

expect_same() {
	compare "$results/$1" "$results/$2" || fail "$1 and $2 differ: $(cat "$scratch/compared")"
	tail -n 1 "$scratch/compared"
}

# expect_agreement SIDE - its verbose recording, which has fewer groups, has the same events as its compact one.
expect_agreement() {
	awk 'NR == FNR { names[$4]; next } $4 in names' "$results/$1_verbose.common.txt" "$results/$1.common.txt" \
		>"$results/$1.selected.txt"
	expect_same "$1.selected.txt" "$1_verbose.common.txt"
}

# expect_different WHAT FILE - the comparison notices that something is wrong.
expect_different() {
	cmp -s "$2" "$results/theirs.common.txt" && fail "$1: nothing was changed"
	if compare "$results/theirs.common.txt" "$2"; then
		fail "$1 is not noticed"
	fi
}

# check_activity SIDE - its recordings have all events of the activity, and not more than happened.
check_activity() {
	local file=$1.txt verbose=$1_verbose.txt tid ping pong rounds prio
	ping=$(activity switches ping) pong=$(activity switches pong)
	rounds=$(activity switches rounds) prio=$(activity switches prio)
	# The first round may find its partner still on the way to read().
	expect_at_least "$verbose" "$((rounds - 1))" " $ping sched_waking comm=\"pong thread\" pid=$pong prio=$prio target_cpu=0"
	expect "$verbose" "$rounds" " $pong sched_waking comm=\"ping-thread\" pid=$ping prio=$prio target_cpu=0"
	# Sometimes another thread runs between the two.
	expect_at_least "$verbose" "$((rounds / 2))" "sched_switch prev_comm=\"ping-thread\" prev_pid=$ping prev_prio=$prio prev_state=1 next_comm=\"pong thread\" next_pid=$pong next_prio=$prio"
	expect_at_least "$verbose" "$((rounds / 2))" "sched_switch prev_comm=\"pong thread\" prev_pid=$pong prev_prio=$prio prev_state=1 next_comm=\"ping-thread\" next_pid=$ping next_prio=$prio"
	expect_at_least "$file" "$rounds" "sched_switch prev_state=[0-9]+ next_comm=\"ping-thread\" next_pid=$ping next_prio=$prio"

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

case_their_recordings_agree() { expect_agreement theirs; }

case_their_recording_has_the_activity() { check_activity theirs; }

case_their_recordings_are_without_loss() {
	check_no_loss theirs.txt
	check_no_loss theirs_verbose.txt
}

case_our_recording_agrees_with_theirs() { expect_same theirs.txt ours.txt; }

case_our_verbose_recording_agrees_with_theirs() { expect_same theirs_verbose.txt ours_verbose.txt; }

case_our_recordings_agree() { expect_agreement ours; }

case_our_recording_has_the_activity() { check_activity ours; }

# 127.0.0.1 in an array of bytes of a generic event.
case_our_recordings_have_arrays_of_bytes() {
	expect_at_least ours.txt 1 ' neigh/neigh_create .* primary_key4:12=".x7f.x00.x00.x01" primary_key6:12="'
}

case_our_recordings_have_the_texts_of_pointers() {
	expect_at_least ours.txt 100 ' rcu/rcu_utilization s:9="[A-Z]'
}

case_our_recordings_hide_kernel_addresses() {
	expect ours.txt 0 '\(address\)'
	expect ours_verbose.txt 0 '\(address\)'
}

case_our_recordings_are_without_loss() {
	check_no_loss ours.txt
	check_no_loss ours_verbose.txt
}

# check_probing SIDE - probes on functions of the kernel and of a program, the function graph, and filters.
check_probing() {
	local file=$1_probing.txt log=$1_probing.activity tid count
	tid=$(activity syscalls tid "$log") count=$(activity syscalls count "$log")
	expect "$file" "$count" " $tid sys_enter id=$(activity syscalls id "$log") "
	expect "$file" 0 " sys_enter id=([02-9]|1[02-9]|11[1-9]|[2-9][0-9]+) "
	expect "$file" "$count" " $tid kprobe_event name=\"__x64_sys_getppid\" type=1"
	expect "$file" "$count" " $tid kprobe_event name=\"__x64_sys_getppid\" type=2"
	expect "$file" "$(activity calls count "$log")" " $(activity calls tid "$log") uprobes/add_one "
	tid=$(activity timers tid "$log") count=$(activity timers count "$log")
	expect "$file" "$count" " $tid funcgraph_entry .*func=\"__x64_sys_clock_nanosleep\""
	expect "$file" "$count" " $tid funcgraph_exit .*func=\"__x64_sys_clock_nanosleep\""
	# Numbers 1 and 10 to 19.
	expect "$file" 11 " $(activity markers tid "$log") print .*buf=\"activity 1"
	expect "$file" 11 " print "
}

case_their_probing_records_what_was_called() { check_probing theirs; }

case_our_probing_records_what_was_called() {
	check_probing ours
	expect ours_probing.txt 0 'func="(__[^x]|[^_])'
}

# expect_tracefs NAME - all settings of tracefs were as they were found.
expect_tracefs() {
	diff "$results/tracefs.found" "$results/tracefs.$1" >"$scratch/diff" ||
		fail "tracefs is not as it was found: $(cat "$scratch/diff")"
}

case_tracefs_is_as_found_after_a_recording() {
	cmp -s "$results/tracefs.found" "$results/tracefs.recording" && fail "the recording changed nothing"
	expect_tracefs after_end
}

case_tracefs_is_as_found_after_sigterm() { expect_tracefs after_term; }

case_tracefs_is_as_found_after_sigkill_and_a_start() {
	cmp -s "$results/tracefs.found" "$results/tracefs.after_kill" && fail "the killed probes changed nothing"
	expect_tracefs after_next_start
}

case_tracefs_is_as_found_after_a_refused_probe() {
	expect_tracefs after_refusal
	expect_at_least refused.txt 1 '# stats phase=1 field=7 perfetto_kprobes/no_such_function'
}

case_two_buffers_share_probes_which_are_removed_after_both() {
	local tid count side log=two_buffers.activity
	tid=$(activity syscalls tid "$log") count=$(activity syscalls count "$log")
	for side in first second; do
		expect "${side}_buffer.txt" "$count" " $tid kprobe_event name=\"__x64_sys_getppid\" type=1"
		expect "${side}_buffer.txt" "$count" " $tid kprobe_event name=\"__x64_sys_getppid\" type=2"
	done
	grep -q rss_stat_throttled "$results/two_buffers.lists" || fail "nothing has defined rss_stat_throttled"
	grep -q 'cannot restore' "$results/ours.probes.log" && fail "an undo was refused"
	expect_tracefs after_two_buffers
}

case_a_cpu_that_goes_offline_and_tasks_that_end_keep_what_they_left() {
	local log=offline.activity count
	expect offline.txt "$(activity markers count "$log")" "^1 .* $(activity markers tid "$log") print "
	expect offline.txt 1 '^0 .* task_rename .*newcomm="while-offline"'
	expect offline.txt 0 'cannot read'
	count=$("$ORMA_BUILD_DIR/orma" dump "$results/offline.pftrace" | grep -c 'cmdline: "child-' || true)
	[[ $count -eq $(activity forks count "$log") ]] || fail "$count children that have ended have a name"
}

case_one_cpu_of_the_mask_is_recorded() {
	local log=limited.activity
	expect limited.txt 1 '^1 .* task_rename .*newcomm="on-each-cpu"'
	expect limited.txt 0 '^0 '
	expect_at_least "limited.txt" 1 "^1 .* $(activity grow tid "$log") "
	expect_tracefs after_limited
}

case_system_calls_are_recorded_by_name() {
	local log=limited.activity tid count call
	tid=$(activity named_calls tid "$log") count=$(activity named_calls count "$log")
	for call in openat futex; do
		expect limited.txt "$count" " $tid sys_exit id=$(activity named_calls "$call" "$log") ret=-$(activity named_calls "${call}_error" "$log")\$"
	done
	grep -E ' sys_(enter|exit) ' "$results/limited.txt" | grep -vE " id=(257|202) " >"$scratch/others" || true
	[[ ! -s $scratch/others ]] || fail "other system calls were recorded: $(head -n 3 "$scratch/others")"
}

# Each 512 KiB are one event.
case_small_changes_of_memory_are_left_out() {
	local tid mib count
	tid=$(activity grow tid limited.activity) mib=$(activity grow mib limited.activity)
	count=$(grep -c " $tid rss_stat_throttled .* member=1 " "$results/limited.txt" || true)
	[[ $count -ge $((2 * mib - 1)) && $count -le $((4 * mib)) ]] ||
		fail "$mib MiB have $count events of memory"
	expect limited.txt 0 ' rss_stat '
}

case_one_thread_is_recorded() {
	local tid
	tid=$(activity renames tid threads.activity)
	expect threads.txt "$(activity renames count threads.activity)" " $tid task_rename .*newcomm=\"name="
	grep ' task_rename ' "$results/threads.txt" | grep -v " $tid task_rename " >"$scratch/others" || true
	[[ ! -s $scratch/others ]] || fail "other threads were recorded: $(head -n 3 "$scratch/others")"
	expect_tracefs after_threads
}

case_the_function_graph_begins_at_the_roots_and_has_two_levels() {
	local tid count
	tid=$(activity timers tid graph.activity) count=$(activity timers count graph.activity)
	expect graph.txt "$count" " $tid funcgraph_entry depth=0 func=\"__x64_sys_clock_nanosleep\""
	expect graph.txt "$count" " $tid funcgraph_exit .* depth=0 func=\"__x64_sys_clock_nanosleep\""
	expect_at_least graph.txt "$count" " $tid funcgraph_entry depth=1 func=\"common_nsleep"
	expect graph.txt 0 ' funcgraph_entry depth=([2-9]|1[0-9])'
	expect graph.txt 0 ' funcgraph_entry depth=0 func="([^_]|_[^_]|__[^x])'
	expect graph.txt 0 'func="(get_timespec64|schedule)"'
	expect_tracefs after_graph
}

case_what_an_instance_was_left_with_is_read_and_removed() {
	local tid
	tid=$(activity renames tid left.activity)
	expect left.txt "$(activity renames count left.activity)" " $tid task_rename .*newcomm=\"name="
	grep -v '^#' "$results/left.after" && fail "the instance still has events"
	expect_tracefs after_left
}

case_probes_are_words_of_the_command_line() {
	local log=words.activity
	expect words.txt "$(activity syscalls count "$log")" " $(activity syscalls tid "$log") kprobe_event name=\"__x64_sys_getppid\" type=3"
	expect words.txt "$(activity calls count "$log")" " $(activity calls tid "$log") kprobe_event name=\"[^\"]*add_one\" type=3"
	expect_tracefs after_words
}

# The buffer has 512 KiB per CPU, which are less than 10,000 events, and the period is longer than the recording.
case_the_watermark_drains_a_buffer_that_fills() {
	[[ $kernel == newer ]] || return 0
	check_no_loss filling.txt
	expect_at_least filling.txt 40000 ' sched_(switch|waking) '
	expect_tracefs after_filling
}

case_tracing_of_others_is_left_alone() {
	diff "$results/tracefs.others" "$results/tracefs.after_others" >&2 || fail "tracefs was changed"
	expect others.txt 0 '^[0-9]'
	expect_at_least others.txt 1 'stats .*function'
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
kernel=$1
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
