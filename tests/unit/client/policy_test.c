/* SPDX-License-Identifier: Apache-2.0
 * policy_test.c - what happens when the shared memory is full.
 */
#include <pthread.h>

#include "base/clock_ns.h"
#include "unit/client/fixture.h"

/* 256 KiB of shared memory that nothing empties, because the library's thread waits in on_flush.
 */
struct blocked {
	struct source_log log;
	sem_t is_blocked, go_on;
};

static enum orma_completion block(void *ctx, const struct orma_instance *instance)
{
	struct blocked *blocked = ctx;

	(void)instance;
	sem_post(&blocked->is_blocked);
	wait_for(&blocked->go_on);
	return ORMA_COMPLETE;
}

static struct orma_data_source *
register_blocking(struct blocked *blocked, enum orma_exhausted_policy policy, uint32_t timeout_ms)
{
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .policy = policy,
							 .stall_timeout_ms = timeout_ms,
							 .allow_policy_in_config = true,
							 .ctx = blocked,
							 .on_flush = block};
	struct orma_data_source *source;

	CHECK_INT(orma_data_source_register(&options, &source), 0);
	return source;
}

struct flusher {
	struct orma_session *session;
	const char *config;
	struct packets packets;
	sem_t is_running;
	sem_t stop;
};

/* A session belongs to its thread. */
static void *flush_and_read(void *ctx)
{
	struct flusher *flusher = ctx;

	flusher->session = session_start(flusher->config);
	sem_post(&flusher->is_running);
	CHECK_INT(orma_session_flush(flusher->session, WAIT_MS, 0), 0);
	wait_for(&flusher->stop);
	session_finish(flusher->session, &flusher->packets);
	return NULL;
}

#define TOO_MANY 20000 /* packets of 50 bytes in 256 KiB */

static void emit_large(struct orma_data_source *source, uint64_t value)
{
	struct orma_packet *packet = orma_packet_begin(source, 0);

	CHECK(packet);
	orma_packet_varint(packet, 8, value);
	orma_packet_string(packet, 2000, "0123456789012345678901234567890123456789");
	orma_packet_end(packet);
}

static void fill_while_blocked(struct blocked *blocked, struct orma_data_source *source,
			       struct flusher *flusher, uint64_t *ret_last)
{
	uint64_t value = 0;

	wait_for(&flusher->is_running);
	wait_for(&blocked->is_blocked);
	while (orma_data_source_dropped(source, 0) == 0 && value < TOO_MANY)
		emit_large(source, ++value);
	CHECK(value < TOO_MANY);
	*ret_last = value;
}

ORMA_TEST(with_the_drop_policy_what_finds_no_room_is_lost_and_counted)
{
	struct blocked blocked = {0};
	struct flusher flusher = {.config = SOURCE_CONFIG};
	struct orma_data_source *source;
	struct orma_packet *packet;
	pthread_t thread;
	uint64_t last, dropped;
	size_t kept = 0, marked = 0;

	init_in_process();
	source = register_blocking(&blocked, ORMA_EXHAUSTED_DROP, 0);
	CHECK_INT(pthread_create(&thread, NULL, flush_and_read, &flusher), 0);
	fill_while_blocked(&blocked, source, &flusher, &last);
	emit_large(source, ++last);
	dropped = orma_data_source_dropped(source, 0);
	CHECK_INT(dropped, 2);
	sem_post(&blocked.go_on);
	/* After some time there is room again, and the state has to be emitted again. */
	for (bool is_good = false; !is_good;) {
		packet = orma_packet_begin(source, 0);
		orma_packet_varint(packet, 8, last + 1);
		CHECK(orma_packet_take_needs_state(packet));
		orma_packet_end(packet);
		is_good = orma_data_source_dropped(source, 0) == dropped;
		dropped = orma_data_source_dropped(source, 0);
	}
	sem_post(&flusher.stop);
	pthread_join(thread, NULL);
	for (size_t i = 0; i < flusher.packets.list.count; i++) {
		const struct orma_pb_trace_packet *one = flusher.packets.list.items[i];

		kept += one->timestamp >= 1 && one->timestamp <= last;
		if (one->timestamp == last + 1)
			marked += (one->previous_packet_dropped & 1) != 0;
	}
	CHECK_INT(kept, last - 2);
	CHECK_INT(marked, 1);
	packets_done(&flusher.packets);
	orma_shutdown();
}

ORMA_TEST(with_the_stall_policy_the_wait_is_bounded)
{
	struct blocked blocked = {0};
	struct flusher flusher = {.config = SOURCE_CONFIG};
	struct orma_data_source *source;
	pthread_t thread;
	uint64_t last, begin_ns;

	init_in_process();
	source = register_blocking(&blocked, ORMA_EXHAUSTED_STALL, 20);
	CHECK_INT(pthread_create(&thread, NULL, flush_and_read, &flusher), 0);
	begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	fill_while_blocked(&blocked, source, &flusher, &last);
	CHECK(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns >= 20 * ORMA_NS_PER_MS);
	sem_post(&blocked.go_on);
	sem_post(&flusher.stop);
	pthread_join(thread, NULL);
	CHECK_INT(count_values(&flusher.packets, 1, last - 1), last - 1);
	packets_done(&flusher.packets);
	orma_shutdown();
}

static void *emit_many(void *ctx)
{
	for (uint64_t i = 1; i <= TOO_MANY; i++)
		emit_large(ctx, i);
	return NULL;
}

ORMA_TEST(with_the_stall_policy_from_the_config_nothing_is_lost)
{
	struct blocked blocked = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct packets packets = {0};
	pthread_t threads[3];
	size_t count = 0;

	init_in_process();
	source = register_blocking(&blocked, ORMA_EXHAUSTED_DROP, 0);
	session = session_start("buffers { size_kb: 8192 } data_sources { config { "
				"name: \"test.source\" "
				"buffer_exhausted_policy: BUFFER_EXHAUSTED_STALL_THEN_ABORT } }");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		CHECK_INT(pthread_create(&threads[i], NULL, emit_many, source), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		pthread_join(threads[i], NULL);
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->timestamp > 0 &&
			 packets.list.items[i]->timestamp <= TOO_MANY;
	CHECK_INT(count, ORMA_ARRAY_SIZE(threads) * TOO_MANY);
	packets_done(&packets);
	orma_shutdown();
}

/* The thread that empties the memory writes more than the memory holds. */
static void flood(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	for (uint64_t i = 1; i <= TOO_MANY; i++)
		emit_large(instance->source, i);
}

static void flood_through(bool caller_drives)
{
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .backends = ORMA_BACKEND_IN_PROCESS,
					       .caller_drives = caller_drives};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .policy = ORMA_EXHAUSTED_STALL,
							 .on_start = flood};
	struct packets packets = {0};
	struct orma_data_source *source;
	struct orma_session *session;

	CHECK_INT(orma_init(&init), 0);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	session = session_start("buffers { size_kb: 8192 } "
				"data_sources { config { name: \"test.source\" } }");
	CHECK_INT(orma_data_source_dropped(source, 0), 0);
	session_finish(session, &packets);
	CHECK_INT(count_values(&packets, 1, TOO_MANY), TOO_MANY);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(errno_stays_what_it_was_wherever_a_packet_goes)
{
	struct blocked blocked = {0};
	struct flusher flusher = {.config = SOURCE_CONFIG};
	struct orma_data_source *source;
	pthread_t thread;

	init_in_process();
	source = register_blocking(&blocked, ORMA_EXHAUSTED_STALL, 1);
	CHECK_INT(pthread_create(&thread, NULL, flush_and_read, &flusher), 0);
	wait_for(&flusher.is_running);
	wait_for(&blocked.is_blocked);
	/* The first packet, changes of chunks, a wait that times out, losses. */
	for (uint64_t value = 1; value < TOO_MANY; value++) {
		errno = 77;
		emit_large(source, value);
		orma_data_source_flush_thread(source, 1);
		CHECK_INT(errno, 77);
	}
	CHECK(orma_data_source_dropped(source, 0) > 0);
	sem_post(&blocked.go_on);
	sem_post(&flusher.stop);
	pthread_join(thread, NULL);
	packets_done(&flusher.packets);
	orma_shutdown();
}

ORMA_TEST(a_callback_may_write_more_than_the_memory_holds)
{
	flood_through(false);
}

ORMA_TEST(so_may_the_callers_own_thread)
{
	flood_through(true);
}
