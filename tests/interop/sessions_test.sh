#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Sessions of the library with Perfetto's daemon and with orma's: configure, change, start, flush, read, clone, detach,
# attach, query, stop, refuse; with the functions that block and with those that do not.
# shellcheck disable=SC2317 # run_cases calls the cases by name

# shellcheck source-path=SCRIPTDIR source=lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

readonly sessions=$ORMA_BUILD_DIR/tests/sessions

case_waiting_sessions_of_their_daemon() {
	start_traced theirs
	limited "$sessions" waiting || fail "sessions waiting"
}

case_polled_sessions_of_their_daemon() {
	start_traced theirs
	limited "$sessions" polled || fail "sessions polled"
}

case_waiting_sessions_of_our_daemon() {
	start_traced ours
	limited "$sessions" waiting || fail "sessions waiting"
}

case_polled_sessions_of_our_daemon() {
	start_traced ours
	limited "$sessions" polled || fail "sessions polled"
}

run_cases "$@"
