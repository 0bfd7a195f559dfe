/* SPDX-License-Identifier: Apache-2.0
 * calls.c - calls every public function with NULL for each of its pointers, and for all at once.
 *
 * list-calls generates the calls from the list of exports and the public headers, so that a new
 * function needs no change here. Each call is made in a child process, which must neither crash nor
 * hang. A function that returns int must return -EINVAL, unless the header allows that pointer to be
 * NULL. make_x() below makes a struct orma_x that is in use; a struct that is plain memory needs no
 * such function.
 */
#include <orma/orma.h>

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define POINTERS_MAX 8
#define NAME         "null_arguments"
#define CONFIG       "buffers { size_kb: 64 } data_sources { config { name: \"" NAME "\" } }"

ORMA_CATEGORY_DEFINE(calls, "calls", "Calls with NULL");

struct call {
	const char *name;
	long (*run)(uint32_t nulls);
	const char *pointers[POINTERS_MAX];
	uint32_t pointer_count;
	uint32_t required; /* bits of the pointers that must not be NULL */
};

/* --- valid arguments -------------------------------------------------------------------------- */

/* Counts are 3 in all calls. As a message, the bytes are field 1 with one byte: a name. */
static const char text[] = "\n\1x";
static const char *const names[] = {"a", "b", "c"};
static uint64_t scratch[512];
static struct orma_transport *connected;

static void need(bool holds, const char *what)
{
	if (holds)
		return;
	fprintf(stderr, "null-arguments: cannot make %s\n", what);
	_exit(2);
}

static int on_connect(void *ctx, struct orma_transport *transport,
		      const struct orma_producer_info *hello)
{
	(void)ctx, (void)hello;
	connected = transport;
	return 0;
}

static void on_disconnect(void *ctx, struct orma_transport *transport)
{
	(void)ctx, (void)transport;
}

static int on_bytes(void *ctx, const void *data, size_t size)
{
	(void)ctx, (void)data, (void)size;
	return 0;
}

static void on_name(void *ctx, const char *name)
{
	(void)ctx, (void)name;
}

static void on_commit(void *ctx, const struct orma_commit *commit)
{
	(void)ctx, (void)commit;
}

static void on_instance(void *ctx, uint64_t instance_id)
{
	(void)ctx, (void)instance_id;
}

static int on_sync(void *ctx)
{
	(void)ctx;
	return 0;
}

/* Starts the library with an in-process service and a connected transport, but without a thread. */
static void init(void)
{
	static const struct orma_transport_ops ops = {
		.struct_size = sizeof(ops),
		.connect = on_connect,
		.disconnect = on_disconnect,
		.register_data_source = on_bytes,
		.unregister_data_source = on_name,
		.commit = on_commit,
		.data_source_started = on_instance,
		.data_source_stopped = on_instance,
		.sync = on_sync,
	};
	static const struct orma_init_options options = {
		.struct_size = sizeof(options),
		.backends = ORMA_BACKEND_IN_PROCESS | ORMA_BACKEND_CUSTOM,
		.caller_drives = true,
		.transport = &ops,
	};
	static bool is_done;

	if (!is_done)
		need(orma_init(&options) == 0, "a library that is initialised");
	is_done = true;
}

static struct orma_data_source *make_data_source(void)
{
	static const struct orma_data_source_options options = {.struct_size = sizeof(options),
								.name = NAME};
	static struct orma_data_source *source;

	init();
	if (!source)
		need(orma_data_source_register(&options, &source) == 0, "a data source");
	return source;
}

static struct orma_session *make_session(void)
{
	static const struct orma_session_options options = {.struct_size = sizeof(options),
							    .in_process = true};
	static struct orma_session *session;

	init();
	if (!session)
		need(orma_session_new(&options, &session, NULL) == 0, "a session");
	return session;
}

static struct orma_packet *make_packet(void)
{
	struct orma_data_source *source = make_data_source();
	struct orma_session *session = make_session();
	struct orma_packet *packet;

	need(orma_session_enable_text(session, NULL, CONFIG, strlen(CONFIG), -1, NULL) == 0 &&
		     orma_session_wait_started(session, 10000) == 0,
	     "a session that runs");
	packet = orma_packet_begin(source, 0);
	need(packet != NULL, "a packet");
	return packet;
}

static struct orma_nested *make_nested(void)
{
	static struct orma_nested nested;

	/* When the packet is NULL, nothing was begun. */
	return &nested;
}

static struct orma_transport *make_transport(void)
{
	init();
	need(connected != NULL, "a transport");
	return connected;
}

static struct orma_service *make_service(void)
{
	static struct orma_service *service;

	if (!service)
		need(orma_service_new(NULL, &service) == 0, "a service");
	return service;
}

static struct orma_producer_port *make_producer_port(void)
{
	static const struct orma_producer_info info = {
		.struct_size = sizeof(info), .name = NAME, .shm_fd = -1};
	static const struct orma_producer_callbacks callbacks = {.struct_size = sizeof(callbacks)};
	static struct orma_producer_port *port;

	if (!port)
		need(orma_producer_port_open(make_service(), &info, &callbacks, NULL, NULL,
					     &port) == 0,
		     "a producer's port");
	return port;
}

static struct orma_relay_port *make_relay_port(void)
{
	static const struct orma_relay_info info = {.struct_size = sizeof(info), .machine_id = 1};
	static struct orma_relay_port *port;

	if (!port)
		need(orma_relay_port_open(make_service(), &info, &port) == 0, "a relay's port");
	return port;
}

static struct orma_consumer_port *make_consumer_port(void)
{
	static const struct orma_consumer_info info = {.struct_size = sizeof(info)};
	static const struct orma_consumer_callbacks callbacks = {.struct_size = sizeof(callbacks)};
	static struct orma_consumer_port *port;

	if (!port)
		need(orma_consumer_port_open(make_service(), &info, &callbacks, NULL, &port) == 0,
		     "a consumer's port");
	return port;
}

static const struct orma_session_clone_options *make_session_clone_options(void)
{
	static const struct orma_session_clone_options options = {.struct_size = sizeof(options),
								  .session_id = 1};

	return &options;
}

static struct orma_category *make_category(void)
{
	return &orma_category_calls;
}

static struct orma_call_site *make_call_site(void)
{
	static struct orma_call_site site = {
		.category = &orma_category_calls, .name = "x", .type = ORMA_EVENT_BEGIN};

	init();
	return &site;
}

#include <null_calls.inc>

/* --- the calls -------------------------------------------------------------------------------- */

static void print_call(const struct call *call, uint32_t nulls)
{
	printf("%s(", call->name);
	for (uint32_t i = 0, shown = 0; i < call->pointer_count; i++)
		if (nulls >> i & 1)
			printf("%s%s = NULL", shown++ > 0 ? ", " : "", call->pointers[i]);
	printf(")");
}

/* Runs in the child. Returns 0 when the call behaves as the header says. */
static int run(const struct call *call, uint32_t nulls)
{
	long result;

	alarm(60);
	result = call->run(nulls);
	if (!(nulls & call->required) || result == -EINVAL)
		return 0;
	print_call(call, nulls);
	printf(": returned %ld, not -EINVAL\n", result);
	fflush(stdout);
	return 3;
}

static bool check(const struct call *call, uint32_t nulls)
{
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0)
		_exit(run(call, nulls));
	need(pid > 0 && waitpid(pid, &status, 0) == pid, "a child process");
	if (WIFEXITED(status) && (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 3))
		return WEXITSTATUS(status) == 0;
	print_call(call, nulls);
	if (WIFSIGNALED(status))
		printf(": ended by %s\n", strsignal(WTERMSIG(status)));
	else
		printf(": the process exited with %d\n", WEXITSTATUS(status));
	return false;
}

int main(void)
{
	unsigned made = 0, failed = 0;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		const struct call *call = &calls[i];
		uint32_t all = (1U << call->pointer_count) - 1;

		for (uint32_t one = 0; one < call->pointer_count; one++, made++)
			failed += !check(call, 1U << one);
		if (call->pointer_count > 1) {
			failed += !check(call, all);
			made++;
		}
	}
	printf("null-arguments: %zu functions, %u calls, %u not as the headers say\n",
	       sizeof(calls) / sizeof(calls[0]), made, failed);
	return failed > 0;
}
