/* SPDX-License-Identifier: Apache-2.0
 * track_flush_test.c - when events leave their thread, which clock they use, and how they behave without
 * room.
 */
#include <orma/track_event.h>

#include "client/engine.h"
#include "unit/client/fixture.h"

#define CONFIG                                                                                     \
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } } "             \
	"data_sources { config { name: \"test.source\" } }"

ORMA_CATEGORY_DEFINE(work, "work", "Of the test");

static size_t count_instants(struct orma_session *session)
{
	struct packets packets = {0};
	size_t count = 0;

	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read(session, packets_add, &packets), 0);
	for (size_t i = 0; i < packets.list.count; i++)
		count += packets.list.items[i]->track_event != NULL;
	packets_done(&packets);
	return count;
}

static struct orma_session *start(bool disable_scraping)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .disable_scraping = disable_scraping};

	CHECK_INT(orma_init(&options), 0);
	return session_start(CONFIG);
}

/* A flush of the session does not make this thread hand over its chunk; only the service can read it. */
ORMA_TEST(without_scraping_events_leave_when_their_thread_flushes)
{
	struct orma_session *session = start(false);

	ORMA_INSTANT(work, "one");
	CHECK_INT(count_instants(session), 1);
	orma_session_free(session);
	orma_shutdown();

	session = start(true);
	ORMA_INSTANT(work, "one");
	CHECK_INT(count_instants(session), 0);
	ORMA_INSTANT(work, "two");
	errno = 77;
	orma_event_flush();
	CHECK_INT(errno, 77);
	CHECK_INT(count_instants(session), 2);
	/* After a flush, events go on in another chunk. */
	ORMA_INSTANT(work, "three");
	orma_event_flush();
	orma_event_flush();
	CHECK_INT(count_instants(session), 1);
	orma_session_free(session);
	orma_event_flush();
	orma_shutdown();
	orma_event_flush();
}

static void check_clock(enum orma_clock clock, uint32_t id)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .clock = clock};

	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_clock_id(), id);
	orma_shutdown();
}

ORMA_TEST(the_clock_of_events_has_its_number_in_the_trace)
{
	unsetenv("ORMA_CLOCK");
	check_clock(ORMA_CLOCK_AUTO, 6);
	check_clock(ORMA_CLOCK_BOOTTIME, 6);
	check_clock(ORMA_CLOCK_TSC, 6);
	check_clock(ORMA_CLOCK_MONOTONIC, 3);
	check_clock(ORMA_CLOCK_MONOTONIC_RAW, 5);
	setenv("ORMA_CLOCK", "monotonic", 1);
	check_clock(ORMA_CLOCK_AUTO, 3);
}

/* --- without room ----------------------------------------------------------------------------- */

struct blocked {
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

static void ignore(void *ctx, const struct orma_error *error)
{
	(void)ctx;
	(void)error;
}

static struct orma_shm_stats stats_of_memory(void)
{
	struct orma_shm_stats stats;

	orma_shm_arbiter_get_stats(orma_client.links[0].memory->arbiter, &stats);
	return stats;
}

/* Emits more than the memory holds, while the thread that empties it is blocked. */
static struct orma_shm_stats fill(enum orma_exhausted_policy policy)
{
	const struct orma_init_options init = {.struct_size = sizeof(init),
					       .backends = ORMA_BACKEND_IN_PROCESS,
					       .event_policy = policy,
					       .event_stall_timeout_ms = 1};
	struct blocked blocked = {0};
	const struct orma_data_source_options options = {.struct_size = sizeof(options),
							 .name = "test.source",
							 .ctx = &blocked,
							 .on_flush = block};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_shm_stats stats;

	CHECK_INT(orma_init(&init), 0);
	CHECK_INT(orma_data_source_register(&options, &source), 0);
	session = session_start(CONFIG);
	CHECK_INT(orma_session_flush_async(session, WAIT_MS, 0, ignore, NULL), 0);
	wait_for(&blocked.is_blocked);
	for (int i = 0; i < 20000; i++)
		ORMA_INSTANT(work, "event", "number", i, "text", "0123456789012345678901234567890");
	stats = stats_of_memory();
	for (int i = 0; i < 3; i++)
		sem_post(&blocked.go_on);
	session_stop(session);
	orma_session_free(session);
	orma_shutdown();
	return stats;
}

ORMA_TEST(events_wait_for_room_when_the_program_says_so)
{
	const struct orma_init_options bad = {.struct_size = sizeof(bad), .event_policy = 2};
	struct orma_shm_stats stats = fill(ORMA_EXHAUSTED_DROP);

	CHECK(stats.packets_lost > 0);
	CHECK_INT(stats.stalls, 0);
	stats = fill(ORMA_EXHAUSTED_STALL);
	CHECK(stats.packets_lost > 0);
	CHECK(stats.stalls > 0);
	CHECK_INT(orma_init(&bad), -EINVAL);
}
