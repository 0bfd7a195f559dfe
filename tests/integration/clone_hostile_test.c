/* SPDX-License-Identifier: Apache-2.0
 * clone_hostile_test.c - clones by the thousand: of sessions that do not exist or belong to
 * another user, of sources that end while they are cloned, by consumers that disconnect, into
 * files that accept nothing. The bystander loses nothing, and memory stays within the limits.
 */
#include <fcntl.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_clone.h"
#include "schema/gen/service_state.pb.h"
#include "service/service_limits.h"

#define SOURCE "unique_session_name: \"source\""

static void check_refused(struct orma_raw_consumer *consumer, const char *request,
			  const char *expected)
{
	struct orma_pb_clone_session_response *response =
		orma_raw_clone_make(consumer, -1, request);
	char text[256];

	CHECK(!response->success);
	snprintf(text, sizeof(text), "%.*s", (int)response->error.size, response->error.data);
	CHECK_STR(text, expected);
}

ORMA_TEST(clones_of_what_is_not_there_are_refused_in_words)
{
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 64, -1, "");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	check_refused(&consumer, "session_id: 4711", "session_id: there is no session 4711");
	check_refused(&consumer, "session_id: 18446744073709551615",
		      "session_id: no started session has a bugreport_score");
	check_refused(&consumer, "", "unique_session_name: there is no session \"\"");
	for (int i = 0; i < 1000; i++) {
		char request[64];

		snprintf(request, sizeof(request), "session_id: %d", 1000 + i);
		CHECK(!orma_raw_clone_make(&consumer, -1, request)->success);
	}
	/* A clone of its own session is refused, because a consumer has one session. */
	check_refused(&session.consumer, SOURCE,
		      "this consumer has a session already (FreeBuffers ends it)");
	CHECK(orma_raw_clone_make(&consumer, -1, SOURCE)->success);
	check_refused(&consumer, SOURCE,
		      "this consumer has a session already (FreeBuffers ends it)");
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* Connects as another user; the kernel records the client's user at that moment. */
static void open_as(struct orma_raw_consumer *consumer, const char *path, uid_t uid)
{
	CHECK_INT(chmod(orma_test_tmpdir(), 0755) | chmod(path, 0666), 0);
	/* A bare system call changes this thread only; the C library would change all threads. */
	CHECK_INT(syscall(SYS_setresuid, (uid_t)-1, uid, (uid_t)-1), 0);
	orma_raw_consumer_open(consumer, path);
	CHECK_INT(syscall(SYS_setresuid, (uid_t)-1, 0, (uid_t)-1), 0);
}

ORMA_TEST(sessions_of_another_user_are_refused_in_words)
{
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	if (geteuid() != 0)
		orma_test_skip("root, to be another user");
	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 64, -1, "");
	orma_raw_session_emit(&session, "secret");
	open_as(&consumer, stage.daemon.consumers, 65534);
	for (int i = 0; i < 1000; i++)
		check_refused(&consumer, SOURCE,
			      "session 2 belongs to user 0, whom only root may clone");
	check_refused(&consumer, "session_id: 1",
		      "session 1 belongs to user 0, whom only root may clone");
	CHECK_INT(orma_raw_consumer_read(&consumer)->packet.count, 0);
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

enum { NAME_BYTES = 100 << 10 };

ORMA_TEST(names_of_100_kilobytes_are_refused)
{
	static char request[NAME_BYTES + 128], name[NAME_BYTES + 1];
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;
	char expected[128];

	memset(name, 'n', NAME_BYTES);
	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 64, -1, "");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (int i = 0; i < 50; i++) {
		snprintf(request, sizeof(request), "unique_session_name: \"%s\"", name);
		snprintf(expected, sizeof(expected),
			 "unique_session_name: there is no session \"%.64s\"", name);
		check_refused(&consumer, request, expected);
		snprintf(request, sizeof(request), SOURCE " clone_trigger_name: \"%s\"", name);
		check_refused(&consumer, request, "clone_trigger_name: longer than 1024 bytes");
		snprintf(request, sizeof(request),
			 SOURCE " clone_trigger_name: \"t\" clone_trigger_producer_name: \"%s\"",
			 name);
		check_refused(&consumer, request,
			      "clone_trigger_producer_name: longer than 1024 bytes");
	}
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- sources and consumers that do not wait --------------------------------------------------- */

ORMA_TEST(thousands_of_clone_calls_make_one_clone)
{
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;
	static uint64_t ids[3000];
	size_t successes = 0;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 1024, -1, "");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ids); i++)
		ids[i] = orma_raw_clone_invoke(&consumer, -1, SOURCE);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ids); i++)
		successes += orma_raw_clone_await(&consumer, ids[i])->success;
	CHECK_INT(successes, 1);
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(consumers_that_leave_while_they_clone)
{
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 8192, -1, "");
	for (int i = 0; i < 500; i++)
		orma_raw_session_emit(&session, "data");
	for (int i = 0; i < 100; i++) {
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		(void)orma_raw_clone_invoke(&consumer, -1, SOURCE);
		if (i % 2)
			orma_bystander_check(&stage.bystander);
		orma_raw_consumer_close(&consumer);
	}
	/* None of them remains. */
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	while (orma_raw_consumer_query(&consumer)->tracing_sessions.count > 2)
		;
	CHECK(orma_raw_clone_make(&consumer, -1, SOURCE)->success);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&consumer), "data"));
	orma_raw_consumer_close(&consumer);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_source_that_leaves_while_it_is_cloned)
{
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	for (int i = 0; i < 20; i++) {
		orma_raw_clone_source_open(&session, &stage.daemon, 8192, -1, "");
		for (int k = 0; k < 100; k++)
			orma_raw_session_emit(&session, "data");
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		uint64_t id = orma_raw_clone_invoke(&consumer, -1, SOURCE);
		orma_raw_session_close(&session);
		/* The clone is either complete, or there was nothing left to clone. */
		struct orma_pb_clone_session_response *response =
			orma_raw_clone_await(&consumer, id);
		if (response->success)
			CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&consumer)),
				  100);
		orma_raw_consumer_close(&consumer);
	}
	orma_stage_close(&stage);
}

/* The newest session that can be seen. */
static uint64_t newest_id(struct orma_raw_consumer *consumer)
{
	struct orma_pb_tracing_service_state *state = orma_raw_consumer_query(consumer);
	uint64_t newest = 0;

	for (size_t i = 0; i < state->tracing_sessions.count; i++)
		newest = ORMA_MAX(newest, state->tracing_sessions.items[i]->id);
	return newest;
}

ORMA_TEST(clones_of_clones_outlive_what_they_are_made_of)
{
	struct orma_raw_consumer consumers[ORMA_SERVICE_CLONES_PER_UID], late;
	char request[64] = SOURCE;
	struct orma_raw_session session;
	struct orma_stage stage;

	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 1024, -1, "");
	orma_raw_session_emit(&session, "data");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++) {
		orma_raw_consumer_open(&consumers[i], stage.daemon.consumers);
		CHECK(orma_raw_clone_make(&consumers[i], -1, request)->success);
		snprintf(request, sizeof(request), "session_id: %llu",
			 (unsigned long long)newest_id(&consumers[i]));
		if (i == 0)
			orma_raw_session_close(&session);
		else
			orma_raw_consumer_close(&consumers[i - 1]);
		orma_bystander_check(&stage.bystander);
	}
	struct orma_raw_consumer *last = &consumers[ORMA_ARRAY_SIZE(consumers) - 1];
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(last), "data"));
	/* Later clones do not contain what was read. */
	orma_raw_consumer_open(&late, stage.daemon.consumers);
	if (orma_raw_clone_make(&late, -1, request)->success)
		CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&late)), 0);
	orma_raw_consumer_close(&late);
	orma_raw_consumer_close(last);
	orma_stage_close(&stage);
}

ORMA_TEST(sources_that_are_stopped_read_and_freed_while_they_are_cloned)
{
	static const char *const steps[][4] = {
		{"DisableTracing", "ReadBuffers", "FreeBuffers", NULL},
		{"FreeBuffers", "DisableTracing", NULL},
		{"ReadBuffers", "FreeBuffers", NULL},
		{"ReadBuffers", "DisableTracing", "ReadBuffers", NULL},
	};
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;

	orma_stage_open(&stage);
	for (size_t i = 0; i < 10 * ORMA_ARRAY_SIZE(steps); i++) {
		const char *const *step = steps[i % ORMA_ARRAY_SIZE(steps)];

		orma_raw_clone_source_open(&session, &stage.daemon, 4096, -1, "");
		for (int k = 0; k < 50; k++)
			orma_raw_session_emit(&session, "data");
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		uint64_t id = orma_raw_clone_invoke(&consumer, -1, SOURCE);
		/* Sometimes the clone has begun. */
		if (i % 2)
			orma_bystander_check(&stage.bystander);
		for (; *step; step++)
			CHECK(orma_raw_invoke(&session.consumer.client, *step, ORMA_STR(""), -1,
					      0));
		if (orma_raw_clone_await(&consumer, id)->success)
			CHECK(orma_raw_test_packet_count(orma_raw_consumer_read(&consumer)) <= 50);
		orma_raw_consumer_close(&consumer);
		orma_raw_session_close(&session);
	}
	orma_stage_close(&stage);
}

/* --- floods ----------------------------------------------------------------------------------- */

/* ThreadSanitizer keeps several bytes for each that is written to. */
#ifdef __SANITIZE_THREAD__
enum { BYTES_PER_BYTE = 6 };
#else
enum { BYTES_PER_BYTE = 1 };
#endif

static uint64_t resident_bytes(void)
{
	unsigned long long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	CHECK(file && fscanf(file, "%*u %llu", &pages) == 1);
	CHECK_INT(fclose(file), 0);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

enum { FLOODERS = 12, CALLS = 250, FLOOD_MB = 8, FLOOD_PACKET_BYTES = 3900 };

ORMA_TEST(consumers_that_clone_all_at_once_get_what_the_limit_allows_and_no_more)
{
	static char text[FLOOD_PACKET_BYTES];
	static uint64_t ids[FLOODERS][CALLS];
	struct orma_raw_consumer consumers[FLOODERS];
	struct orma_raw_session session;
	struct orma_stage stage;
	size_t successes = 0;

	memset(text, 'f', sizeof(text) - 1);
	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, FLOOD_MB << 10, -1, "");
	for (int i = 0; i < FLOOD_MB * 256; i++)
		orma_raw_session_emit(&session, text);
	uint64_t before = resident_bytes();
	for (size_t i = 0; i < FLOODERS; i++)
		orma_raw_consumer_open(&consumers[i], stage.daemon.consumers);
	for (size_t k = 0; k < CALLS; k++) {
		for (size_t i = 0; i < FLOODERS; i++)
			ids[i][k] = orma_raw_clone_invoke(&consumers[i], -1, SOURCE);
		if (k % 50 == 0)
			orma_bystander_check(&stage.bystander);
	}
	for (size_t i = 0; i < FLOODERS; i++)
		for (size_t k = 0; k < CALLS; k++)
			successes += orma_raw_clone_await(&consumers[i], ids[i][k])->success;
	CHECK_INT(successes, ORMA_SERVICE_CLONES_PER_UID);
	/* The clones, and the answers that the test itself keeps. */
	CHECK(resident_bytes() <
	      before + BYTES_PER_BYTE * (((uint64_t)successes * FLOOD_MB + 64) << 20));
	for (size_t i = 0; i < FLOODERS; i++)
		orma_raw_consumer_close(&consumers[i]);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- files that are none ---------------------------------------------------------------------- */

ORMA_TEST(a_clone_into_what_takes_nothing_fails_alone)
{
	ORMA_AUTO(orma_base_fd_closep) int file = memfd_create("file", MFD_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int full = open("/dev/full", O_RDWR | O_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int blind = open("/dev/null", O_RDONLY | O_CLOEXEC);
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 1024, file,
				   "write_into_file: true file_write_period_ms: 100");
	orma_raw_session_emit(&session, "first");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	CHECK(!orma_raw_clone_make(&consumer, -1, SOURCE)->success);
	CHECK(!orma_raw_clone_make(&consumer, blind, SOURCE)->success);
	CHECK(!orma_raw_clone_make(&consumer, full, SOURCE)->success);
	/* Nothing reads the pipe. The clone waits; other clients do not. */
	(void)orma_raw_clone_invoke(&consumer, fds[1], SOURCE);
	for (int i = 0; i < 20; i++)
		orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	CHECK_INT(close(fds[0]) | close(fds[1]), 0);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(clones_into_descriptors_of_every_wrong_kind_end)
{
	ORMA_AUTO(orma_base_fd_closep) int file = memfd_create("file", MFD_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int folder = open("/", O_RDONLY | O_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int path = open("/dev/null", O_PATH | O_CLOEXEC);
	ORMA_AUTO(orma_base_fd_closep) int event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	ORMA_AUTO(orma_base_fd_closep)
	int sealed = memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	struct orma_raw_session session;
	struct orma_raw_consumer consumer;
	struct orma_stage stage;
	int broken[2];

	CHECK_INT(pipe2(broken, O_CLOEXEC), 0);
	CHECK_INT(close(broken[0]), 0);
	CHECK_INT(fcntl(sealed, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW), 0);
	const int fds[] = {folder, path, event, sealed, broken[1]};
	orma_stage_open(&stage);
	orma_raw_clone_source_open(&session, &stage.daemon, 1024, file,
				   "write_into_file: true file_write_period_ms: 100");
	orma_raw_session_emit(&session, "first");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (size_t i = 0; i < 3 * ORMA_ARRAY_SIZE(fds); i++) {
		struct orma_pb_clone_session_response *response =
			orma_raw_clone_make(&consumer, fds[i % ORMA_ARRAY_SIZE(fds)], SOURCE);

		CHECK(!response->success && response->error.size);
		orma_bystander_check(&stage.bystander);
	}
	/* The source's own file is the target: this harms that file, and nothing else. */
	(void)orma_raw_clone_make(&consumer, file, SOURCE);
	orma_raw_consumer_close(&consumer);
	CHECK_INT(close(broken[1]), 0);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
