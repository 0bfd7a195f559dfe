/* SPDX-License-Identifier: Apache-2.0
 * host.c - loads and unloads libraries that trace while it runs a session, with the public API
 * only.
 *
 * The service must learn of categories and data sources that come and go, and the trace must
 * contain all events. Nothing of an unloaded library may be used: its memory is unmapped, and
 * reading it ends the program.
 */
#include <dlfcn.h>
#include <orma/orma.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000

ORMA_CATEGORY_DEFINE(host, "host", "Of the program");

static const char config_text[] =
	"buffers { size_kb: 4096 } data_sources { config { name: \"track_event\" } }";

#define CHECK(condition) check(condition, __LINE__, #condition)

static void check(bool is_true, int line, const char *what)
{
	if (is_true)
		return;
	fprintf(stderr, "host.c:%d: %s\n", line, what);
	exit(1);
}

struct trace {
	char *bytes;
	size_t size;
};

static int add_packet(void *ctx, const void *data, size_t size)
{
	struct trace *trace = ctx;

	trace->bytes = realloc(trace->bytes, trace->size + size);
	CHECK(trace->bytes);
	memcpy(trace->bytes + trace->size, data, size);
	trace->size += size;
	return 0;
}

static bool has_text(const void *data, size_t size, const char *text)
{
	return memmem(data, size, text, strlen(text)) != NULL;
}

static struct orma_session *start(void)
{
	const struct orma_session_options options = {.struct_size = sizeof(options),
						     .in_process = true};
	struct orma_session *session;
	struct orma_error error;
	void *config;
	size_t size;

	CHECK(orma_session_new(&options, &session, &error) == 0);
	CHECK(orma_config_parse("host", config_text, strlen(config_text), &config, &size, &error) ==
	      0);
	CHECK(orma_session_enable(session, config, size, -1) == 0);
	orma_config_free(config);
	CHECK(orma_session_wait_started(session, WAIT_MS) == 0);
	return session;
}

static bool is_announced(struct orma_session *session, const char *category)
{
	bool is_there;
	void *data;
	size_t size;

	CHECK(orma_sync(WAIT_MS) == 0);
	CHECK(orma_session_query_state(session, false, &data, &size) == 0);
	is_there = has_text(data, size, category);
	orma_config_free(data);
	return is_there;
}

struct module {
	void *handle;
	void (*emit)(int number);
	void (*watch)(int *count);
};

static struct module load(const char *name)
{
	struct module module;
	char path[4096], symbol[64];

	snprintf(path, sizeof(path), "%s/module_%s.so", MODULES, name);
	module.handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!module.handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(module.handle != NULL);
	snprintf(symbol, sizeof(symbol), "%s_emit", name);
	*(void **)&module.emit = dlsym(module.handle, symbol);
	snprintf(symbol, sizeof(symbol), "%s_watch", name);
	*(void **)&module.watch = dlsym(module.handle, symbol);
	CHECK(module.emit && module.watch);
	return module;
}

/* The memory is unmapped. */
static void unload(const struct module *module)
{
	Dl_info info;

	CHECK(dlclose(module->handle) == 0);
	/* ISO C converts no pointer to a function into one to an object; dladdr() takes any address. */
	void *address;
	_Static_assert(sizeof(address) == sizeof(module->emit), "dladdr() takes both");
	memcpy(&address, &module->emit, sizeof(address));
	CHECK(dladdr(address, &info) == 0);
}

static void *emit_in_thread(void *ctx)
{
	const struct module *module = ctx;

	for (int i = 0; i < 100; i++)
		module->emit(i);
	return NULL;
}

int main(void)
{
	const struct orma_init_options options = {.struct_size = sizeof(options),
						  .backends = ORMA_BACKEND_IN_PROCESS};
	struct trace trace = {0};
	struct orma_session *session;
	struct module first, second;
	struct orma_error error;
	pthread_t thread;
	int told = 0;

	CHECK(orma_init(&options) == 0);
	CHECK(orma_track_event_register() == 0);
	session = start();
	ORMA_INSTANT(host, "event of host");
	CHECK(!is_announced(session, "module.first"));
	for (int round = 0; round < 3; round++) {
		first = load("first");
		second = load("second");
		CHECK(is_announced(session, "module.first") &&
		      is_announced(session, "module.second"));
		first.watch(&told);
		CHECK(orma_sync(WAIT_MS) == 0);
		CHECK(__atomic_load_n(&told, __ATOMIC_RELAXED) == round + 1);
		first.emit(round);
		CHECK(pthread_create(&thread, NULL, emit_in_thread, &second) == 0);
		pthread_join(thread, NULL);
		unload(&first);
		CHECK(!is_announced(session, "module.first"));
		second.emit(round);
		unload(&second);
		CHECK(!is_announced(session, "module.second"));
		ORMA_INSTANT(host, "event of host", "round", round);
	}
	CHECK(orma_session_stop(session) == 0);
	CHECK(orma_session_wait_stopped(session, WAIT_MS, &error) == 0);
	CHECK(orma_session_read(session, add_packet, &trace) == 0);
	orma_session_free(session);
	orma_shutdown();
	CHECK(has_text(trace.bytes, trace.size, "slice of first"));
	CHECK(has_text(trace.bytes, trace.size, "slice of second"));
	CHECK(has_text(trace.bytes, trace.size, "track of first"));
	CHECK(has_text(trace.bytes, trace.size, "counter of second"));
	free(trace.bytes);
	return 0;
}
