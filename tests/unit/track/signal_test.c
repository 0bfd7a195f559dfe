/* SPDX-License-Identifier: Apache-2.0
 * signal_test.c - events of signal handlers that interrupt events of the same thread.
 *
 * They arrive or are left out. The interrupted event arrives, and the sequence stays readable.
 */
#include <orma/track_event.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"
#include "unit/client/fixture.h"

#define CONFIG        "buffers { size_kb: 16384 } data_sources { config { name: \"track_event\" } }"
#define INTERRUPTIONS 300
#define EVENTS_MAX    100000

ORMA_CATEGORY_DEFINE(work, "work", "What is interrupted");
ORMA_CATEGORY_DEFINE(handler, "handler", "What interrupts");

/* The header says when events allocate, and this program respects that. ThreadSanitizer cannot know. */
__attribute__((visibility("default"))) const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_signal_unsafe=0";
}

static volatile sig_atomic_t interruptions;
static int handler_errno;

static void on_signal(int number)
{
	int saved_errno = errno;

	(void)number;
	errno = 77;
	interruptions++;
	{
		ORMA_SCOPE(handler, "handling");
		ORMA_INSTANT(handler, "interrupted", "times", (int)interruptions, "text",
			     "literal");
	}
	ORMA_COUNTER(handler, "interruptions", (int)interruptions);
	if (errno != 77)
		handler_errno = errno;
	errno = saved_errno;
}

static uint64_t iid_of(struct packets *packets, const char *name)
{
	for (size_t i = 0; i < packets->list.count; i++) {
		const struct orma_pb_interned_data *data = packets->list.items[i]->interned_data;

		for (size_t j = 0; data && j < data->event_names.count; j++)
			if (orma_base_str_is(data->event_names.items[j]->name, name))
				return data->event_names.items[j]->iid;
	}
	return 0;
}

struct seen {
	uint64_t work_iid, handler_iid, retry_iid;
	size_t work, retries, handled;
	uint64_t stack[16];
	size_t depth;
};

/* Checks the thread's own track: every end has its begin, and the innermost slice ends first. */
static void see(struct seen *seen, const struct orma_pb_track_event *event)
{
	uint64_t iid = event->name_iid;

	if (event->type == ORMA_EVENT_BEGIN) {
		CHECK(seen->depth < ORMA_ARRAY_SIZE(seen->stack));
		seen->stack[seen->depth++] = iid;
		/* A handler begins and ends its slice between two events of the interrupted code. */
		if (seen->depth > 1)
			CHECK(seen->stack[seen->depth - 2] != seen->handler_iid);
		seen->work += iid == seen->work_iid;
		seen->handled += iid == seen->handler_iid;
	} else if (event->type == ORMA_EVENT_END) {
		CHECK(seen->depth > 0);
		seen->depth--;
	} else if (iid == seen->retry_iid) {
		seen->retries++;
	}
}

static timer_t begin_interrupting(void)
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	const struct itimerspec often = {{0, 30000}, {0, 30000}};
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
	timer_t timer;

#if defined(__GLIBC__)
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
#else
	event.sigev_notify_thread_id = (int)syscall(SYS_gettid);
#endif
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	CHECK_INT(timer_settime(timer, 0, &often, NULL), 0);
	return timer;
}

/* There is room for all events: none is lost even if the loop thread does not run. */
static void init_with_room(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .shm_size_bytes = 16 << 20};

	CHECK_INT(orma_init(&options), 0);
}

ORMA_TEST(events_of_signal_handlers_disturb_none_that_they_interrupt)
{
	orma_test_need_tls_after_signals();
	struct orma_session *session;
	struct packets packets = {0};
	struct seen seen = {0};
	char text[8] = "dynamic";
	size_t count = 0;
	timer_t timer;

	init_with_room();
	session = session_start(CONFIG);
	/* The first event of a thread and of a call site allocates. Handlers must not do that, see
	 * orma/track_event.h. */
	ORMA_INSTANT(work, "first");
	on_signal(SIGUSR1);
	interruptions = 0;
	timer = begin_interrupting();
	for (; interruptions < INTERRUPTIONS && count < EVENTS_MAX; count++) {
		ORMA_SCOPE(work, "work", "number", (int)count, "text", text);
		ORMA_INSTANT(work, "retry");
	}
	timer_delete(timer);
	CHECK(interruptions > 0);
	CHECK_INT(handler_errno, 0);
	session_finish(session, &packets);
	seen.work_iid = iid_of(&packets, "work");
	seen.retry_iid = iid_of(&packets, "retry");
	seen.handler_iid = iid_of(&packets, "handling");
	for (size_t i = 0; i < packets.list.count; i++)
		if (packets.list.items[i]->track_event)
			see(&seen, packets.list.items[i]->track_event);
	CHECK_INT(seen.work, count);
	CHECK_INT(seen.retries, count);
	CHECK_INT(seen.depth, 0);
	CHECK(seen.handled > 0);
	packets_done(&packets);
	orma_shutdown();
}
