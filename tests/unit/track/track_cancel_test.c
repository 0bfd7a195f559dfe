/* SPDX-License-Identifier: Apache-2.0
 * track_cancel_test.c - track events of a thread that was cancelled: every function returns.
 */
#include <orma/track.h>
#include <orma/track_event.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "client/engine.h"
#include "unit/client/fixture.h"

ORMA_CATEGORY_DEFINE(gfx, "gfx", "Frames");

/* Forks without another thread: ThreadSanitizer cannot follow threads into a child. */
static const struct orma_init_options driven = {
	.struct_size = sizeof(driven), .backends = ORMA_BACKEND_IN_PROCESS, .caller_drives = true};

static void emit_all(void)
{
	const struct orma_track gone = orma_track_of_thread(INT32_MAX);

	ORMA_INSTANT(gfx, "on a thread", ORMA_ON(&gone));
	CHECK_INT(orma_thread_set_name("condemned"), 0);
	orma_process_set_name("condemned");
	orma_track_announce(&gone);
	orma_event_flush();
}

/* The constructor of a category does this in a program that has called orma_init() before. */
static void *register_condemned(void *ctx)
{
	CHECK_INT(pthread_cancel(pthread_self()), 0);
	CHECK_INT(orma_track_event_register(), 0);
	*(bool *)ctx = true;
	return NULL;
}

ORMA_TEST(a_category_that_a_cancelled_thread_brings_is_registered)
{
	bool is_over = false;
	pthread_t thread;

	orma_category_remove(&orma_category_gfx);
	orma_client_on_init = (int (*)(void))NULL;
	CHECK_INT(orma_init(&driven), 0);
	CHECK_INT(pthread_create(&thread, NULL, register_condemned, &is_over), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK(is_over);
	/* No mutex is left locked. */
	orma_category_add(&orma_category_gfx);
	CHECK_INT(orma_track_event_register(), 0);
	orma_shutdown();
}

static void *emit_condemned(void *ctx)
{
	CHECK_INT(pthread_cancel(pthread_self()), 0);
	emit_all();
	*(bool *)ctx = true;
	return NULL;
}

ORMA_TEST(a_cancelled_thread_ends_its_events)
{
	struct packets packets = {0};
	struct orma_session *session;
	bool is_over = false;
	pthread_t thread;

	CHECK_INT(orma_init(&driven), 0);
	session = session_start("buffers { size_kb: 1024 } "
				"data_sources { config { name: \"track_event\" } }");
	CHECK_INT(pthread_create(&thread, NULL, emit_condemned, &is_over), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK(is_over);
	session_finish(session, &packets);
	packets_done(&packets);
	orma_shutdown();
}

static void *fork_condemned(void *ctx)
{
	pid_t child = fork();

	if (child == 0) {
		/* Ending this thread, the last one, would end the process with status 0. */
		CHECK_INT(pthread_cancel(pthread_self()), 0);
		ORMA_INSTANT(gfx, "first");
		CHECK_INT(orma_category_gfx.enabled, 0);
		_exit(7);
	}
	*(pid_t *)ctx = child;
	return NULL;
}

ORMA_TEST(a_child_begins_anew_on_a_thread_that_is_cancelled)
{
	pthread_t thread;
	pid_t child = 0;
	int status;

	CHECK_INT(orma_init(&driven), 0);
	CHECK_INT(pthread_create(&thread, NULL, fork_condemned, &child), 0);
	CHECK_INT(pthread_join(thread, NULL), 0);
	CHECK_INT(waitpid(child, &status, 0), child);
	CHECK(WIFEXITED(status));
	CHECK_INT(WEXITSTATUS(status), 7);
	orma_shutdown();
}
