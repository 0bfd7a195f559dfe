/* SPDX-License-Identifier: Apache-2.0
 * category_callback_test.c - what the program and the service learn about categories while a
 * session runs.
 */
#include <orma/category.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG(track_event)                                                                        \
	"buffers { size_kb: 1024 } data_sources { config { name: \"track_event\" "                 \
	"track_event_config { " track_event " } } }"

struct told {
	sem_t is_told;
	int count;
	bool is_enabled[8], is_change[8];
	uint32_t idx[8];
	struct orma_category *category;
	bool stops; /* removes itself when called */
};

static void note(void *ctx, struct orma_category *category, uint32_t instance_idx, bool is_enabled,
		 bool is_change)
{
	struct told *told = ctx;

	told->category = category;
	told->is_enabled[told->count] = is_enabled;
	told->is_change[told->count] = is_change;
	told->idx[told->count] = instance_idx;
	told->count++;
	if (told->stops)
		orma_category_remove(category);
	sem_post(&told->is_told);
}

static void init(void)
{
	init_in_process();
	CHECK_INT(orma_track_event_register(), 0);
}

ORMA_TEST(a_callback_hears_of_each_instance_and_whether_it_is_the_first_or_was_the_last)
{
	struct packets packets = {0};
	struct orma_session *first, *second;
	struct told told = {0};

	init();
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, note, &told), 0);
	first = session_start(CONFIG(""));
	wait_for(&told.is_told);
	CHECK(told.category == &orma_category_gfx);
	CHECK(told.is_enabled[0] && told.is_change[0]);
	second = session_start(CONFIG(""));
	wait_for(&told.is_told);
	CHECK(told.is_enabled[1] && !told.is_change[1]);
	CHECK(told.idx[1] != told.idx[0]);
	session_finish(first, &packets);
	wait_for(&told.is_told);
	CHECK(!told.is_enabled[2] && !told.is_change[2]);
	CHECK_INT(told.idx[2], told.idx[0]);
	session_finish(second, &packets);
	wait_for(&told.is_told);
	CHECK(!told.is_enabled[3] && told.is_change[3]);
	/* An instance that does not enable the category causes no call. */
	first = session_start(CONFIG("disabled_categories: \"gfx\""));
	session_finish(first, &packets);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(told.count, 4);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_callback_that_is_set_while_a_session_runs_hears_of_it_and_later_ones_replace_it)
{
	struct packets packets = {0};
	struct told first = {0}, second = {0};
	struct orma_session *session;

	init();
	session = session_start(CONFIG(""));
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, note, &first), 0);
	wait_for(&first.is_told);
	CHECK(first.is_enabled[0] && first.is_change[0]);
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, note, &second), 0);
	wait_for(&second.is_told);
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, NULL, NULL), 0);
	session_finish(session, &packets);
	CHECK_INT(first.count, 1);
	CHECK_INT(second.count, 1);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_category_may_leave_from_inside_its_own_callback)
{
	struct orma_category category = {.name = "leaving"};
	struct told told = {.stops = true};
	struct packets packets = {0};
	struct orma_session *session;

	init();
	orma_category_add(&category);
	CHECK_INT(orma_category_set_callback(&category, note, &told), 0);
	session = session_start(CONFIG(""));
	wait_for(&told.is_told);
	CHECK_INT(category.enabled, 0);
	session_finish(session, &packets);
	CHECK_INT(told.count, 1);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(callbacks_of_no_category_and_without_memory_are_refused)
{
	struct orma_category category = {.name = "stranger"};

	CHECK_INT(orma_category_set_callback(NULL, note, NULL), -EINVAL);
	CHECK_INT(orma_category_set_callback(&category, note, NULL), -EINVAL);
	orma_category_add(&category);
	orma_base_alloc_fail_nth(1);
	CHECK_INT(orma_category_set_callback(&category, note, NULL), -ENOMEM);
	orma_base_alloc_fail_nth(0);
	CHECK_INT(orma_category_set_callback(&category, NULL, NULL), 0);
	orma_category_remove(&category);
}

/* True when the service knows a category of that name. */
static bool is_announced(struct orma_session *session, const char *name)
{
	bool is_found;
	void *data;
	size_t size;

	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(orma_session_query_state(session, false, &data, &size), 0);
	is_found = memmem(data, size, name, strlen(name)) != NULL;
	orma_config_free(data);
	return is_found;
}

ORMA_TEST(a_library_loaded_while_a_session_runs_is_announced_takes_part_and_leaves)
{
	struct orma_category wanted = {.name = "plugin.wanted"},
			     slow = {.name = "plugin.slow", .tags = "slow"};
	struct orma_call_site site = {
		.category = &wanted, .name = "loaded", .type = ORMA_EVENT_INSTANT};
	struct packets packets = {0};
	struct orma_session *session;
	size_t events = 0;

	init();
	session = session_start(CONFIG(""));
	CHECK(is_announced(session, "gfx"));
	CHECK(!is_announced(session, "plugin.wanted"));
	orma_category_add(&wanted);
	orma_category_add(&slow);
	CHECK(wanted.enabled != 0);
	CHECK_INT(slow.enabled, 0);
	orma_event_emit(&site);
	CHECK(is_announced(session, "plugin.wanted"));
	CHECK(is_announced(session, "plugin.slow"));
	orma_category_remove(&wanted);
	orma_category_remove(&slow);
	CHECK(!is_announced(session, "plugin."));
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++)
		events += packets.list.items[i]->track_event != NULL;
	CHECK_INT(events, 1);
	packets_done(&packets);
	orma_shutdown();
}

struct visitor {
	struct orma_category category;
	_Atomic bool is_gone;
	_Atomic int told;
};

static void visit(void *ctx, struct orma_category *category, uint32_t instance_idx, bool is_enabled,
		  bool is_change)
{
	struct visitor *visitor = ctx;

	(void)instance_idx;
	(void)is_enabled;
	(void)is_change;
	CHECK(category == &visitor->category);
	CHECK(!visitor->is_gone);
	visitor->told++;
}

static _Atomic bool is_over;

static void *come_and_go(void *ctx)
{
	uint64_t *rounds = ctx;

	while (!is_over) {
		struct visitor *visitor = calloc(1, sizeof(*visitor));

		CHECK(visitor);
		visitor->category.name = "visitor";
		orma_category_add(&visitor->category);
		CHECK_INT(orma_category_set_callback(&visitor->category, visit, visitor), 0);
		orma_category_remove(&visitor->category);
		visitor->is_gone = true;
		free(visitor);
		(*rounds)++;
	}
	return NULL;
}

ORMA_TEST(libraries_come_and_go_in_threads_while_sessions_start_and_stop)
{
	struct packets packets = {0};
	uint64_t rounds[3] = {0};
	pthread_t threads[3];

	init();
	for (int i = 0; i < 3; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, come_and_go, &rounds[i]), 0);
	for (int i = 0; i < 20; i++) {
		session_finish(session_start(CONFIG("")), &packets);
		packets_done(&packets);
	}
	is_over = true;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	CHECK(rounds[0] + rounds[1] + rounds[2] > 0);
	orma_shutdown();
}

struct setter {
	sem_t is_called, go_on;
	_Atomic int32_t tid;
	struct told first, second;
};

static void *set_first(void *ctx)
{
	struct setter *setter = ctx;

	setter->tid = gettid();
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, note, &setter->first), 0);
	return NULL;
}

static bool is_asleep(int32_t tid)
{
	char path[64], stat[256] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	file = fopen(path, "re");
	CHECK(file && fgets(stat, sizeof(stat), file));
	fclose(file);
	return strstr(stat, ") S ") != NULL;
}

/* This callback is replaced while it runs, and replaces itself. */
static void set_second(void *ctx, struct orma_category *category, uint32_t instance_idx,
		       bool is_enabled, bool is_change)
{
	struct setter *setter = ctx;

	(void)instance_idx;
	(void)is_enabled;
	(void)is_change;
	sem_post(&setter->is_called);
	wait_for(&setter->go_on);
	while (setter->tid == 0 || !is_asleep(setter->tid))
		sched_yield();
	CHECK_INT(orma_category_set_callback(category, note, &setter->second), 0);
}

ORMA_TEST(of_callbacks_that_are_set_at_the_same_time_one_remains)
{
	struct setter setter = {0};
	struct packets packets = {0};
	struct orma_session *session;
	pthread_t thread;
	int count;

	init();
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, set_second, &setter), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(NULL);
	session_enable(session, CONFIG(""));
	wait_for(&setter.is_called);
	CHECK_INT(pthread_create(&thread, NULL, set_first, &setter), 0);
	sem_post(&setter.go_on);
	CHECK_INT(pthread_join(thread, NULL), 0);
	/* It may have been called before the first callback replaced it. */
	count = setter.second.count;
	session_finish(session, &packets);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK(setter.first.count > 0);
	CHECK_INT(setter.second.count, count);
	packets_done(&packets);
	orma_shutdown();
}
