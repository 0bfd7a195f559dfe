/* SPDX-License-Identifier: Apache-2.0
 * ending.cc - events where threads and programs end: in destructors of thread_local and static
 * objects and of pthread keys, in atexit() handlers, and in threads that main() leaves running.
 *
 *	modules_ending           events until the last moment, read back in the first atexit() handler
 *	modules_ending abruptly  main() returns while a session runs and threads emit
 */
#include <orma/orma.h>
#include <pthread.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <unistd.h>

#define WAIT_MS 20000

ORMA_CATEGORY_DEFINE(ending, "ending", "Of what is about to go");

#define CHECK(condition) check(condition, __LINE__, #condition)

static void check(bool is_true, int line, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "ending.cc:%d: %s\n", line, what);
	_exit(1);
}

/* Destroyed last of all, when the library has been shut down. */
struct last_of_all {
	~last_of_all()
	{
		ORMA_SCOPE(ending, "static object", "number", 1);
		ORMA_INSTANT(ending, "too late");
	}
};
static last_of_all static_object;

struct thread_object {
	const char *name = nullptr;
	~thread_object()
	{
		ORMA_INSTANT(ending, "thread_local", "of", name);
		ORMA_BEGIN(ending, "thread_local slice");
		ORMA_END(ending);
	}
};
static thread_local thread_object own;

static struct orma_session *session;
static std::string trace;
static pthread_key_t key;

static int add_packet(void *, const void *data, size_t size)
{
	trace.append(static_cast<const char *>(data), size);
	return 0;
}

static bool has(const char *text)
{
	return trace.find(text) != std::string::npos;
}

/* Registered first, so it runs after the other. */
static void finish()
{
	struct orma_error error;

	CHECK(orma_session_stop(session) == 0);
	CHECK(orma_session_wait_stopped(session, WAIT_MS, &error) == 0);
	CHECK(orma_session_read(session, add_packet, nullptr) == 0);
	orma_session_free(session);
	orma_shutdown();
	CHECK(has("main's") && has("a thread's") && has("thread_local slice"));
	CHECK(has("in a key's destructor") && has("at exit"));
	CHECK(!has("too late"));
}

static void emit_at_exit()
{
	ORMA_INSTANT(ending, "at exit");
}

static void emit_in_destructor(void *)
{
	ORMA_INSTANT(ending, "in a key's destructor");
}

static void *end_slowly(void *ctx)
{
	own.name = "a thread's";
	CHECK(pthread_setspecific(key, ctx) == 0);
	return nullptr;
}

static void *emit_for_ever(void *)
{
	for (int i = 0;; i++) {
		ORMA_SCOPE(ending, "work", "number", i);
		ORMA_INSTANT(ending, "step", ORMA_CATEGORY("x"));
		ORMA_COUNTER(ending, "steps", i);
	}
	return nullptr;
}

static void start()
{
	static const char text[] =
		"buffers { size_kb: 1024 } data_sources { config { name: \"track_event\" } }";
	struct orma_init_options init = {};
	struct orma_session_options options = {};
	struct orma_error error;

	init.struct_size = sizeof(init);
	init.backends = ORMA_BACKEND_IN_PROCESS;
	CHECK(orma_init(&init) == 0);
	options.struct_size = sizeof(options);
	options.in_process = true;
	CHECK(orma_session_new(&options, &session, &error) == 0);
	CHECK(orma_session_enable_text(session, "ending", text, strlen(text), -1, &error) == 0);
	CHECK(orma_session_wait_started(session, WAIT_MS) == 0);
}

int main(int argc, char **)
{
	pthread_t thread;

	start();
	if (argc > 1) {
		for (int i = 0; i < 3; i++)
			CHECK(pthread_create(&thread, nullptr, emit_for_ever, nullptr) == 0);
		CHECK(orma_session_flush(session, WAIT_MS, 0) == 0);
		return 0;
	}
	CHECK(pthread_key_create(&key, emit_in_destructor) == 0);
	CHECK(pthread_create(&thread, nullptr, end_slowly, &thread) == 0);
	CHECK(pthread_join(thread, nullptr) == 0);
	own.name = "main's";
	CHECK(atexit(finish) == 0);
	CHECK(atexit(emit_at_exit) == 0);
	return 0;
}
