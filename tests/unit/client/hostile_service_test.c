/* SPDX-License-Identifier: Apache-2.0
 * hostile_service_test.c - hostile messages from a daemon to a producer: none may crash or hang
 * the traced program.
 */
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "ipc/ipc_host.h"
#include "proto/writer.h"
#include "unit/client/fixture.h"

/* A command that the service sends once the producer listens. */
struct script {
	const uint8_t *data;
	size_t size;
	int fd; /* -1 = none */
};

struct hostile {
	struct orma_loop *loop;
	struct orma_ipc_host *host;
	pthread_t thread;
	char address[256];
	const struct script *script;
	size_t count;
	bool rejects;
	_Atomic bool is_mute;
	sem_t connections; /* GetAsyncCommand arrived */
	sem_t lost;        /* a producer disconnected */
	sem_t started, stopped, flushed;
};

static int accept_hello(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);

	(void)args;
	(void)size;
	if (hostile->rejects)
		orma_ipc_call_reject(call);
	else if (!hostile->is_mute)
		orma_ipc_call_reply(call, NULL, 0, false, -1);
	return 0;
}

static int accept_any(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
		      size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);

	(void)args;
	(void)size;
	if (!hostile->is_mute)
		orma_ipc_call_reply(call, NULL, 0, false, -1);
	return 0;
}

static int accept_commands(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			   size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);

	(void)args;
	(void)size;
	for (size_t i = 0; i < hostile->count; i++)
		orma_ipc_call_reply(call, hostile->script[i].data, hostile->script[i].size, true,
				    hostile->script[i].fd);
	sem_post(&hostile->connections);
	return 0;
}

static int accept_commit(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			 size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);
	struct orma_proto_field field;

	(void)call;
	if (orma_proto_reader_find(args, size, 3, &field) == 1 && field.value > 0)
		sem_post(&hostile->flushed);
	return 0;
}

static int accept_started(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);

	(void)call;
	(void)args;
	(void)size;
	sem_post(&hostile->started);
	return 0;
}

static int accept_stopped(struct orma_ipc_peer *peer, struct orma_ipc_call *call, const void *args,
			  size_t size)
{
	struct hostile *hostile = orma_ipc_peer_host_ctx(peer);

	(void)call;
	(void)args;
	(void)size;
	sem_post(&hostile->stopped);
	return 0;
}

static void on_closed(void *ctx, struct orma_ipc_peer *peer, int error)
{
	struct hostile *hostile = ctx;

	(void)peer;
	(void)error;
	sem_post(&hostile->lost);
}

static void *run_loop(void *ctx)
{
	orma_base_loop_run(ctx);
	return NULL;
}

static void stop_loop(void *ctx)
{
	orma_base_loop_stop(ctx);
}

static const struct orma_ipc_method methods[] = {
	{"InitializeConnection", accept_hello},      {"RegisterDataSource", accept_any},
	{"UnregisterDataSource", accept_any},        {"CommitData", accept_commit},
	{"GetAsyncCommand", accept_commands},        {"RegisterTraceWriter", accept_any},
	{"UnregisterTraceWriter", accept_any},       {"NotifyDataSourceStarted", accept_started},
	{"NotifyDataSourceStopped", accept_stopped}, {"Sync", accept_any},
};

static const struct orma_ipc_service services[] = {
	{"ProducerPort", methods, ORMA_ARRAY_SIZE(methods)},
};

static struct orma_data_source *begin(struct hostile *hostile, const struct script *script,
				      size_t count, struct source_log *log)
{
	struct orma_ipc_host_options options = {
		.services = services, .service_count = 1, .ctx = hostile, .closed = on_closed};
	struct orma_init_options init = {.struct_size = sizeof(init)};
	struct orma_data_source *source;

	hostile->script = script;
	hostile->count = count;
	snprintf(hostile->address, sizeof(hostile->address), "%s/producer", orma_test_tmpdir());
	CHECK_INT(orma_base_loop_new(&hostile->loop), 0);
	options.loop = hostile->loop;
	CHECK_INT(orma_ipc_host_new(&options, &hostile->host), 0);
	CHECK_INT(orma_ipc_host_listen(hostile->host, hostile->address, 0), 0);
	orma_base_loop_set_wake_handler(hostile->loop, stop_loop, hostile->loop);
	init.producer_socket = hostile->address;
	CHECK_INT(orma_init(&init), 0);
	source = register_source("test.source", log);
	CHECK_INT(pthread_create(&hostile->thread, NULL, run_loop, hostile->loop), 0);
	return source;
}

static void end(struct hostile *hostile)
{
	orma_shutdown();
	orma_base_loop_wake(hostile->loop);
	pthread_join(hostile->thread, NULL);
	orma_ipc_host_free(hostile->host);
	orma_base_loop_free(hostile->loop);
}

/* SetupTracing with pages of this size. */
#define SETUP_TRACING(kb)                                                                          \
	{                                                                                          \
		0x1a, 0x02, 0x08, (kb)                                                             \
	}

static void check_that_memory_is_refused(int fd, const uint8_t command[4])
{
	const struct script script[] = {{command, 4, fd}};
	struct hostile hostile = {0};
	struct source_log log = {0};

	begin(&hostile, script, 1, &log);
	/* It disconnects, and tries again later. */
	wait_for(&hostile.connections);
	wait_for(&hostile.lost);
	wait_for(&hostile.connections);
	end(&hostile);
	orma_base_fd_close(fd);
}

ORMA_TEST(memory_without_a_descriptor_ends_the_connection)
{
	check_that_memory_is_refused(-1, (const uint8_t[])SETUP_TRACING(4));
}

ORMA_TEST(memory_that_can_shrink_ends_the_connection)
{
	int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	CHECK_INT(ftruncate(fd, 256 * 1024), 0);
	check_that_memory_is_refused(fd, (const uint8_t[])SETUP_TRACING(4));
}

ORMA_TEST(memory_of_huge_pages_ends_the_connection)
{
	int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB);

	if (fd < 0)
		orma_test_skip("memory files of huge pages");
	CHECK_INT(ftruncate(fd, 2 << 20), 0);
	CHECK_INT(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL), 0);
	check_that_memory_is_refused(fd, (const uint8_t[])SETUP_TRACING(4));
}

ORMA_TEST(memory_smaller_than_a_page_ends_the_connection)
{
	check_that_memory_is_refused(orma_base_memfd_new("x", 16),
				     (const uint8_t[])SETUP_TRACING(4));
}

ORMA_TEST(memory_of_odd_pages_ends_the_connection)
{
	check_that_memory_is_refused(orma_base_memfd_new("x", 48 * 1024),
				     (const uint8_t[])SETUP_TRACING(12));
}

ORMA_TEST(a_file_instead_of_memory_ends_the_connection)
{
	check_that_memory_is_refused(open("/dev/null", O_RDWR | O_CLOEXEC),
				     (const uint8_t[])SETUP_TRACING(4));
}

ORMA_TEST(commands_that_do_not_decode_end_the_connection)
{
	static const uint8_t garbage[] = {0x32, 0x7f, 0xff};
	const struct script script[] = {{garbage, sizeof(garbage), -1}};
	struct hostile hostile = {0};
	struct source_log log = {0};

	begin(&hostile, script, 1, &log);
	wait_for(&hostile.lost);
	wait_for(&hostile.connections);
	end(&hostile);
}

ORMA_TEST(a_service_that_rejects_the_producer_is_asked_again_later)
{
	struct hostile hostile = {.rejects = true};
	struct source_log log = {0};

	begin(&hostile, NULL, 0, &log);
	wait_for(&hostile.lost);
	wait_for(&hostile.lost);
	CHECK(!orma_is_connected());
	end(&hostile);
}

ORMA_TEST(commands_out_of_order_and_out_of_place_are_answered_or_ignored)
{
	/* start 9, stop 9, flush 5 of 9, clear 9: there is no instance 9 */
	static const uint8_t start[] = {0x0a, 0x02, 0x08, 9}, stop[] = {0x12, 0x02, 0x08, 9},
			     flush[] = {0x2a, 0x04, 0x08, 9, 0x10, 5},
			     clear[] = {0x3a, 0x02, 0x08, 9}, unknown[] = {0xfa, 0x3f, 0x00},
			     empty[] = {0x32, 0x00};
	/* setup 1 with a config that is garbage, setup 2 of an unknown source */
	static const uint8_t bad_config[] = {0x32, 0x05, 0x08, 1, 0x12, 1, 0xff},
			     other[] = {0x32, 0x08, 0x08, 2, 0x12, 4, 0x0a, 2, 'x', 'y'};
	const struct script script[] = {
		{start, sizeof(start), -1},           {stop, sizeof(stop), -1},
		{flush, sizeof(flush), -1},           {clear, sizeof(clear), -1},
		{unknown, sizeof(unknown), -1},       {empty, sizeof(empty), -1},
		{bad_config, sizeof(bad_config), -1}, {other, sizeof(other), -1},
	};
	struct hostile hostile = {0};
	struct source_log log = {0};

	begin(&hostile, script, ORMA_ARRAY_SIZE(script), &log);
	wait_for(&hostile.started);
	wait_for(&hostile.stopped);
	wait_for(&hostile.flushed);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(log.setups, 0);
	CHECK(orma_is_connected());
	end(&hostile);
}

ORMA_TEST(an_instance_that_starts_without_memory_emits_nothing)
{
	static const uint8_t setup[] = {0x32, 0x11, 0x08, 1,   0x12, 13,  0x0a, 11,  't', 'e',
					's',  't',  '.',  's', 'o',  'u', 'r',  'c', 'e'};
	static const uint8_t start[] = {0x0a, 0x02, 0x08, 1}, stop[] = {0x12, 0x02, 0x08, 1};
	const struct script script[] = {{setup, sizeof(setup), -1},
					{setup, sizeof(setup), -1},
					{start, sizeof(start), -1},
					{start, sizeof(start), -1}};
	struct hostile hostile = {0};
	struct source_log log = {0};
	struct orma_data_source *source = begin(&hostile, script, 4, &log);

	(void)stop;
	wait_for(&hostile.started);
	wait_for(&hostile.started);
	CHECK_INT(log.setups, 1);
	CHECK_INT(log.starts, 1);
	CHECK_INT(orma_data_source_started(source), 1);
	CHECK(!orma_packet_begin(source, 0));
	end(&hostile);
	CHECK_INT(log.destroys, 1);
}

ORMA_TEST(a_service_that_never_answers_holds_nobody_up)
{
	static const char *const trigger = "t";
	struct hostile hostile = {.is_mute = true};
	struct source_log log = {0};
	struct orma_data_source *source = begin(&hostile, NULL, 0, &log);

	wait_for(&hostile.connections);
	CHECK(!orma_is_connected());
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	CHECK_INT(orma_activate_triggers(&trigger, 1, 0), 0);
	orma_data_source_unregister(source);
	end(&hostile);
}

ORMA_TEST(a_service_that_falls_silent_holds_the_end_up_for_a_second_at_most)
{
	struct hostile hostile = {0};
	struct source_log log = {0};

	begin(&hostile, NULL, 0, &log);
	wait_for(&hostile.connections);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	hostile.is_mute = true;
	CHECK_INT(orma_sync(1), -ETIMEDOUT);
	end(&hostile);
}

ORMA_TEST(a_service_whose_buffers_do_not_exist_gets_no_reservation)
{
	/* setup 1 of test.source with target_buffer 65536, which no service has */
	static const uint8_t setup[] = {0x32, 0x15, 0x08, 1,    0x12, 17,   0x0a, 11,
					't',  'e',  's',  't',  '.',  's',  'o',  'u',
					'r',  'c',  'e',  0x10, 0x80, 0x80, 0x04};
	static const uint8_t start[] = {0x0a, 0x02, 0x08, 1};
	int fd = orma_base_memfd_new("x", 64 * 1024);
	const struct script script[] = {
		{(const uint8_t[])SETUP_TRACING(4), 4, fd},
		{setup, sizeof(setup), -1},
		{start, sizeof(start), -1},
	};
	struct hostile hostile = {0};
	struct source_log log = {0};
	struct orma_data_source *source = begin(&hostile, script, 3, &log);

	wait_for(&hostile.started);
	/* More than the memory holds. No chunk is freed, so the rest is lost and counted. */
	for (uint64_t i = 1; i <= 20000; i++)
		emit(source, i);
	CHECK(orma_data_source_dropped(source, 0) > 0);
	end(&hostile);
	orma_base_fd_close(fd);
}
