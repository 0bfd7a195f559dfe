/* SPDX-License-Identifier: Apache-2.0
 * track_fork_test.c - track events of the child of a fork: its own process track, and its parent.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <sys/wait.h>
#include <unistd.h>

#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/category_list.h"
#include "track/instances.h"
#include "unit/client/fixture.h"

#if ORMA_TEST_HAS_ASAN
#include <sanitizer/lsan_interface.h>
#endif

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

#define CONFIG "buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }"

/* Forks without another thread: ThreadSanitizer cannot follow threads into a child. */
static void init_driven(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .caller_drives = true};

	CHECK_INT(orma_init(&options), 0);
	CHECK_INT(orma_track_event_register(), 0);
}

static void join(pid_t child)
{
	int status;

	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK_INT(status, 0);
}

/* Runs in a child, which a failed check ends. Records itself in a service of its own. */
static void record_child(pid_t parent)
{
	struct orma_session *session = session_start(CONFIG);
	struct packets packets = {0};
	size_t processes = 0, parents = 0, events = 0;
	uint64_t uuid = 0;

	ORMA_INSTANT(gfx, "from the child");
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		const struct orma_pb_trace_packet *packet = packets.list.items[i];

		if (packet->track_descriptor && packet->track_descriptor->process) {
			CHECK_INT(packet->track_descriptor->process->pid, getpid());
			uuid = packet->track_descriptor->uuid;
			processes++;
		}
		if (packet->process_tree) {
			CHECK_INT(packet->process_tree->processes.count, 1);
			CHECK_INT(packet->process_tree->processes.items[0]->pid, getpid());
			CHECK_INT(packet->process_tree->processes.items[0]->ppid, parent);
			CHECK(packet->process_tree->processes.items[0]->cmdline.count > 0);
			parents++;
		}
		if (packet->track_event)
			events++;
		if (packet->track_descriptor && packet->track_descriptor->thread) {
			CHECK_INT(packet->track_descriptor->thread->pid, getpid());
			CHECK_INT(packet->track_descriptor->thread->tid, gettid());
		}
	}
	CHECK_INT(processes, 1);
	CHECK_INT(parents, 1);
	CHECK_INT(events, 1);
	CHECK(uuid != 0);
	packets_done(&packets);
}

ORMA_TEST(a_child_has_a_track_of_its_own_and_names_its_parent)
{
	struct orma_session *session;
	struct packets packets = {0};
	pid_t self = getpid(), child;
	size_t events = 0;

	init_driven();
	session = session_start(CONFIG);
	ORMA_INSTANT(gfx, "before");
	child = fork();
	if (child == 0) {
		/* The first event is not recorded. After it the category is just disabled. */
		CHECK(!orma_is_connected());
		ORMA_INSTANT(gfx, "first");
		CHECK_INT(orma_category_gfx.enabled, 0);
		CHECK_INT(orma_sync(WAIT_MS), 0);
		record_child(self);
		child = fork();
		if (child == 0) {
			record_child(getppid());
			orma_shutdown();
			_exit(0);
		}
		join(child);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	ORMA_INSTANT(gfx, "after");
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		CHECK(!packets.list.items[i]->process_tree);
		events += packets.list.items[i]->track_event != NULL;
	}
	CHECK_INT(events, 2);
	packets_done(&packets);
	orma_shutdown();
}

ORMA_TEST(a_child_that_shuts_down_is_disabled_for_good)
{
	pid_t child;

	init_driven();
	child = fork();
	if (child == 0) {
		orma_shutdown();
		CHECK_INT(orma_category_gfx.enabled, 0);
		ORMA_INSTANT(gfx, "nothing");
		CHECK_INT(orma_sync(1), -ENOTCONN);
		init_driven();
		orma_shutdown();
		_exit(0);
	}
	join(child);
	orma_shutdown();
}

static sem_t has_emitted, may_end;

static void *emit_and_wait(void *ctx)
{
	(void)ctx;
	ORMA_INSTANT(gfx, "from a thread");
	sem_post(&has_emitted);
	wait_for(&may_end);
	return NULL;
}

static bool has_leaked(void)
{
#if ORMA_TEST_HAS_ASAN
	return __lsan_do_recoverable_leak_check();
#else
	return false;
#endif
}

/* Runs in a child. Frees everything that it can free. */
static void leave_parent(struct orma_session **session, bool is_revived)
{
	if (is_revived)
		record_child(getppid());
	orma_shutdown();
	orma_session_free(*session);
	*session = NULL;
	_exit(has_leaked());
}

/* LeakSanitizer checks the children, too. */
ORMA_TEST(a_child_that_shuts_down_leaks_nothing_of_its_parent)
{
	enum { THREADS = 3 };
	static struct orma_session *session;
	struct packets packets = {0};
	pthread_t threads[THREADS];

	init_driven();
	session = session_start(CONFIG);
	for (int i = 0; i < THREADS; i++) {
		/* The record of this thread lies between those of the other threads. */
		if (i == 1)
			ORMA_INSTANT(gfx, "from the first thread");
		CHECK_INT(pthread_create(&threads[i], NULL, emit_and_wait, NULL), 0);
		wait_for(&has_emitted);
	}
	for (int i = 0; i < 2; i++) {
		pid_t child = fork();

		if (child == 0)
			leave_parent(&session, i == 1);
		join(child);
	}
	for (int i = 0; i < THREADS; i++)
		sem_post(&may_end);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
}

static void count_up(int64_t value)
{
	ORMA_COUNTER(gfx, "load", value);
}

/* Collects the values on the counter track of this process. */
static size_t count_own_values(const struct packets *packets)
{
	const struct orma_track load = orma_track_counter("load");
	size_t count = 0;

	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_track_event *event = packets->list.items[i]->track_event;

		count += event && event->track_uuid == orma_track_uuid(&load);
	}
	return count;
}

static size_t record_values(void)
{
	struct orma_session *session = session_start(CONFIG);
	struct packets packets = {0};
	size_t count;

	for (int i = 0; i < 4; i++)
		count_up(i);
	session_finish(session, &packets);
	count = count_own_values(&packets);
	packets_done(&packets);
	return count;
}

ORMA_TEST(counters_of_a_child_are_its_own)
{
	pid_t child;

	init_driven();
	CHECK_INT(record_values(), 4);
	child = fork();
	if (child == 0) {
		ORMA_INSTANT(gfx, "first");
		CHECK_INT(record_values(), 4);
		orma_shutdown();
		_exit(0);
	}
	join(child);
	CHECK_INT(record_values(), 4);
	orma_shutdown();
}

/* A callback that runs during orma_shutdown(), while an instance still enables the category. */
static void fork_when_disabled(void *ctx, struct orma_category *category, uint32_t instance_idx,
			       bool is_enabled, bool is_change)
{
	pid_t *child = ctx;

	(void)instance_idx;
	(void)is_change;
	if (is_enabled || *child != 0)
		return;
	CHECK(category->enabled != 0);
	*child = fork();
	if (*child != 0)
		return;
	*child = getpid(); /* forks only once */
	CHECK_INT(category->enabled, 0);
	ORMA_INSTANT(gfx, "nothing");
	CHECK_INT(orma_sync(1), -ENOTCONN);
	init_driven();
	CHECK_INT(record_values(), 4);
	orma_shutdown();
	_exit(0);
}

ORMA_TEST(a_child_of_a_process_that_is_shutting_down_begins_without_it)
{
	struct orma_session *sessions[2];
	pid_t child = 0;

	init_driven();
	for (int i = 0; i < 2; i++)
		sessions[i] = session_start(CONFIG);
	CHECK_INT(orma_category_set_callback(&orma_category_gfx, fork_when_disabled, &child), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	orma_shutdown();
	CHECK(child > 0);
	join(child);
	for (int i = 0; i < 2; i++)
		orma_session_free(sessions[i]);
}

ORMA_TEST(the_mark_of_a_fork_that_is_seen_too_late_is_no_instance)
{
	struct orma_call_site site = {.category = &orma_category_gfx, .type = ORMA_EVENT_INSTANT};
	const struct orma_track_event event = {.site = &site,
					       .category = &orma_category_gfx,
					       .type = ORMA_EVENT_INSTANT,
					       .now_ns = orma_track_now_ns()};
	struct orma_session *session;
	struct packets packets = {0};

	init_driven();
	session = session_start(CONFIG);
	ORMA_INSTANT(gfx, "one");
	CHECK_INT(orma_track_emit_to_instances(&event, ORMA_TRACK_REVIVE), 0);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
}
