#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks what tests/kernel/profile recorded in a guest. Each function case_<name> is one test.
# shellcheck disable=SC2317 # the cases are called by name

set -euo pipefail

: "${ORMA_BUILD_DIR:?is not set: run the kernel tests through ctest}"
readonly tools=$ORMA_BUILD_DIR/tests
readonly results=$ORMA_BUILD_DIR/kernel-results/profiles

fail() {
	echo "FAILED: $*" >&2
	exit 1
}

# print_shares FILE - the number of samples in perf_shares, and the percentages that its functions have: five, three, two.
print_shares() {
	{
		nm "$tools/perf_shares" | awk '$3 ~ /^(five|three|two)$/ { print "function", $3, $1 }' |
			while read -r kind name at; do echo "$kind $name $((16#$at))"; done
		"$ORMA_BUILD_DIR/orma" sql -f "${BASH_SOURCE[0]%/*}/../interop/perf_leaves.sql" --csv "$1" | sed 1d
	} | awk -f "${BASH_SOURCE[0]%/*}/../interop/perf_shares.awk"
}

case_shares_of_a_profile_are_those_of_perf() {
	local of_perf of_orma
	of_perf=$(print_shares "$results/perf.data")
	of_orma=$(print_shares "$results/profile.trace")
	echo "samples and shares of five, three and two: perf $of_perf, orma $of_orma"
	# With random samples, two profiles of 4,000 would differ by up to three points. These are at equal distances.
	awk -v of_perf="$of_perf" -v of_orma="$of_orma" 'BEGIN {
		split(of_perf, a); split(of_orma, b)
		if (a[1] < 1000 || b[1] < 1000) exit 1
		for (i = 2; i <= 4; i++)
			if ((a[i] - b[i]) ^ 2 > 1) exit 1
	}' || fail "perf and orma differ"
}

case_a_tracepoint_has_a_sample_for_each_event() {
	local samples
	samples=$("$ORMA_BUILD_DIR/orma" sql --csv "$results/forks.trace" "select count(*), count(callsite_id),
		count(distinct utid) from perf_sample" | sed 1d)
	[[ $samples == 20,20,1 ]] || fail "samples, their stacks and their threads: $samples"
	# Nothing is missing, though the subshells have no samples.
	[[ ! -s $results/forks.log ]] || fail "orma profile says: $(cat "$results/forks.log")"
}

if [[ $# -ne 1 ]] || ! declare -F "case_$1" >/dev/null; then
	echo "usage: ${0##*/} CASE" >&2
	exit 2
fi
if [[ ! -r $results/status ]]; then
	echo "skipped: tests/kernel/profile left no results" >&2
	[[ ${CI:-} == true ]] && exit 1
	exit 77
fi
"case_$1"
