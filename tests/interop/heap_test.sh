#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# heap_test.sh - `orma heap` profiles programs of others, and its sums are compared with what the programs say themselves.
#
# Debian: redis-tools, which has the server under another name and installs no service; python3-minimal, gcc.

needs_perfetto=
# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly here=${BASH_SOURCE[0]%/*}
need() {
	local name
	for name in "$@"; do
		type -P "$name" >/dev/null || skip "$name is missing"
	done
}

# ask QUERY - the answer without its header.
ask() { limited "$orma" sql --csv "$dir/trace" "$1" | sed 1d; }

# check_live BYTES PERCENT - what is live at the end is at most so much away from BYTES.
check_live() {
	local live
	live=$(ask "select coalesce(sum(size), 0) from heap_profile_allocation")
	((live * 100 >= $1 * (100 - $2) && live * 100 <= $1 * (100 + $2))) || fail "$live bytes are live, not $1"
}

client() { limited redis-cli -s "$dir/socket" "$@"; }

# Redis links jemalloc, and counts the bytes of all its blocks. Blocks are a little larger than what was asked for.
case_live_memory_of_redis_is_what_it_counts_itself() {
	local used status=0
	need redis-check-rdb redis-cli redis-benchmark
	ln -s "$(type -P redis-check-rdb)" "$dir/redis-server"
	setpriv --pdeathsig KILL "$orma" heap -o "$dir/trace" -- "$dir/redis-server" --port 0 --unixsocket "$dir/socket" --save "" \
		>"$dir/redis.log" 2>&1 </dev/null &
	poll "$READY_S" client ping >/dev/null 2>&1 || die "redis is not ready: $(cat "$dir/redis.log")"
	limited redis-benchmark -s "$dir/socket" -t set -n 20000 -r 100000 -d 3000 -q >/dev/null || die "redis-benchmark failed"
	used=$(client info memory | sed -n 's/^used_memory:\([0-9]*\).*/\1/p')
	[[ $used -gt 50000000 ]] || fail "redis uses '$used' bytes"
	client shutdown nosave || true
	wait $! || status=$?
	[[ $status -eq 0 ]] || fail "orma heap ended with status $status: $(tail -3 "$dir/redis.log")"
	check_live "$used" 10
	grep -q createStringObject "$dir/redis.log" || fail "the summary does not say who made the values"
}

# An object of 3,000 bytes has 33 more. The interpreter itself keeps less than a megabyte.
case_objects_of_python_are_counted() {
	need /usr/bin/python3
	PYTHONMALLOC=malloc limited "$orma" heap -q -o "$dir/trace" -- /usr/bin/python3 -c '
import os
kept = [bytes(3000) for _ in range(10000)]
os._exit(0)' 2>"$dir/heap.log" || fail "orma heap: $(cat "$dir/heap.log")"
	check_live $((10000 * 3033)) 10
}

case_a_compiler_makes_the_same_object() {
	need gcc cmp
	seq 500 | sed 's/.*/int f&(int a) { return a * & + (a >> 3); }/' >"$dir/code.c"
	limited gcc -O1 -c "$dir/code.c" -o "$dir/alone.o"
	limited "$orma" heap -q --follow -o "$dir/trace" -- gcc -O1 -c "$dir/code.c" -o "$dir/profiled.o" 2>"$dir/heap.log" ||
		fail "orma heap: $(cat "$dir/heap.log")"
	cmp "$dir/alone.o" "$dir/profiled.o" || fail "the objects differ"
	[[ $(ask "select count(distinct upid) from heap_profile_allocation") -ge 2 ]] || fail "the compiler was not followed"
	[[ $(ask "select sum(max(size, 0)) > 10000000 from heap_profile_allocation") == 1 ]] || fail "the compiler allocated less than 10 MB"
}

# Debian's rustc is too large to install for one test, so this skips in CI, too.
case_vectors_of_rust_are_counted_exactly() {
	limited rustc --version >/dev/null 2>&1 || {
		say "skipped: there is no rustc that works"
		exit 77
	}
	limited rustc -g -o "$dir/program" "$here/heap_vectors.rs" 2>"$dir/rustc.log" || die "rustc: $(cat "$dir/rustc.log")"
	limited "$orma" heap -i 1 -o "$dir/trace" -- "$dir/program" >"$dir/heap.log" 2>&1 || fail "orma heap: $(cat "$dir/heap.log")"
	[[ $(ask "with recursive up(id, parent, frame, bytes) as (select c.id, c.parent_id, c.frame_id, a.size
			from heap_profile_allocation a join stack_profile_callsite c on c.id = a.callsite_id
			union all select c.id, c.parent_id, c.frame_id, up.bytes from up join stack_profile_callsite c on c.id = up.parent)
		select sum(bytes) from up join stack_profile_frame f on f.id = up.frame
		left join stack_profile_symbol y on y.symbol_set_id = f.symbol_set_id
		where coalesce(y.name, f.name) like '%keep_vectors%'") == 3000000 ]] || fail "not 3,000,000 bytes are live"
	grep -q 'keep_vectors' "$dir/heap.log" || fail "the summary does not name the function"
}

run_cases "$@"
