/* SPDX-License-Identifier: Apache-2.0
 * trigger_command.c - activates triggers: a producer that connects, names them and disconnects.
 *
 * It registers no data source and shares no memory, so it calls the producer port directly.
 * Rejected: the library's engine, which reconnects, keeps a thread, and is the only producer of a
 * process.
 */
#include "tool/control/trigger_command.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/loop.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "ipc/ipc_client.h"
#include "ipc/trust.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/producer_port.pb.h"
#include "tool/tool.h"

#define PRODUCER_NAME "perfetto_cmd_producer"
#define TIMEOUT_MS    10000
/* A service ignores further names of one call. */
#define NAMES_PER_CALL 64u

enum { INITIALIZE_CONNECTION, ACTIVATE_TRIGGERS };
static const char *const method_names[] = {
	[INITIALIZE_CONNECTION] = "InitializeConnection",
	[ACTIVATE_TRIGGERS] = "ActivateTriggers",
};

struct caller {
	struct orma_ipc_client *ipc;
	const char *const *names;
	size_t count;
	size_t answered;    /* names whose calls were answered; answers come in order */
	bool tells_unheard; /* report names that no session waits for */
	size_t unheard;     /* names that were reported */
	bool is_done;
	int error;
};

static void finish(struct caller *caller, int error)
{
	if (caller->is_done)
		return;
	caller->is_done = true;
	caller->error = error;
}

/* Only orma's service says how many sessions wait for each name. */
static void tell_unheard(struct caller *caller, size_t end, const void *reply_untrusted,
			 size_t size)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	size_t i = caller->answered;

	orma_proto_reader_init(&reader, reply_untrusted, size);
	while (i < end && orma_proto_reader_next(&reader, &field) == 1) {
		if (field.id != ORMA_PB_ACTIVATE_TRIGGERS_RESPONSE_WAITING_SESSION_COUNTS ||
		    field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.value == 0) {
			orma_tool_warn("no session waits for the trigger \"%s\"", caller->names[i]);
			caller->unheard++;
		}
		i++;
	}
}

static void on_activated(void *ctx, const struct orma_ipc_reply *reply)
{
	struct caller *caller = ctx;
	size_t end = ORMA_MIN(caller->answered + NAMES_PER_CALL, caller->count);

	if (reply->success && caller->tells_unheard)
		tell_unheard(caller, end, reply->data, reply->size);
	caller->answered = end;
	if (!reply->success)
		finish(caller, -EREMOTEIO);
	else if (end == caller->count)
		finish(caller, 0);
}

static int activate(struct caller *caller, const char *const *names, size_t count)
{
	struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	int r;

	orma_proto_heap_writer_init(&heap, &args);
	for (size_t i = 0; i < count; i++)
		orma_proto_write_string(&heap.writer,
					ORMA_PB_ACTIVATE_TRIGGERS_REQUEST_TRIGGER_NAMES, names[i]);
	r = orma_proto_heap_writer_finish(&heap);
	if (r == 0)
		r = orma_ipc_client_invoke(caller->ipc, ACTIVATE_TRIGGERS, args.data, args.size,
					   on_activated, caller);
	orma_base_buf_done(&args);
	return r;
}

/* Sends all calls at once; the service handles them in order. */
static int call(struct caller *caller)
{
	struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;
	int r;
	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_string(&heap.writer, ORMA_PB_INITIALIZE_CONNECTION_REQUEST_PRODUCER_NAME,
				PRODUCER_NAME);
	r = orma_proto_heap_writer_finish(&heap);
	if (r == 0)
		r = orma_ipc_client_invoke(caller->ipc, INITIALIZE_CONNECTION, args.data, args.size,
					   NULL, NULL);
	orma_base_buf_done(&args);
	for (size_t i = 0; i < caller->count && r == 0; i += NAMES_PER_CALL)
		r = activate(caller, caller->names + i,
			     ORMA_MIN(caller->count - i, (size_t)NAMES_PER_CALL));
	return r;
}

static void on_connected(void *ctx)
{
	struct caller *caller = ctx;
	int r = call(caller);
	if (r)
		finish(caller, r);
}

static void on_disconnected(void *ctx, int error)
{
	finish(ctx, error ? error : -ECONNRESET);
}

static int run_caller(struct caller *caller, struct orma_loop *loop, const char *address)
{
	struct orma_ipc_trust trust;
	const struct orma_ipc_client_options options = {
		.loop = loop,
		.service_name = "ProducerPort",
		.method_names = method_names,
		.method_count = sizeof(method_names) / sizeof(method_names[0]),
		.ctx = caller,
		.connected = on_connected,
		.disconnected = on_disconnected,
		.connect_timeout_ns = TIMEOUT_MS * ORMA_NS_PER_MS,
		.trust = &trust,
	};
	(void)orma_ipc_trust_init(&trust,
				  orma_ipc_producer_address_wanted() ? ORMA_IPC_NAMED_BY_ENVIRONMENT
								     : ORMA_IPC_NAMED_BY_NOBODY,
				  NULL);
	uint64_t deadline_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + TIMEOUT_MS * ORMA_NS_PER_MS;
	int r = orma_ipc_client_new(&options, address, &caller->ipc);
	while (r == 0 && !caller->is_done) {
		if (orma_base_clock_ns(CLOCK_MONOTONIC) >= deadline_ns)
			r = -ETIMEDOUT;
		else if ((r = orma_base_loop_turn(loop, 1000)) > 0)
			r = 0;
	}
	orma_ipc_client_free(caller->ipc);
	return r ? r : caller->error;
}

int orma_tool_activate_triggers(const char *const *names, size_t count, bool must_be_heard)
{
	struct caller caller = {.names = names, .count = count, .tells_unheard = must_be_heard};
	const char *address = orma_ipc_producer_address();
	struct orma_loop *loop;
	int r = orma_base_loop_new(&loop);
	if (r == 0) {
		r = run_caller(&caller, loop, address);
		orma_base_loop_free(loop);
	}
	switch (r) {
	case 0:
		return caller.unheard ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
	case -ENOENT:
	case -ECONNREFUSED:
		return orma_tool_fail("no tracing service listens at %s; `orma traced` starts one",
				      address);
	case -EPERM:
		return orma_tool_fail("another user than you, root or the system runs the service "
				      "at %s; ORMA_TRUST_SERVICE=any connects anyway",
				      address);
	case -EACCES:
		return orma_tool_fail("no permission to connect to %s; `traced "
				      "--set-socket-permissions` gives it",
				      address);
	case -ENOTSUP:
		return orma_tool_fail("the service at %s does not support triggers", address);
	case -EREMOTEIO:
		return orma_tool_fail("the service refused the triggers");
	default:
		return orma_tool_fail("cannot activate triggers at %s: %s", address, strerror(-r));
	}
}

static const struct orma_tool_option option_table[] = {{0}};

static int take_option(void *ctx, int option, char *value)
{
	(void)ctx;
	(void)option;
	(void)value;
	return ORMA_EXIT_USAGE;
}

static int trigger(const struct orma_tool_command *command, int argc, char **argv)
{
	int status = orma_tool_read_options(command, argc, argv, take_option, NULL);

	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name at least one trigger");
	return orma_tool_activate_triggers((const char *const *)argv + optind,
					   (size_t)(argc - optind), !command->skips_unknown);
}

static int run_trigger(int argc, char **argv)
{
	return trigger(&orma_trigger_command, argc, argv);
}

static int run_trigger_perfetto(int argc, char **argv)
{
	return trigger(&orma_trigger_perfetto_command, argc, argv);
}

const struct orma_tool_command orma_trigger_command = {
	.name = "trigger",
	.summary = "activate triggers that sessions wait for",
	.usage = "NAME...",
	.about =
		"Activates triggers: sessions that wait for one of these names start, stop, or are "
		"snapshotted. Fails when no session waits for a name.",
	.options = option_table,
	.run = run_trigger,
};

const struct orma_tool_command orma_trigger_perfetto_command = {
	.name = "trigger_perfetto",
	.usage = "NAME...",
	.about = "Activates triggers. Unknown options, and names for which no session waits, are "
		 "ignored.",
	.options = option_table,
	.skips_unknown = true,
	.run = run_trigger_perfetto,
};
