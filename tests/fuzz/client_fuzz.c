/* SPDX-License-Identifier: Apache-2.0
 * client_fuzz.c - the input as commands of a service to a producer, of any kind in any order, with
 * shared memory that the service changes while the producer writes to it.
 *
 * This thread drives the library over a socket. The first byte of each command determines what is
 * sent with it and what happens before it; see play(). The library must neither crash nor wait, and
 * emitting an event must end.
 */
#include <errno.h>
#include <orma/orma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "ipc/ipc_host.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MEMORY_BYTES = 64 * 1024, COMMANDS_MAX = 64 };

enum { WITH_MEMORY = 1, WITH_EVENTS = 2, WITH_CHANGES = 4, WITH_STARTUP = 8, WITH_TRIGGER = 16 };

struct service {
	struct orma_loop *loop;
	struct orma_ipc_host *host;
	struct orma_ipc_call *commands;
	char address[64];
	int fd;
	uint8_t *memory;
};

ORMA_CATEGORY_DEFINE(fuzzed, "fuzzed", NULL);

static struct service service;
static struct orma_data_source *source;

static void require(bool condition)
{
	if (!condition)
		abort();
}

static int on_hello(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		    size_t size)
{
	/* using_shmem_provided_by_producer, direct_smb_patching_supported */
	static const uint8_t answer[] = {0x08, 1, 0x10, 1};

	(void)peer, (void)args, (void)size;
	return orma_ipc_call_reply(call, answer, sizeof(answer), false, -1);
}

static int on_call(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		   size_t size)
{
	(void)peer, (void)args, (void)size;
	return orma_ipc_call_reply(call, NULL, 0, false, -1);
}

static int on_get_commands(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			   size_t size)
{
	(void)peer, (void)args, (void)size;
	service.commands = call;
	return 0;
}

static void on_closed(void *ctx, struct orma_ipc_peer *peer, int error)
{
	(void)ctx, (void)peer, (void)error;
	service.commands = NULL;
}

static const struct orma_ipc_method methods[] = {
	{"InitializeConnection", on_hello},
	{"RegisterDataSource", on_call},
	{"UpdateDataSource", on_call},
	{"UnregisterDataSource", on_call},
	{"CommitData", on_call},
	{"GetAsyncCommand", on_get_commands},
	{"RegisterTraceWriter", on_call},
	{"UnregisterTraceWriter", on_call},
	{"NotifyDataSourceStarted", on_call},
	{"NotifyDataSourceStopped", on_call},
	{"Sync", on_call},
	{"ActivateTriggers", on_call},
};

static const struct orma_ipc_service services[] = {
	{"ProducerPort", methods, ORMA_ARRAY_SIZE(methods)},
};

static void service_start(void)
{
	struct orma_ipc_host_options options = {
		.services = services, .service_count = 1, .closed = on_closed};

	snprintf(service.address, sizeof(service.address), "@orma-client-fuzz-%d", (int)getpid());
	require(orma_base_loop_new(&service.loop) == 0);
	options.loop = service.loop;
	require(orma_ipc_host_new(&options, &service.host) == 0);
	require(orma_ipc_host_listen(service.host, service.address, 0) == 0);
	service.fd = orma_base_memfd_new("fuzz", MEMORY_BYTES);
	service.memory =
		mmap(NULL, MEMORY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, service.fd, 0);
	require(service.fd >= 0 && service.memory != MAP_FAILED);
}

static void service_stop(void)
{
	munmap(service.memory, MEMORY_BYTES);
	orma_base_fd_close(service.fd);
	orma_ipc_host_free(service.host);
	orma_base_loop_free(service.loop);
	service.commands = NULL;
}

static void turn(void)
{
	for (int i = 0; i < 6; i++) {
		orma_dispatch();
		orma_base_loop_turn(service.loop, 0);
	}
}

static enum orma_completion on_stop(void *ctx, const struct orma_instance *instance)
{
	(void)ctx;
	orma_data_source_complete(instance->source, instance->completion);
	return ORMA_POSTPONE;
}

static void emit(void)
{
	/* The text is longer than some pages. */
	static const char text[5000];

	for (int i = 0; i < 40; i++) {
		ORMA_INSTANT(fuzzed, "event");
		ORMA_SCOPE(fuzzed, "slice");
		ORMA_FOR_EACH_INSTANCE(source, idx)
		{
			struct orma_packet *packet = orma_packet_begin(source, idx);
			struct orma_nested nested;

			if (!packet)
				continue;
			orma_packet_nested_begin(packet, &nested, 900);
			orma_packet_bytes(packet, 1, text, i % 8 == 0 ? sizeof(text) : 3);
			orma_packet_nested_end(packet, &nested);
			orma_packet_end(packet);
		}
	}
}

static void start_up(const uint8_t *config, size_t size)
{
	const struct orma_startup_options options = {.struct_size = sizeof(options),
						     .config = config,
						     .config_size = size,
						     .timeout_ms = 60000};

	orma_startup_tracing(&options);
}

/* Sends one command: a byte for what goes with it, its size, its bytes. Returns the rest of the input. */
static const uint8_t *play(const uint8_t *data, const uint8_t *end)
{
	static const char *const trigger = "fuzzed";
	uint8_t with = data[0];
	size_t size = data[1];

	data += 2;
	size = size < (size_t)(end - data) ? size : (size_t)(end - data);
	if (with & WITH_EVENTS)
		emit();
	if (with & WITH_CHANGES)
		for (size_t i = 0; i < size; i++)
			service.memory[(i * 4093 + with) % MEMORY_BYTES] ^= data[i];
	if (with & WITH_STARTUP)
		start_up(data, size);
	if (with & WITH_TRIGGER)
		orma_activate_triggers(&trigger, 1, with);
	if (service.commands)
		orma_ipc_call_reply(service.commands, data, size, true,
				    with & WITH_MEMORY ? service.fd : -1);
	turn();
	return data + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_init_options options = {.struct_size = sizeof(options), .caller_drives = true};
	const struct orma_data_source_options source_options = {.struct_size =
									sizeof(source_options),
								.name = "fuzz",
								.policy = ORMA_EXHAUSTED_STALL,
								.stall_timeout_ms = 1,
								.allow_policy_in_config = true,
								.on_stop = on_stop,
								.on_flush = on_stop};
	const uint8_t *end = data + size;

	service_start();
	options.producer_socket = service.address;
	require(orma_init(&options) == 0);
	require(orma_track_event_register() == 0 || orma_track_event_register() == -EALREADY);
	require(orma_data_source_register(&source_options, &source) == 0);
	for (int i = 0; i < 20 && !service.commands; i++)
		turn();
	require(service.commands);
	for (int i = 0; i < COMMANDS_MAX && end - data >= 2; i++)
		data = play(data, end);
	emit();
	turn();
	/* Close the connection first: nothing would answer when the library says goodbye. */
	service_stop();
	orma_dispatch();
	orma_shutdown();
	return 0;
}
