/* SPDX-License-Identifier: Apache-2.0
 * in_process_test.c - producer, service and consumer in one process: from a data source's callbacks
 * to the bytes of the packets that a session reads.
 */
#include "unit/client/fixture.h"

struct source_log {
	int setups, starts, stops, flushes, clears, destroys;
	enum orma_completion stop_completion, flush_completion;
	_Atomic uint64_t stop_number, flush_number;
	char config[256];
};

static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	struct source_log *log = ctx;

	log->setups++;
	CHECK(instance->config_size < sizeof(log->config));
	memcpy(log->config, instance->config, instance->config_size);
	*ret_instance_ctx = log;
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	CHECK(instance->instance_ctx == ctx);
	log->starts++;
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	log->stops++;
	log->stop_number = instance->completion;
	return log->stop_completion;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	log->flushes++;
	log->flush_number = instance->completion;
	return log->flush_completion;
}

static void on_clear(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	(void)instance;
	log->clears++;
}

static void on_destroy(void *ctx, const struct orma_instance *instance)
{
	struct source_log *log = ctx;

	(void)instance;
	log->destroys++;
}

static struct orma_data_source *register_source(const char *name, struct source_log *log)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = name,
		.ctx = log,
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_clear_incremental_state = on_clear,
		.on_destroy = on_destroy,
	};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

static void emit(struct orma_data_source *source, uint64_t value)
{
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);

		CHECK(packet);
		orma_packet_varint(packet, 8, value);
		orma_packet_end(packet);
	}
}

#define CONFIG "buffers { size_kb: 1024 } data_sources { config { name: \"test.source\" } }"

/* Packets of ours carry small numbers as timestamps. */
static size_t count_values(const struct packets *packets, uint64_t first, uint64_t last)
{
	uint64_t expected = first;

	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets->list.items[i];

		if (packet->timestamp < first || packet->timestamp > last)
			continue;
		CHECK_INT(packet->timestamp, expected);
		expected++;
	}
	return expected - first;
}

ORMA_TEST(a_session_reads_the_packets_of_a_data_source)
{
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};

	init_in_process();
	source = register_source("test.source", &log);
	session = session_start(CONFIG);
	CHECK_INT(log.setups, 1);
	CHECK_INT(log.starts, 1);
	CHECK_INT(orma_data_source_started(source), 1);
	for (uint64_t i = 1; i <= 100; i++)
		emit(source, i);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(log.flushes, 1);
	session_finish(session, &packets);
	CHECK_INT(log.stops, 1);
	CHECK_INT(log.destroys, 1);
	CHECK_INT(orma_data_source_started(source), 0);
	CHECK_INT(count_values(&packets, 1, 100), 100);
	packets_done(&packets);
	orma_shutdown();
}
