/* SPDX-License-Identifier: Apache-2.0
 * system_call_test.c - the system calls of emitting: none, except to wake the thread that commits.
 *
 * A thread that has emitted before forbids itself all system calls except fcntl(), write(), its own exit, and
 * clock_gettime(), which is not a system call on most machines. The kernel kills it at any other one.
 */
#include <orma/track_event.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "unit/client/fixture.h"

/* Sanitizers make system calls of their own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#define IS_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define IS_SANITIZED 0
#endif

#define ROUNDS 20000

/* Not a ring: with a ring the service asks for new incremental state, and the thread is described anew. */
#define CONFIG                                                                                     \
	"buffers { size_kb: 65536 fill_policy: DISCARD } "                                         \
	"data_sources { config { name: \"track_event\" } } "                                       \
	"data_sources { config { name: \"test.source\" } }"

ORMA_CATEGORY_DEFINE(work, "work", "Of the test");

struct emitter {
	struct orma_data_source *source;
	int rounds;
	bool is_bad;
	_Atomic bool is_alone, is_done;
	_Atomic int tid;
};

static void emit_all(const struct emitter *emitter, int round)
{
	ORMA_SCOPE(work, "scope", "number", round, "real", 0.5, "text", "literal");
	ORMA_INSTANT(work, "instant");
	ORMA_INSTANT(work, "flow", ORMA_FLOW(round + 1));
	ORMA_COUNTER(work, "counter", round);
	emit(emitter->source, (uint64_t)round + 1);
}

/* Copied from linux/filter.h and linux/seccomp.h, which not every C library has. */
struct filter_step {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};
struct filter_program {
	unsigned short count;
	const struct filter_step *steps;
};
enum { LOAD_WORD = 0x20, IS_EQUAL = 0x15, ANSWER = 0x06 };
enum { SECCOMP_FILTER = 2, END_THREAD = 0, ALLOW = 0x7fff0000 };

/* False: seccomp is not available here. */
static bool give_up_system_calls(void)
{
	static const struct filter_step steps[] = {
		{LOAD_WORD, 0, 0, 0}, /* loads the number of the call */
				      /* The wake looks if its descriptor is still the library's. */
#ifdef SYS_fcntl64
		{IS_EQUAL, 5, 0, SYS_fcntl64},
#else
		{IS_EQUAL, 5, 0, SYS_fcntl},
#endif
		{IS_EQUAL, 4, 0, SYS_write},
		{IS_EQUAL, 3, 0, SYS_exit},
		{IS_EQUAL, 2, 0, SYS_clock_gettime},
#ifdef SYS_clock_gettime64
		{IS_EQUAL, 1, 0, SYS_clock_gettime64},
#else
		{IS_EQUAL, 1, 0, SYS_clock_gettime},
#endif
		{ANSWER, 0, 0, END_THREAD},
		{ANSWER, 0, 0, ALLOW},
	};
	const struct filter_program program = {ORMA_ARRAY_SIZE(steps), steps};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_FILTER, &program) == 0;
}

static void *emit_alone(void *ctx)
{
	struct emitter *emitter = ctx;

	for (int i = 0; i < 10; i++)
		emit_all(emitter, i);
	emitter->tid = (int)syscall(SYS_gettid);
	emitter->is_alone = give_up_system_calls();
	if (!emitter->is_alone)
		return NULL;
	if (emitter->is_bad)
		(void)getppid();
	for (int i = 0; i < emitter->rounds; i++)
		emit_all(emitter, i);
	emitter->is_done = true;
	/* The system calls of the C library at the end of a thread are forbidden, too. */
	syscall(SYS_exit, 0);
	return NULL;
}

/* The C library does not notice such an end of a thread, and might wait for ever. */
static void run_alone(struct emitter *emitter)
{
	pthread_t thread;
	char path[64];

	CHECK_INT(pthread_create(&thread, NULL, emit_alone, emitter), 0);
	while (emitter->tid == 0)
		sched_yield();
	snprintf(path, sizeof(path), "/proc/self/task/%d", emitter->tid);
	while (!emitter->is_done && access(path, F_OK) == 0)
		sched_yield();
}

ORMA_TEST(emitting_makes_no_system_call_but_the_wake_of_a_commit)
{
	/* There is room for all events: after a loss the thread is described anew, which takes system calls. */
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS,
						  .shm_size_bytes = 16 << 20};
	struct source_log log = {0};
	struct emitter bad = {.is_bad = true}, emitter = {.rounds = ROUNDS};
	struct orma_session *session;
	struct packets packets = {0};
	size_t events = 0, custom = 0;

	if (IS_SANITIZED)
		return;
	CHECK_INT(orma_init(&options), 0);
	emitter.source = bad.source = register_source("test.source", &log);
	session = session_start(CONFIG);
	run_alone(&bad);
	/* Checks that a forbidden call is noticed. */
	CHECK(!bad.is_done || !bad.is_alone);
	run_alone(&emitter);
	/* Otherwise the kernel killed it at a system call. */
	CHECK(emitter.is_done || !emitter.is_alone);
	session_finish(session, &packets);
	for (size_t i = 0; i < packets.list.count; i++) {
		events += packets.list.items[i]->track_event != NULL;
		custom += packets.list.items[i]->trusted_packet_sequence_id > 0 &&
			  packets.list.items[i]->timestamp > 0 &&
			  packets.list.items[i]->timestamp <= ROUNDS;
	}
	/* Enough events for hundreds of chunks. */
	if (emitter.is_alone) {
		CHECK(events >= 5 * ROUNDS);
		CHECK(custom >= ROUNDS);
	}
	packets_done(&packets);
	orma_shutdown();
}
