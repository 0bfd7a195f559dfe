/* SPDX-License-Identifier: Apache-2.0
 * answer_fuzz.c - any bytes as a service's answer to a consumer: packets in slices, the result of a
 * clone, statistics, state.
 *
 * The first byte chooses the kind of answer. The replies to a read are several, because packets
 * span them; a byte before each reply is its size. The caller must get structs that can be walked
 * to their end, and packets whose memory is their own.
 */
#include <errno.h>
#include <orma/state.h>
#include <orma/stats.h>
#include <stdlib.h>
#include <string.h>

#include "client/session_read.h"

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			abort();                                                                   \
	} while (0)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static volatile uint8_t sink;

static void look_at(const void *data, size_t size)
{
	for (size_t i = 0; i < size; i++)
		sink = ((const uint8_t *)data)[i];
}

static void try_stats(const uint8_t *data, size_t size)
{
	struct orma_trace_stats *stats;
	uint64_t lost = 0;

	if (orma_trace_stats_parse(data, size, &stats) < 0)
		return;
	for (size_t i = 0; i < stats->buffer_count; i++)
		lost += stats->buffers[i]->packets_not_written;
	CHECK(lost + stats->packets_invalid == stats->lost_packets);
	orma_trace_stats_free(stats);
}

static void try_state(const uint8_t *data, size_t size)
{
	struct orma_service_state *state;

	if (orma_service_state_parse(data, size, &state) < 0)
		return;
	look_at(state->version, strlen(state->version));
	for (size_t i = 0; i < state->producer_count; i++) {
		look_at(state->producers[i]->name, strlen(state->producers[i]->name));
		look_at(state->producers[i]->machine_name,
			strlen(state->producers[i]->machine_name));
	}
	for (size_t i = 0; i < state->data_source_count; i++) {
		look_at(state->data_sources[i]->name, strlen(state->data_sources[i]->name));
		look_at(state->data_sources[i]->descriptor,
			state->data_sources[i]->descriptor_size);
	}
	for (size_t i = 0; i < state->listed_count; i++)
		look_at(state->sessions[i]->state, strlen(state->sessions[i]->state));
	orma_service_state_free(state);
}

static int take_packet(void *ctx, const void *packet, size_t size)
{
	size_t *total = ctx;

	look_at(packet, size);
	*total += size;
	return 0;
}

/* Each reply is a separate allocation that is freed afterwards. */
static int hand_over(struct orma_client_call *call, const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	int r;

	CHECK(copy);
	if (size > 0)
		memcpy(copy, data, size);
	r = call->reply(call, copy, size);
	free(copy);
	return r;
}

static void try_read(const uint8_t *data, size_t size)
{
	struct orma_client_read read;
	size_t total = 0, received = 0;
	int r = 0;

	orma_client_read_init(&read, take_packet, &total);
	while (r == 0 && size > 0) {
		size_t piece = data[0] < size ? data[0] : size - 1;

		r = hand_over(&read.call, data + 1, piece);
		received += piece;
		data += 1 + piece;
		size -= 1 + piece;
	}
	CHECK(total + read.partial.size <= received);
	orma_base_buf_done(&read.partial);
}

static void try_clone(const uint8_t *data, size_t size)
{
	const struct orma_session_clone_options options = {.struct_size = sizeof(options),
							   .session_id = 1};
	struct orma_session session = {0};
	struct orma_client_clone clone;
	struct orma_buf args = {0};
	struct orma_error error = {0};
	int fd, r;

	CHECK(orma_client_clone_init(&session, &options, &clone, &args, &fd, NULL) == 0);
	orma_base_buf_done(&args);
	r = hand_over(&clone.call, data, size);
	CHECK(orma_client_clone_error(&clone, r, &error) == r || r == -EREMOTEIO);
	CHECK(r == 0 || error.code < 0);
}

static void try_query(const uint8_t *data, size_t size)
{
	struct orma_client_query query;

	CHECK(orma_client_query_init(&query, ORMA_SESSION_QUERY_STATE) == 0);
	if (hand_over(&query.call, data, size) == 0)
		CHECK(query.answer.size <= size);
	look_at(query.answer.data, query.answer.size);
	orma_base_buf_done(&query.answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const all[])(const uint8_t *data, size_t size) = {
		try_stats, try_state, try_read, try_clone, try_query};

	if (size > 0)
		all[data[0] % (sizeof(all) / sizeof(all[0]))](data + 1, size - 1);
	return 0;
}
