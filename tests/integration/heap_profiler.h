/* SPDX-License-Identifier: Apache-2.0
 * heap_profiler.h - the heap profiler with a daemon, and programs that write the records of liborma-heap by hand, through
 * liborma: a test decides what they say, and the library's own tests need no profiler.
 */
#ifndef ORMA_TESTS_INTEGRATION_HEAP_PROFILER_H
#define ORMA_TESTS_INTEGRATION_HEAP_PROFILER_H

#include <orma/data_source.h>
#include <orma/field.h>
#include <orma/init.h>
#include <orma/session.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "daemon.h"
#include "harness.h"
#include "heap_trace.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/orma_heap_record.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/daemon/probes_run.h"

#define RECORD(name) ORMA_PB_ORMA_HEAP_RECORD_##name

enum { WAIT_MS = 20000, SAMPLES = 2000 };

/* --- the program ------------------------------------------------------------------------------ */

static uint32_t idx; /* the instance for which records are written */
static struct orma_data_source *heap_source;
static int told_fd; /* gets a byte when everything is written */

/* Begins a packet with one record. */
static inline struct orma_packet *begin_record(struct orma_nested nested[2], uint32_t kind)
{
	struct orma_packet *packet = orma_packet_begin(heap_source, idx);

	orma_packet_nested_begin(packet, &nested[0], RECORD(PACKET_FIELD_PACKET_FIELD));
	orma_packet_nested_begin(packet, &nested[1], kind);
	return packet;
}

static inline void end_record(struct orma_packet *packet, struct orma_nested nested[2])
{
	orma_packet_nested_end(packet, &nested[0]);
	orma_packet_end(packet);
}

static inline void tell_heap(void)
{
	struct orma_nested nested[2];
	struct orma_packet *packet = begin_record(nested, RECORD(HEAP));

	orma_packet_varint(packet, RECORD(HEAP_HEAP_ID), 1);
	orma_packet_string(packet, RECORD(HEAP_NAME), "libc.malloc");
	orma_packet_varint(packet, RECORD(HEAP_INTERVAL_BYTES), 1);
	orma_packet_varint(packet, RECORD(HEAP_ORIGINAL_INTERVAL_BYTES), 1);
	end_record(packet, nested);
}

static inline void tell_maps(void)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_nested nested[2];

	if (orma_base_file_read(-100, "/proc/self/maps", 1 << 20, &text) < 0)
		_exit(3);
	struct orma_packet *packet = begin_record(nested, RECORD(MAPS));
	orma_packet_varint(packet, RECORD(MAPS_GENERATION), 1);
	orma_packet_varint(packet, RECORD(MAPS_PART), 0);
	orma_packet_bool(packet, RECORD(MAPS_IS_LAST_PART), true);
	orma_packet_bytes(packet, RECORD(MAPS_TEXT), text.data, text.size);
	end_record(packet, nested);
}

/* Three sites, which take turns: two frames, the inner one of the site's own. */
static inline void tell_sample(uint64_t serial)
{
	uint64_t pcs[] = {(uint64_t)(uintptr_t)tell_heap + serial % 3,
			  (uint64_t)(uintptr_t)tell_maps};
	struct orma_nested nested[2];
	struct orma_packet *packet = begin_record(nested, RECORD(SAMPLE));

	orma_packet_varint(packet, RECORD(SAMPLE_SERIAL), serial);
	orma_packet_varint(packet, RECORD(SAMPLE_HEAP_ID), 1);
	orma_packet_varint(packet, RECORD(SAMPLE_SIZE), serial);
	orma_packet_varint(packet, RECORD(SAMPLE_POINTS), 1);
	orma_packet_varint(packet, RECORD(SAMPLE_TIMESTAMP_NS),
			   orma_base_clock_ns(CLOCK_MONOTONIC_COARSE));
	orma_packet_varint(packet, RECORD(SAMPLE_MAPS_GENERATION), 1);
	orma_packet_bytes(packet, RECORD(SAMPLE_PCS), pcs, sizeof(pcs));
	end_record(packet, nested);
}

static inline void tell_free(uint64_t serial)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];
	struct orma_nested nested[2];
	struct orma_packet *packet = begin_record(nested, RECORD(FREE));

	orma_packet_bytes(packet, RECORD(FREE_SERIALS), bytes,
			  (size_t)(orma_proto_put_varint(bytes, serial) - bytes));
	end_record(packet, nested);
}

/* A reader may take these before those of another thread. Every fourth block is freed, before or after it is told of. */
static inline void tell_blocks(uint64_t first, uint64_t last)
{
	for (uint64_t i = first; i <= last; i++) {
		if (i % 8 == 0)
			tell_free(i);
		tell_sample(i);
		if (i % 8 == 4)
			tell_free(i);
	}
}

/* The second half is not committed: a program that is killed leaves it in its shared memory. */
static inline void tell_allocations(void)
{
	tell_heap();
	tell_maps();
	tell_blocks(1, SAMPLES / 2);
	orma_data_source_flush_thread(heap_source, idx);
	if (orma_sync(WAIT_MS))
		_exit(4);
	tell_blocks(SAMPLES / 2 + 1, SAMPLES);
}

static bool waits_for_room; /* the instance's configuration says so */

static inline void on_setup(void *ctx, const struct orma_instance *instance,
			    void **ret_instance_ctx)
{
	struct orma_field field;

	(void)ctx, (void)ret_instance_ctx;
	waits_for_room =
		orma_field_find(instance->config, instance->config_size,
				ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY, &field) == 1 &&
		field.value ==
			ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY_BUFFER_EXHAUSTED_STALL_THEN_DROP;
}

struct behaviour {
	void (*tell)(void);
	enum orma_completion answer; /* to flushes and to the stop */
};

static inline enum orma_completion on_flush(void *ctx, const struct orma_instance *instance)
{
	const struct behaviour *behaviour = ctx;

	(void)instance;
	return behaviour->answer;
}

static inline _Noreturn void run_program(const struct behaviour *behaviour, int session_count,
					 int fd)
{
	struct orma_data_source_options options = {
		.struct_size = sizeof(options),
		.name = "orma.heap",
		.policy = ORMA_EXHAUSTED_STALL,
		.on_setup = on_setup,
		.on_flush = on_flush,
		.on_stop = on_flush,
		.ctx = (void *)behaviour,
	};
	struct orma_init_options init = {
		.struct_size = sizeof(init),
		.producer_name = "orma.heap",
		.producer_socket = getenv("ORMA_HEAP_SOCK"),
	};

	told_fd = fd;
	if (orma_init(&init) || orma_data_source_register(&options, &heap_source))
		_exit(2);
	while (__builtin_popcount(orma_data_source_started(heap_source)) < session_count)
		usleep(1000);
	ORMA_FOR_EACH_INSTANCE(heap_source, i)
	{
		idx = i;
		behaviour->tell();
	}
	if (write(told_fd, "x", 1) != 1)
		_exit(2);
	for (;;)
		pause();
}

static const struct behaviour honest_behaviour = {tell_allocations, ORMA_COMPLETE};

struct program {
	pid_t pid;
	int fd;
};

/* Before any thread starts. */
static inline void program_start(struct program *program, const struct behaviour *behaviour,
				 int session_count)
{
	int fds[2];

	CHECK_INT(pipe(fds), 0);
	program->pid = fork();
	if (program->pid == 0) {
		close(fds[0]);
		run_program(behaviour, session_count, fds[1]);
	}
	close(fds[1]);
	program->fd = fds[0];
}

static inline void program_await(struct program *program)
{
	char byte;

	CHECK_INT(read(program->fd, &byte, 1), 1);
}

static inline void program_end(struct program *program)
{
	kill(program->pid, SIGKILL);
	CHECK_INT(waitpid(program->pid, NULL, 0), program->pid);
	close(program->fd);
}

/* --- the profiler ----------------------------------------------------------------------------- */

struct profiler {
	struct orma_test_daemon daemon;
	struct orma_probes *probes;
	pthread_t thread;
	struct orma_buf trace; /* everything that was read from the session */
	uint64_t dump_count;   /* dumps of processes that session_await_dumps() has read */
	bool is_in_dump;
};

static inline void choose_socket(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/profiler", orma_test_tmpdir());
	CHECK_INT(setenv("ORMA_HEAP_SOCK", path, 1), 0);
}

static inline void *run_probes(void *ctx)
{
	CHECK_INT(orma_tool_probes_run(ctx), 0);
	return NULL;
}

static inline void profiler_start(struct profiler *profiler)
{
	struct orma_probes_options options = {
		.producer_socket = profiler->daemon.producers,
		.producer_name = "orma.profd",
		.kinds = ORMA_PROBES_PROFILERS,
	};

	profiler->trace = (struct orma_buf){0};
	profiler->dump_count = 0;
	profiler->is_in_dump = false;
	orma_test_daemon_start(&profiler->daemon);
	CHECK_INT(orma_tool_probes_new(&options, &profiler->probes), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	CHECK_INT(pthread_create(&profiler->thread, NULL, run_probes, profiler->probes), 0);
}

static inline void profiler_stop(struct profiler *profiler)
{
	orma_tool_probes_stop(profiler->probes);
	pthread_join(profiler->thread, NULL);
	orma_tool_probes_free(profiler->probes);
	orma_test_daemon_stop(&profiler->daemon);
	orma_base_buf_done(&profiler->trace);
}

/* A profiler that waits for a program for ever does not end the session, because the service waits longer for the profiler than
 * the test does for the end. */
static inline struct orma_session *session_start(struct profiler *profiler, const char *heapprofd)
{
	struct orma_session_options options = {
		.struct_size = sizeof(options),
		.consumer_socket = profiler->daemon.consumers,
		.timeout_ms = WAIT_MS,
	};
	struct orma_session *session;
	struct orma_error error = {0};
	char text[1000];
	void *config;
	size_t size;

	snprintf(text, sizeof(text),
		 "buffers { size_kb: 65536 } data_source_stop_timeout_ms: 600000 data_sources { "
		 "config { name: 'android.heapprofd' "
		 "heapprofd_config { sampling_interval_bytes: 1 all: true %s } } }",
		 heapprofd);
	CHECK_INT(orma_session_new(&options, &session, &error), 0);
	if (orma_config_parse("config", text, strlen(text), &config, &size, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_session_enable(session, config, size, -1), 0);
	orma_config_free(config);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	return session;
}

/* A dump has packets with parts of processes, and a last one without them, which is not continued. */
static inline void count_dump(struct profiler *profiler, const void *packet, size_t size)
{
	struct orma_field profile, field;

	if (orma_field_find(packet, size, ORMA_PB_TRACE_PACKET_PROFILE_PACKET, &profile) != 1 ||
	    profile.type != ORMA_FIELD_BYTES)
		return;
	if (orma_field_find(profile.data, profile.size, ORMA_PB_PROFILE_PACKET_PROCESS_DUMPS,
			    &field) == 1)
		profiler->is_in_dump = true;
	if (orma_field_find(profile.data, profile.size, ORMA_PB_PROFILE_PACKET_CONTINUED, &field) ==
	    1)
		return;
	profiler->dump_count += profiler->is_in_dump;
	profiler->is_in_dump = false;
}

static inline int add_packet(void *ctx, const void *data, size_t size)
{
	struct profiler *profiler = ctx;
	struct orma_proto_heap_writer writer;

	count_dump(profiler, data, size);
	orma_proto_heap_writer_init(&writer, &profiler->trace);
	orma_proto_write_bytes(&writer.writer, ORMA_PB_TRACE_PACKET, data, size);
	return orma_proto_heap_writer_finish(&writer);
}

/* Reads the trace of the only session until it has so many dumps. */
static inline void session_await_dumps(struct profiler *profiler, struct orma_session *session,
				       uint64_t count)
{
	while (profiler->dump_count < count) {
		CHECK_INT(orma_session_read(session, add_packet, profiler), 0);
		usleep(1000);
	}
}

/* Ends the session, and imports its trace. */
static inline void session_end(struct profiler *profiler, struct orma_session *session,
			       struct heap_trace *ret)
{
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, WAIT_MS, NULL), 0);
	/* The trace of an earlier session, unless session_await_dumps() has read a part of this one. */
	if (profiler->dump_count == 0)
		profiler->trace.size = 0;
	CHECK_INT(orma_session_read(session, add_packet, profiler), 0);
	orma_session_free(session);
	heap_trace_read(profiler->trace.data, profiler->trace.size, ret);
	profiler->dump_count = 0;
}

/* The whole of tell_allocations(). */
static inline void check_totals(const struct heap_trace *sums)
{
	int64_t freed_bytes = 0;

	for (int64_t i = 4; i <= SAMPLES; i += 4)
		freed_bytes += i;
	CHECK_INT(sums->count, SAMPLES);
	CHECK_INT(sums->bytes, (int64_t)SAMPLES * (SAMPLES + 1) / 2);
	CHECK_INT(sums->freed_count, -SAMPLES / 4);
	CHECK_INT(sums->freed_bytes, -freed_bytes);
}

#endif
