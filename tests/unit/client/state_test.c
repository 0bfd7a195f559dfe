/* SPDX-License-Identifier: Apache-2.0
 * state_test.c - a service's state as structs: each value in its place, and messages that are
 * not a state.
 */
#include <orma/state.h>

#include "base/arena.h"
#include "base/buf.h"
#include "harness.h"
#include "schema/gen/service_state.pb.h"

static void encode(const char *text, struct orma_buf *buf)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	struct orma_error error = {0};

	if (orma_proto_text_parse(&orma_pb_tracing_service_state_desc, "state", text, strlen(text),
				  0, &arena, &state, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK(orma_proto_encode(state, buf) >= 0);
	orma_base_arena_done(&arena);
}

static const char whole[] =
	"producers { id: 1 name: \"p\" uid: 2 sdk_version: \"v\" pid: 3 machine_id: 4 "
	"machine_name: \"m\" } producers { id: -5 } "
	"data_sources { ds_descriptor { name: \"d\" id: 6 } producer_id: 7 } data_sources { } "
	"num_sessions: 8 num_sessions_started: 9 tracing_service_version: \"version\" "
	"tracing_sessions { id: 10 consumer_uid: 11 state: \"STARTED\" unique_session_name: \"u\" "
	"buffer_size_kb: 1 buffer_size_kb: 4194304 duration_ms: 12 num_data_sources: 13 "
	"start_realtime_ns: 14 bugreport_score: 15 } "
	"tracing_sessions { state: \"DISABLED\" } supports_tracing_sessions: true";

ORMA_TEST(each_value_is_where_it_belongs)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_service_state *state;

	encode(whole, &buf);
	CHECK_INT(orma_service_state_parse(buf.data, buf.size, &state), 0);
	/* The struct is independent of the message. */
	memset(buf.data, 0xff, buf.size);
	CHECK_INT(state->struct_size, sizeof(*state));
	CHECK_STR(state->version, "version");
	CHECK_INT(state->session_count, 8);
	CHECK_INT(state->started_count, 9);
	CHECK_INT(state->producer_count, 2);
	CHECK_INT(state->producers[0]->struct_size, sizeof(*state->producers[0]));
	CHECK_INT(state->producers[0]->id, 1);
	CHECK_STR(state->producers[0]->name, "p");
	CHECK_STR(state->producers[0]->sdk_version, "v");
	CHECK_INT(state->producers[0]->uid, 2);
	CHECK_INT(state->producers[0]->pid, 3);
	CHECK_INT(state->producers[0]->machine_id, 4);
	CHECK_STR(state->producers[0]->machine_name, "m");
	CHECK_INT(state->producers[1]->id, -5);
	CHECK_STR(state->producers[1]->name, "");
	CHECK_INT(state->data_source_count, 2);
	CHECK_STR(state->data_sources[0]->name, "d");
	CHECK_INT(state->data_sources[0]->producer_id, 7);
	CHECK_MEM(state->data_sources[0]->descriptor, state->data_sources[0]->descriptor_size,
		  "\x0a\x01"
		  "d\x38\x06",
		  5);
	CHECK_STR(state->data_sources[1]->name, "");
	CHECK_INT(state->data_sources[1]->descriptor_size, 0);
	CHECK(state->lists_sessions);
	CHECK_INT(state->listed_count, 2);
	CHECK_INT(state->sessions[0]->id, 10);
	CHECK_INT(state->sessions[0]->uid, 11);
	CHECK_STR(state->sessions[0]->state, "STARTED");
	CHECK(state->sessions[0]->is_started);
	CHECK_STR(state->sessions[0]->unique_name, "u");
	CHECK_INT(state->sessions[0]->buffers_bytes, 4194305LL * 1024);
	CHECK_INT(state->sessions[0]->duration_ms, 12);
	CHECK_INT(state->sessions[0]->data_source_count, 13);
	CHECK_INT(state->sessions[0]->start_realtime_ns, 14);
	CHECK_INT(state->sessions[0]->bugreport_score, 15);
	CHECK(!state->sessions[1]->is_started);
	orma_service_state_free(state);
	orma_service_state_free(NULL);
}

ORMA_TEST(an_empty_state_has_nothing_and_nonsense_is_refused)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	static const uint8_t producer[] = {0x0a, 0x00};
	struct orma_service_state *state;

	CHECK_INT(orma_service_state_parse(NULL, 0, &state), 0);
	CHECK_STR(state->version, "");
	CHECK_INT(state->producer_count + state->data_source_count + state->listed_count, 0);
	CHECK(!state->lists_sessions);
	orma_service_state_free(state);
	CHECK_INT(orma_service_state_parse("\x0a\x7f", 2, &state), -EBADMSG);
	CHECK_INT(orma_service_state_parse(NULL, 1, &state), -EINVAL);
	CHECK_INT(orma_service_state_parse("", 0, NULL), -EINVAL);
	/* A few bytes that would expand to many. */
	for (int i = 0; i < 1000000; i++)
		CHECK_INT(orma_base_buf_append(&buf, producer, sizeof(producer)), 0);
	CHECK_INT(orma_service_state_parse(buf.data, buf.size, &state), -ENOMEM);
}

ORMA_TEST(parsing_survives_any_failing_allocation)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_service_state *state;
	int r = -ENOMEM;

	encode(whole, &buf);
	for (uint64_t nth = 1; r < 0; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_service_state_parse(buf.data, buf.size, &state);
		orma_test_fail_allocation(0);
		CHECK(r == 0 || r == -ENOMEM);
	}
	CHECK_STR(state->producers[0]->name, "p");
	orma_service_state_free(state);
}
