/* SPDX-License-Identifier: Apache-2.0
 * holes_hostile_test.c - producers that share as much memory as they can get and write nothing
 * into it. The daemon searches that memory at each flush. It must not allocate the pages by
 * reading them, nor wait for a lock that a producer holds.
 *
 * ORMA_HOLES_PRODUCERS in the environment sets the number of producers, and prints the times of
 * their session's flushes.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "process.h"
#include "raw_session.h"

enum { PRODUCERS = 16, WRITER = 1 };

/* Resident memory of a process, including shared pages. */
static size_t resident_bytes(pid_t pid)
{
	unsigned long total = 0, resident = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)pid);
	FILE *file = fopen(path, "re");
	CHECK(file && fscanf(file, "%lu %lu", &total, &resident) == 2);
	fclose(file);
	return resident * (size_t)sysconf(_SC_PAGESIZE);
}

struct crowd {
	struct orma_test_process process;
	struct orma_raw_consumer consumer;
	struct orma_raw_producer *producers;
	size_t count;
};

static void join(struct crowd *crowd, struct orma_raw_producer *producer)
{
	const struct orma_raw_instance *instance;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_raw_producer_connect(producer, crowd->process.producers);
	CHECK(orma_raw_producer_initialize(
		      producer,
		      "producer_name: 'idle' smb_scraping_mode: SMB_SCRAPING_ENABLED "
		      "shared_memory_page_size_hint_bytes: 4096 "
		      "shared_memory_size_hint_bytes: 33554432",
		      -1)
		      ->success);
	orma_raw_producer_listen(producer);
	orma_raw_producer_register(producer, "name: 'idle'");
	instance = orma_raw_producer_await_start(producer, "idle");
	orma_raw_call(&producer->client, "RegisterTraceWriter",
		      orma_raw_text(&producer->client, &orma_pb_register_trace_writer_request_desc,
				    "trace_writer_id: %u target_buffer: %u", WRITER,
				    instance->target_buffer));
	orma_raw_test_packet(&payload, "all that it says");
	orma_raw_producer_write(producer,
				&(struct orma_raw_chunk){
					.page_idx = 7,
					.writer_id = WRITER,
					.fragment_count = 1,
					.payload = {(const char *)payload.data, payload.size},
				});
}

static void open_crowd(struct crowd *crowd, size_t count)
{
	*crowd = (struct crowd){.count = count};
	crowd->producers = calloc(count, sizeof(*crowd->producers));
	CHECK(crowd->producers);
	CHECK(orma_test_process_start(&crowd->process));
	orma_raw_consumer_open(&crowd->consumer, crowd->process.consumers);
	orma_raw_consumer_enable(&crowd->consumer, -1,
				 "buffers { size_kb: 1024 } "
				 "data_sources { config { name: 'idle' } }");
	orma_raw_consumer_fence(&crowd->consumer);
	for (size_t i = 0; i < count; i++)
		join(crowd, &crowd->producers[i]);
}

static void close_crowd(struct crowd *crowd)
{
	for (size_t i = 0; i < crowd->count; i++)
		orma_raw_producer_close(&crowd->producers[i]);
	orma_raw_consumer_close(&crowd->consumer);
	free(crowd->producers);
	CHECK_INT(orma_test_process_stop(&crowd->process), 0);
}

/* Returns how long it took, in ms. */
static double flush(struct crowd *crowd)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	uint64_t flush_id = orma_raw_consumer_flush(&crowd->consumer, 60000);

	for (size_t i = 0; i < crowd->count; i++) {
		uint64_t request_id = orma_raw_producer_await_flush(&crowd->producers[i]);

		orma_raw_producer_commit(&crowd->producers[i], "flush_request_id: %llu",
					 (unsigned long long)request_id);
	}
	CHECK(orma_raw_await(&crowd->consumer.client, flush_id)->success);
	return (double)(orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns) / 1e6;
}

/* Commits pages that were never written. */
static void commit_holes(struct orma_raw_producer *producer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	for (size_t i = 8; i < producer->shm_bytes / producer->page_bytes; i++)
		CHECK_INT(orma_base_buf_printf(&text,
					       "chunks_to_move { page: %zu target_buffer: %u }", i,
					       producer->instances[0].target_buffer),
			  0);
	orma_raw_producer_commit(producer, "%.*s", (int)text.size, (const char *)text.data);
	orma_raw_producer_sync(producer);
}

ORMA_TEST(memory_that_nobody_wrote_to_is_not_resident_after_flushes_and_commits)
{
	const char *count = getenv("ORMA_HOLES_PRODUCERS");
	struct crowd crowd;
	size_t before;

	open_crowd(&crowd, 1);
	before = resident_bytes(crowd.process.pid);
	close_crowd(&crowd);
	open_crowd(&crowd, count ? strtoul(count, NULL, 10) : PRODUCERS);
	for (int i = 0; i < (count ? 100 : 2); i++) {
		double ms = flush(&crowd);
		if (count)
			fprintf(stderr, "flush: %.2f ms\n", ms);
	}
	commit_holes(&crowd.producers[0]);
	size_t after = resident_bytes(crowd.process.pid);
	if (count)
		fprintf(stderr, "resident: %.1f MiB with one producer, %.1f MiB with %zu\n",
			(double)before / 1048576, (double)after / 1048576, crowd.count);
	/* Some of the producers have 32 MiB each, and one has committed all of it. */
	CHECK(after < before + ((size_t)24 << 20));
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&crowd.consumer)), crowd.count);
	close_crowd(&crowd);
}

/* --- a lock ----------------------------------------------------------------------------------- */

/* Definitions of the kernel, whose header some C libraries lack. */
enum { UFFD_VERSION = 0xaa, UFFD_REGISTER_MISSING = 1, UFFD_EVENT_PAGEFAULT = 0x12 };

struct uffd_api {
	uint64_t version, features, ioctls;
};
struct uffd_range {
	uint64_t start, size, mode, result;
};
struct uffd_event {
	uint8_t event, padding[31];
};

#define UFFD_IOCTL_API      _IOWR(0xaa, 0x3f, struct uffd_api)
#define UFFD_IOCTL_REGISTER _IOWR(0xaa, 0x00, struct uffd_range)
#define UFFD_IOCTL_ZEROPAGE _IOWR(0xaa, 0x04, struct uffd_range)

/* Calls ioctl(), whose request is an int in one C library and an unsigned long in another. */
static long control(int fd, unsigned long request, void *argument)
{
	return syscall(SYS_ioctl, fd, request, argument);
}

/* A page whose fault the test answers when it wants to. */
struct trap {
	int fd;
	uint8_t *page;
	int file_fd; /* the file that is written to */
	pthread_t thread;
};

static void *write_from_trap(void *arg)
{
	struct trap *trap = arg;

	CHECK_INT(pwrite(trap->file_fd, trap->page, 1, 4095), 1);
	return NULL;
}

/* False if a process may not answer page faults of the kernel. */
static bool spring(struct trap *trap, int file_fd)
{
	struct uffd_api api = {.version = UFFD_VERSION};
	struct uffd_range range = {.size = 4096, .mode = UFFD_REGISTER_MISSING};
	struct uffd_event event;

	*trap = (struct trap){.file_fd = file_fd};
	trap->fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	if (trap->fd < 0)
		return false;
	CHECK_INT(control(trap->fd, UFFD_IOCTL_API, &api), 0);
	trap->page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(trap->page != MAP_FAILED);
	range.start = (uintptr_t)trap->page;
	CHECK_INT(control(trap->fd, UFFD_IOCTL_REGISTER, &range), 0);
	CHECK_INT(pthread_create(&trap->thread, NULL, write_from_trap, trap), 0);
	/* Now the writer waits while it holds the file's lock. */
	CHECK_INT(read(trap->fd, &event, sizeof(event)), (int)sizeof(event));
	CHECK_INT(event.event, UFFD_EVENT_PAGEFAULT);
	return true;
}

static void release(struct trap *trap)
{
	struct uffd_range range = {.start = (uintptr_t)trap->page, .size = 4096};

	CHECK_INT(control(trap->fd, UFFD_IOCTL_ZEROPAGE, &range), 0);
	CHECK_INT(pthread_join(trap->thread, NULL), 0);
	munmap(trap->page, 4096);
	close(trap->fd);
}

ORMA_TEST(a_producer_that_locks_the_file_of_its_memory_holds_up_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	struct trap trap;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "locking", "", "");
	orma_raw_session_emit(&session, "before");
	orma_raw_call(&session.producer.client, "RegisterTraceWriter",
		      orma_raw_text(&session.producer.client,
				    &orma_pb_register_trace_writer_request_desc,
				    "trace_writer_id: 1 target_buffer: %u", session.target_buffer));
	bool is_locked = spring(&trap, session.producer.shm_fd);
	if (!is_locked)
		fprintf(stderr, "nothing is locked: userfaultfd: %s\n", strerror(errno));
	orma_raw_session_flush(&session);
	orma_bystander_check(&stage.bystander);
	orma_raw_session_emit(&session, "meanwhile");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "meanwhile"));
	if (is_locked)
		release(&trap);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
