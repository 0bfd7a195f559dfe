/* SPDX-License-Identifier: Apache-2.0
 * data_source.c - a custom data source: packets in the program's own format, for sessions that ask for them.
 *
 *	orma_data_source [packets]
 *
 * It waits until somebody records, then writes its packets and ends:
 *
 *	orma record -c my.cfg -o trace.pftrace    with, in my.cfg:
 *	buffers { size_kb: 1024 }
 *	data_sources { config { name: "example.queue" legacy_config: "outgoing" } }
 */
#include <orma/orma.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* Ids of fields: of TracePacket, in addition to those in orma/packet.h, and of our message in it. */
enum { PACKET_FOR_TESTING = 900 };
enum { QUEUE_NAME = 1, QUEUE_LENGTH = 3 };
/* A field of DataSourceConfig: a text for data sources that have no config message of their own. */
enum { CONFIG_TEXT = 1000 };

static sem_t is_started;

/* Callbacks run on the library's thread. on_setup() stores a context for the instance. */
static void on_setup(void *ctx, const struct orma_instance *instance, void **ret_instance_ctx)
{
	struct orma_field text;

	(void)ctx;
	printf("instance %u: a config of %zu bytes", instance->idx, instance->config_size);
	if (orma_field_find(instance->config, instance->config_size, CONFIG_TEXT, &text) > 0)
		printf(" that says \"%.*s\"", (int)text.size, (const char *)text.data);
	printf("\n");
	*ret_instance_ctx = calloc(1, sizeof(long));
}

static void on_start(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	(void)instance;
	sem_post(&is_started);
}

/* The last opportunity to write something; here, how often we were flushed. */
static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	const long *flushes = instance->instance_ctx;

	(void)ctx;
	printf("instance %u: stopped after %ld flushes, %llu packets lost\n", instance->idx,
	       flushes ? *flushes : 0,
	       (unsigned long long)orma_data_source_dropped(instance->source, instance->idx));
	return ORMA_COMPLETE;
}

static enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	long *flushes = instance->instance_ctx;

	(void)ctx;
	if (flushes)
		++*flushes;
	return ORMA_COMPLETE;
}

static void on_destroy(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	free(instance->instance_ctx);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now); /* the clock of timestamps that name none */
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void write_packet(struct orma_data_source *source, long length)
{
	ORMA_FOR_EACH_INSTANCE(source, idx)
	{
		struct orma_packet *packet = orma_packet_begin(source, idx);
		struct orma_nested queue;

		if (!packet) /* it has just stopped */
			continue;
		orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, now_ns());
		orma_packet_nested_begin(packet, &queue, PACKET_FOR_TESTING);
		orma_packet_string(packet, QUEUE_NAME, "incoming");
		orma_packet_varint(packet, QUEUE_LENGTH, (uint64_t)length);
		orma_packet_nested_end(packet, &queue);
		orma_packet_end(packet);
	}
}

int main(int argc, char **argv)
{
	const struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "example.queue",
		.policy = ORMA_EXHAUSTED_STALL, /* rather wait a while than lose packets */
		.on_setup = on_setup,
		.on_start = on_start,
		.on_stop = on_stop,
		.on_flush = on_flush,
		.on_destroy = on_destroy,
	};
	long count = argc > 1 ? atol(argv[1]) : 1000;
	struct orma_data_source *source;

	sem_init(&is_started, 0, 0);
	if (orma_init(NULL) < 0 || orma_data_source_register(&options, &source) < 0)
		return 1;
	sem_wait(&is_started);
	for (long i = 0; i < count; i++)
		write_packet(source, i % 17);
	orma_shutdown(); /* hands over what is left */
	return 0;
}
