/* SPDX-License-Identifier: Apache-2.0
 * session.c - the sessions of the benchmark, with the public API, for both daemons.
 */
#include "session.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "schema/gen/trace_stats.pb.h"

static int write_config(const struct bench_config *config, void **ret, size_t *ret_size)
{
	struct orma_error error = {0};
	char text[1024];
	size_t used;
	int r;

	used = (size_t)snprintf(text, sizeof(text),
				"buffers { size_kb: %u fill_policy: %s }\n"
				"data_sources { config { name: \"%s\" } }\n",
				config->buffer_kib,
				config->is_discarding ? "DISCARD" : "RING_BUFFER",
				config->source ? config->source : "orma.bench");
	if (config->name)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "unique_session_name: \"%s\"\n", config->name);
	if (config->flush_period_ms)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "flush_period_ms: %u\n",
					 config->flush_period_ms);
	if (config->shm_kib)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "producers { producer_name: \"bench_producer\" "
					 "shm_size_kb: %u page_size_kb: 4 }\n",
					 config->shm_kib);
	if (config->file_period_ms)
		used += (size_t)snprintf(text + used, sizeof(text) - used,
					 "write_into_file: true file_write_period_ms: %u\n",
					 config->file_period_ms);
	r = orma_config_parse("bench", text, used, ret, ret_size, &error);
	if (r < 0)
		fprintf(stderr, "bench: %s\n", error.message);
	return r;
}

int bench_session_start(const struct bench_daemon *daemon, const struct bench_config *config,
			int file_fd, struct orma_session **ret)
{
	const struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = daemon->consumer_socket,
		.timeout_ms = config->timeout_ms ? config->timeout_ms : 60000,
	};
	struct orma_error error = {0};
	void *bytes;
	size_t size;
	int r = write_config(config, &bytes, &size);

	if (r < 0)
		return r;
	r = orma_session_new(&options, ret, &error);
	if (r < 0) {
		fprintf(stderr, "bench: no session: %s\n", error.message);
	} else {
		r = orma_session_enable(*ret, bytes, size, file_fd);
		if (r < 0)
			orma_session_free(*ret);
	}
	orma_config_free(bytes);
	return r;
}

int bench_session_stats(struct orma_session *session, struct bench_stats *ret)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	void *data;
	size_t size;
	int r = orma_session_get_stats(session, &data, &size);

	*ret = (struct bench_stats){0};
	if (r < 0)
		return r;
	r = orma_pb_trace_stats_decode(data, size, &arena, &stats);
	if (r >= 0) {
		ret->lost = stats->chunks_discarded + stats->patches_discarded;
		for (size_t i = 0; i < stats->buffer_stats.count; i++) {
			const struct orma_pb_trace_stats_buffer_stats *one =
				stats->buffer_stats.items[i];

			ret->bytes_written += one->bytes_written;
			ret->bytes_overwritten += one->bytes_overwritten;
			ret->lost += one->chunks_discarded + one->trace_writer_packet_loss +
				     one->patches_failed + one->abi_violations;
		}
	}
	orma_base_arena_done(&arena);
	orma_config_free(data);
	return r;
}
