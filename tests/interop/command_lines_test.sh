#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Command lines of `perfetto`, `traced` and `traced_probes`, each run with Perfetto's program and with orma's under the same
# name, each against its own daemon: the exit status is the same, and the same files are made. Lines after "differs" end
# otherwise on purpose; what both sides do with them is written down.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

# make_inputs - fills the working directory with what the lines name.
make_inputs() {
	mkdir folder
	echo old >old
	: >empty
	echo 'buffers { size_kb: 64 } data_sources { config { name: "none" } } duration_ms: 50' >text.cfg
	echo 'buffers { size_kb: 64 } made_up: 3 duration_ms: 50' >lossy.cfg
	echo 'buffers { size_kb: 64 } duration_ms: 50 data_sources { config { name: "x" target_buffer: 7 } }' >refused.cfg
	echo "buffers { size_kb: 64 } duration_ms: 50 write_into_file: true output_path: \"$PWD/path.out\"" >path.cfg
	echo 'buffers { size_kb: 64 } duration_ms: 200 write_into_file: true file_write_period_ms: 100' >stream.cfg
	echo 'activate_triggers: "a"' >triggers.cfg
}

# run_line SIDE LINE - prints the exit status and the files that the line has made or filled.
run_line() {
	local -n bin=$1
	local line=$2 words name work=$dir/$1.work status=0
	mkdir "$work"
	cd "$work"
	make_inputs
	read -ra words <<<"$line"
	limited "$bin/${words[0]}" "${words[@]:1}" >out 2>"$dir/$1.said" || status=$?
	# What goes on in the background writes soon.
	[[ " $line " != *" -d "*" -o x "* ]] || poll 2 test -s x || true
	printf '%s' "$status"
	for name in x old path.out; do
		[[ ! -e $name ]] || printf ' %s' "$name"
		[[ -s $name || ! -e $name ]] || printf '(empty)'
	done
	[[ ! -s out ]] || printf ' +output'
	echo
	cd "$dir"
	rm -rf "$work"
}

# run_lines SIDE - prints the result of each line on standard input.
run_lines() {
	local line
	start_traced "$1"
	while read -r line; do
		[[ -z $line || $line == '#'* ]] || printf '%s | %s\n' "$line" "$(run_line "$1" "$line")"
	done
	stop_daemon traced
}

same_lines='
perfetto
perfetto --bogus
perfetto -t
perfetto -o x
perfetto -t 100ms
perfetto -t 100ms -o x
perfetto -t abc -o x
perfetto -b 1mb -t 100ms -o x
perfetto -b junk -t 100ms -o x
perfetto -s 1mb -t 100ms -o x
perfetto -t 100ms -o x sched/sched_switch
perfetto -t 100ms -o x gfx disk hyp wm
perfetto -t 100ms -o x -a com.example
perfetto -t 100ms -o x --alert-id 1 --config-id 2 --config-uid 3 --subscription-id 4
perfetto -t 100ms -o folder
perfetto -t 100ms -o missing/x
perfetto -t 100ms -o old --no-clobber
perfetto -t 100ms -o old
perfetto -t 100ms -o -
perfetto -d -t 100ms -o x
perfetto -d -t 100ms -o -
perfetto -c :test -t 1s -o x
perfetto -c missing -o x
perfetto -c folder -o x
perfetto -c empty -o x
perfetto -c text.cfg -o x
perfetto -c text.cfg --txt
perfetto -c text.cfg --txt -o x
perfetto -ctext.cfg --txt -ox
perfetto --config=text.cfg --txt --out=x
perfetto -c lossy.cfg --txt -o x
perfetto -c text.cfg --txt --txt-lossy -o x
perfetto -c path.cfg --txt
perfetto -c path.cfg --txt -o x
perfetto -c stream.cfg --txt -o x
perfetto --txt -c text.cfg -o x sched/sched_switch
perfetto --query
perfetto --query --long
perfetto --query-raw
perfetto --long
perfetto --query -d
perfetto --query --attach k
perfetto --query -t 1s
perfetto --query -c text.cfg
perfetto --attach k
perfetto --attach k --stop
perfetto --stop
perfetto --stop -c text.cfg --txt -o x
perfetto --attach k -c text.cfg --txt
perfetto --attach k --detach k
perfetto --detach k -c text.cfg --txt -o x
perfetto --detach k -d -c stream.cfg --txt -o x
perfetto --is_detached k
perfetto --clone 1 --clone-by-name a -o x
perfetto --clone-for-bugreport -c text.cfg --txt -o x
perfetto --save-for-bugreport -t 1s
perfetto --upload -c text.cfg --txt
perfetto --dropbox perfetto -c text.cfg --txt
perfetto --no-guardrails -t 100ms -o x
perfetto --reset-guardrails
perfetto --add-note k=v -t 100ms -o x
perfetto --notify-fd 1 -t 100ms -o x
perfetto -c triggers.cfg --txt
'

case_command_lines_end_as_perfettos_do() {
	run_lines theirs <<<"$same_lines" >"$dir/theirs.results"
	run_lines ours <<<"$same_lines" >"$dir/ours.results"
	[[ $(wc -l <"$dir/ours.results") -gt 60 ]] || fail "only $(wc -l <"$dir/ours.results") lines were run"
	diff "$dir/theirs.results" "$dir/ours.results" >&2 || fail "these lines end otherwise (< Perfetto's, > orma's)"
}

# Perfetto's result, orma's, and the line. A refusal of the service is a failure for orma; help is a success; version 56 lacks
# --txt-lossy and --add-attribute.
differing_lines='
1 old:0 old +output:perfetto --help
0 old:1 old:perfetto -c refused.cfg --txt -o x
0 old:1 old:perfetto -b 0 -t 100ms -o x
0 old:1 old:perfetto --clone 99 -o x
0 old:1 old:perfetto --clone-by-name nobody -o x
1 old:0 x old:perfetto -c lossy.cfg --txt-lossy -o x
1 old:0 x old:perfetto --add-attribute k=v -t 100ms -o x
1 old:0 old +output:traced --help
1 old:2 old:traced --bogus
1 old:2 old:traced_probes --bogus
'

case_other_command_lines_differ_as_documented() {
	local side=0 name
	for name in theirs ours; do
		side=$((side + 1))
		awk -F: 'NF == 3 { print $3 }' <<<"$differing_lines" | run_lines "$name" >"$dir/$name.results"
		awk -F: -v side="$side" 'NF == 3 { print $3 " | " $side }' <<<"$differing_lines" >"$dir/$name.expected"
		diff "$dir/$name.expected" "$dir/$name.results" >&2 || fail "$name differs from what is written down (>)"
	done
}

run_cases "$@"
