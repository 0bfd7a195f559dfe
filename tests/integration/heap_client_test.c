/* SPDX-License-Identifier: Apache-2.0
 * heap_client_test.c - liborma-heap preloaded into a program, with a daemon of the test as the profiler.
 */
#include <fcntl.h>
#include <orma/field.h>
#include <orma/session.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
#include "daemon.h"
#include "harness.h"
#include "schema/gen/orma_heap_record.pb.h"

#define SUBJECT ORMA_BUILD_DIR "/tests/heap_subject"
#define MODULE  ORMA_BUILD_DIR "/tests/heap_module.so"
#define LIBRARY ORMA_BUILD_DIR "/liborma-heap.so"

enum { RECORDS_MAX = 200000, PROGRAMS_MAX = 64 };

struct block {
	uint64_t serial, size;
	int pid;
	unsigned program; /* the programs that the process executes number their serials anew */
	bool is_freed;
	uint32_t generation; /* the mappings that the sample refers to; frees have 0 */
};

static struct {
	struct block samples[RECORDS_MAX], frees[RECORDS_MAX];
	size_t sample_count, free_count;
	unsigned processes, forked, starting, byes, maps;
	int starting_pids[PROGRAMS_MAX];
	uint32_t maps_generation; /* that the last text has */
	uint64_t lost, unseen_bytes;
	unsigned stackless, walked;
	size_t arguments; /* in the command line of the newest process */
	uint64_t smallest_interval, largest_interval; /* all samples together */
} seen;

static struct orma_test_daemon profiler;
static struct orma_session *session;

static unsigned program_of(int pid)
{
	unsigned count = 0;

	for (unsigned i = 0; i < seen.starting; i++)
		count += seen.starting_pids[i] == pid;
	return count;
}

static void note_sample(int pid, const struct orma_pb_orma_heap_record_sample *sample)
{
	CHECK(seen.sample_count < RECORDS_MAX);
	seen.samples[seen.sample_count++] = (struct block){
		sample->serial, sample->size, pid, program_of(pid), false, sample->maps_generation};
	if (seen.smallest_interval == 0 || sample->interval_bytes < seen.smallest_interval)
		seen.smallest_interval = sample->interval_bytes;
	seen.largest_interval = ORMA_MAX(seen.largest_interval, sample->interval_bytes);
	seen.walked += sample->pcs.count >= 3;
	seen.stackless +=
		sample->is_without_stack || (sample->pcs.count == 0 && sample->stack.size == 0);
}

static void note_record(int pid, const struct orma_pb_orma_heap_record *record)
{
	if (record->process) {
		seen.processes++;
		seen.arguments = record->process->cmdline.count;
		seen.forked += record->process->is_forked;
		if (record->process->is_from_startup) {
			CHECK(seen.starting < PROGRAMS_MAX);
			seen.starting_pids[seen.starting++] = pid;
		}
	}
	if (record->sample)
		note_sample(pid, record->sample);
	for (size_t i = 0; record->free && i < record->free->serials.count; i++) {
		CHECK(seen.free_count < RECORDS_MAX);
		seen.frees[seen.free_count++] = (struct block){
			record->free->serials.items[i], 0, pid, program_of(pid), false, 0};
	}
	/* The total of the child, as other processes have none. */
	if (record->lost && record->lost->unseen_bytes > 0)
		seen.unseen_bytes = record->lost->unseen_bytes;
	if (record->lost)
		seen.lost = record->lost->samples + record->lost->frees +
			    record->lost->samples_beyond_live_set;
	seen.byes += record->bye != NULL;
	if (record->maps && record->maps->is_last_part) {
		seen.maps++;
		CHECK(record->maps->generation > seen.maps_generation || seen.processes > 1);
		seen.maps_generation = record->maps->generation;
	}
}

static int note_packet(void *ctx, const void *packet, size_t size)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_orma_heap_record *record;
	struct orma_field field, pid;

	(void)ctx;
	if (orma_field_find(packet, size, ORMA_PB_ORMA_HEAP_RECORD_PACKET_FIELD_PACKET_FIELD,
			    &field) != 1)
		return 0;
	CHECK(orma_field_find(packet, size, 79, &pid) == 1);
	CHECK_INT(orma_pb_orma_heap_record_decode(field.data, field.size, &arena, &record), 0);
	note_record((int)pid.value, record);
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct block *one = a, *other = b;

	if (one->pid != other->pid)
		return one->pid < other->pid ? -1 : 1;
	if (one->program != other->program)
		return one->program < other->program ? -1 : 1;
	return one->serial < other->serial ? -1 : one->serial > other->serial;
}

/* Threads wait for room, unless a test is about losses. */
static const char *policy = "BUFFER_EXHAUSTED_STALL_THEN_DROP";

static void begin(const char *heapprofd)
{
	struct orma_session_options options = {.struct_size = sizeof(options)};
	char text[512];

	orma_test_daemon_start(&profiler);
	options.consumer_socket = profiler.consumers;
	CHECK_INT(orma_session_new(&options, &session, NULL), 0);
	snprintf(text, sizeof(text),
		 "buffers { size_kb: 262144 } data_sources { config { name: \"orma.heap\" "
		 "buffer_exhausted_policy: %s "
		 "heapprofd_config { block_client_timeout_us: 20000000 %s %s } } }",
		 policy, strstr(heapprofd, "process_cmdline") ? "" : "all: true", heapprofd);
	CHECK_INT(orma_session_enable_text(session, "test", text, strlen(text), -1, NULL), 0);
	CHECK_INT(orma_session_wait_started(session, 5000), 0);
}

static const char *more_variable;

static pid_t start(bool follows, const char *mode, const char *argument)
{
	char socket[200];
	char *arguments[] = {(char *)SUBJECT, (char *)mode, (char *)argument, NULL};
	char *variables[] = {socket, (char *)"LD_PRELOAD=" LIBRARY, (char *)"ORMA_HEAP_WAIT=1",
			     (char *)(follows ? "ORMA_HEAP_FOLLOW=1" : more_variable), NULL};
	pid_t pid;

	snprintf(socket, sizeof(socket), "ORMA_HEAP_SOCK=%s", profiler.producers);
	CHECK_INT(posix_spawn(&pid, SUBJECT, NULL, NULL, arguments, variables), 0);
	return pid;
}

static int finish(pid_t pid)
{
	int status;

	CHECK_INT(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(bool follows, const char *mode, const char *argument)
{
	return finish(start(follows, mode, argument));
}

static void end_with_losses(void)
{
	CHECK_INT(orma_session_stop(session), 0);
	CHECK_INT(orma_session_wait_stopped(session, 5000, NULL), 0);
	CHECK(orma_session_read(session, note_packet, NULL) >= 0);
	orma_session_free(session);
	orma_test_daemon_stop(&profiler);
	qsort(seen.samples, seen.sample_count, sizeof(seen.samples[0]), compare);
	for (size_t i = 0; i < seen.free_count; i++) {
		struct block *block = bsearch(&seen.frees[i], seen.samples, seen.sample_count,
					      sizeof(seen.samples[0]), compare);

		CHECK(block && !block->is_freed);
		block->is_freed = true;
	}
}

static void end(void)
{
	end_with_losses();
	CHECK_INT(seen.lost, 0);
	CHECK_INT(seen.stackless, 0);
}

static unsigned count(uint64_t size, bool is_freed)
{
	unsigned found = 0;

	for (size_t i = 0; i < seen.sample_count; i++)
		found += seen.samples[i].size == size && seen.samples[i].is_freed == is_freed;
	return found;
}

ORMA_TEST(every_block_is_seen_with_an_interval_of_1)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "exact", NULL), 0);
	end();
	CHECK_INT(count(7001, false), 40);
	CHECK_INT(count(7001, true), 60);
	CHECK_INT(count(7007, true), 1);
	CHECK_INT(count(7003, true), 1);
	CHECK_INT(count(7004, false), 1);
	CHECK_INT(count(7005, false), 1);
	CHECK_INT(count(7040, false), 1);
	CHECK_INT(count(7006, false), 1);
	CHECK(seen.processes == 1 && seen.starting == 1 && seen.forked == 0);
	CHECK_INT(seen.byes, 1);
	CHECK(seen.maps >= 1);
}

ORMA_TEST(sampled_blocks_estimate_all)
{
	/* Each block is sampled with a probability of 0.18; sigma is 171. */
	double p = 1 - __builtin_exp(-7101.0 / 36000), expected = 200000 * p;
	double sigma = __builtin_sqrt(expected * (1 - p)), sampled;

	begin("sampling_interval_bytes: 36000");
	CHECK_INT(run(false, "many", NULL), 0);
	end();
	CHECK_INT(count(7101, false), 0);
	sampled = count(7101, true);
	CHECK(__builtin_fabs(sampled - expected) < 4 * sigma);
	/* The first stacks are copies, until there are tables: main(), run_many() and what called main(). */
	CHECK(seen.walked > seen.sample_count / 10);
}

ORMA_TEST(constructors_of_the_program_are_counted)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "nothing", NULL), 0);
	end();
	CHECK_INT(count(7712, false), 2);
	CHECK_INT(count(7712, true), 1);
	/* The program allocated these before the library began, and frees them afterwards. */
	CHECK_INT(count(7711, false) + count(7711, true), 0);
}

ORMA_TEST(destructors_of_threads_are_counted)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "destructors", NULL), 0);
	end();
	CHECK_INT(count(7721, true), 100);
	CHECK_INT(count(7722, true), 300);
	CHECK_INT(count(7723, true), 300);
}

ORMA_TEST(a_child_of_a_fork_is_not_profiled)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "fork", NULL), 0);
	end();
	CHECK_INT(count(7201, true), 1);
	CHECK_INT(count(7202, true) + count(7202, false), 0);
	CHECK_INT(count(7203, false), 1);
	CHECK_INT(seen.processes, 1);
}

/* The child goes on until some of its blocks are in the trace. Returns how many it has allocated. */
static uint32_t run_followed_fork(void)
{
	uint32_t allocated;
	char end_path[200];
	int fd;

	snprintf(end_path, sizeof(end_path), "%s/end", orma_test_tmpdir());
	pid_t pid = start(true, "fork", end_path);
	while (count(7202, false) < 50) {
		CHECK(orma_session_read(session, note_packet, NULL) >= 0);
		usleep(10000);
	}
	fd = open(end_path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(finish(pid), 0);
	CHECK_INT(read(fd, &allocated, sizeof(allocated)), sizeof(allocated));
	close(fd);
	return allocated;
}

ORMA_TEST(a_child_of_a_fork_is_profiled_when_children_are_followed)
{
	begin("sampling_interval_bytes: 1");
	uint64_t allocated = run_followed_fork();
	end();
	CHECK_INT(count(7201, true), 1);
	/* Before it was connected, the child has counted its bytes. The C library needs a few. */
	uint64_t counted = count(7202, false) * UINT64_C(7202) + seen.unseen_bytes;
	CHECK(counted >= allocated * 7202 && counted < allocated * 7202 + 8192);
	CHECK(seen.unseen_bytes > 0);
	CHECK_INT(count(7203, false), 1);
	CHECK(seen.processes == 2 && seen.forked == 1 && seen.byes == 2);
}

ORMA_TEST(a_child_of_a_bare_clone_does_not_write_into_its_parents_memory)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(true, "clone", NULL), 0);
	end();
	CHECK_INT(count(7211, true), 1);
	CHECK_INT(count(7212, true) + count(7212, false), 0);
	CHECK_INT(count(7213, false), 1000);
	CHECK_INT(count(7214, false), 1);
	CHECK_INT(seen.processes, 1);
}

ORMA_TEST(a_vfork_child_allocates_for_its_parent)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "vfork", NULL), 0);
	end();
	CHECK_INT(count(7301, true), 1);
	CHECK_INT(count(7302, true), 1);
	CHECK_INT(count(7303, false), 1);
	CHECK_INT(seen.processes, 1);
}

ORMA_TEST(a_program_that_is_executed_is_profiled_when_it_is_followed)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(true, "exec", NULL), 0);
	end();
	CHECK_INT(count(7001, false), 40);
	CHECK_INT(seen.processes, 2);
}

ORMA_TEST(a_program_that_is_executed_is_left_alone)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "exec", NULL), 0);
	end();
	CHECK_INT(count(7001, false), 0);
	CHECK_INT(seen.processes, 1);
}

/* Each of the functions that execute a program, one after the other, in one process. */
ORMA_TEST(a_program_that_takes_the_place_of_the_profiled_one_is_profiled)
{
	more_variable = "ORMA_HEAP_EXEC=0";
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "exec_each", "0"), 0);
	end();
	CHECK_INT(seen.processes, 10);
	for (unsigned i = 0; i < 10; i++)
		CHECK_INT(count(7500 + i, false), 1);
	/* A child that executes the same has nothing to do with it. */
	CHECK_INT(count(7600, false), 1);
}

ORMA_TEST(the_environment_is_as_if_the_program_were_not_profiled)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "environment", NULL), 0);
	end();
}

ORMA_TEST(threads_are_counted_to_the_last_block)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "threads", NULL), 0);
	end();
	CHECK_INT(count(7401, true), 2000);
	CHECK_INT(count(7402, true), 2000);
}

ORMA_TEST(ten_thousand_threads_are_counted)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "storm", NULL), 0);
	end();
	CHECK_INT(count(7401, true), 10000);
	CHECK_INT(count(7402, true), 10000);
}

static void take_a_break(int signal)
{
	(void)signal;
	usleep(300000);
}

/* Runs a storm while the profiler sleeps most of the time. */
static void run_beside_a_slow_profiler(const char *storm)
{
	char begun[200];
	pid_t pid;

	snprintf(begun, sizeof(begun), "%s/begun", orma_test_tmpdir());
	pid = start(false, storm, begun);
	while (access(begun, F_OK) < 0)
		usleep(1000);
	for (unsigned i = 0; i < 5; i++) {
		CHECK_INT(pthread_kill(profiler.thread, SIGUSR2), 0);
		usleep(330000);
	}
	CHECK_INT(rmdir(begun), 0);
	CHECK_INT(finish(pid), 0);
}

/* Shared memory and the socket's buffer are full then, so the library's thread waits, too. */
ORMA_TEST(all_threads_wait_for_a_profiler_that_does_nothing_for_a_while)
{
	signal(SIGUSR2, take_a_break);
	begin("sampling_interval_bytes: 1");
	run_beside_a_slow_profiler("storm");
	end();
	CHECK_INT(count(7401, true), 10000);
	CHECK_INT(count(7402, true), 10000);
	CHECK(seen.smallest_interval <= 1 && seen.largest_interval <= 1);
}

ORMA_TEST(losses_double_an_adaptive_interval_up_to_its_maximum)
{
	signal(SIGUSR2, take_a_break);
	policy = "BUFFER_EXHAUSTED_DROP";
	begin("sampling_interval_bytes: 1 adaptive_sampling_shmem_threshold: 1 "
	      "adaptive_sampling_max_sampling_interval_bytes: 20");
	/* The samples of the second storm show what the losses of the first one have done. */
	run_beside_a_slow_profiler("two storms");
	end_with_losses();
	CHECK(seen.lost > 0);
	CHECK(seen.smallest_interval <= 1);
	CHECK_INT(seen.largest_interval, 16);
}

/* Memory that only the process has, and its part of the memory that it shares with the profiler. */
static unsigned long memory_kb(pid_t pid)
{
	char path[64], line[512];
	bool is_shared = false;
	unsigned long sum = 0, from, kb;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/smaps", (int)pid);
	file = fopen(path, "r");
	CHECK(file);
	while (fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%lx-", &from) == 1)
			is_shared = strstr(line, "/memfd:") != NULL;
		if (sscanf(line, is_shared ? "Rss: %lu" : "Anonymous: %lu", &kb) == 1)
			sum += kb;
		/* Some machines give every stack a huge page. */
		if (sscanf(line, "AnonHugePages: %lu", &kb) == 1)
			sum -= kb;
	}
	fclose(file);
	return sum;
}

static unsigned long memory_of(bool is_profiled)
{
	char begun[200];
	char *const arguments[] = {(char *)SUBJECT, (char *)"pause", begun, NULL};
	char *const variables[] = {NULL};
	unsigned long kb;
	pid_t pid;

	snprintf(begun, sizeof(begun), "%s/%s", orma_test_tmpdir(),
		 is_profiled ? "profiled" : "alone");
	if (is_profiled)
		pid = start(false, "pause", begun);
	else
		CHECK_INT(posix_spawn(&pid, SUBJECT, NULL, NULL, arguments, variables), 0);
	while (access(begun, F_OK) < 0)
		usleep(1000);
	kb = memory_kb(pid);
	CHECK_INT(kill(pid, SIGKILL), 0);
	finish(pid);
	return kb;
}

ORMA_TEST(a_program_takes_little_more_memory_before_its_first_sample)
{
	unsigned long alone = memory_of(false), profiled;

	begin("sampling_interval_bytes: 1073741824");
	profiled = memory_of(true);
	end();
	if (profiled > alone + 250)
		orma_test_fail(__FILE__, __LINE__, "%lu KiB instead of %lu", profiled, alone);
}

ORMA_TEST(mappings_are_sent_again_when_a_library_is_unloaded)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "dlclose", MODULE), 0);
	end();
	CHECK_INT(count(7801, true), 3);
	/* Samples before and after a change never have the same generation, and a text comes that is newer than each of
	 * them. Several changes may share one. */
	uint32_t last = 0;
	for (size_t i = 0; i < seen.sample_count; i++)
		if (seen.samples[i].size == 7801) {
			CHECK(seen.samples[i].generation > last);
			last = seen.samples[i].generation;
		}
	CHECK(seen.maps_generation > last);
	CHECK(seen.maps >= 2);
}

ORMA_TEST(signal_handlers_are_counted)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "signal", NULL), 0);
	end();
	CHECK_INT(count(7501, true), 100);
}

ORMA_TEST(a_thread_that_jumps_out_of_the_profiler_is_profiled_again)
{
	begin("sampling_interval_bytes: 1 all_heaps: true");
	CHECK_INT(run(false, "jump", NULL), 0);
	/* Samples of which nobody knows if they were written count as lost. */
	end_with_losses();
	CHECK(seen.lost > 0);
	CHECK(count(7901, true) > 0);
	CHECK_INT(count(7902, false), 100);
	CHECK_INT(count(7903, false), 100);
}

static void check_profile_of_closer(const char *way)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "close", way), 0);
	end();
	CHECK_INT(count(7801, false), 1);
	CHECK_INT(count(7802, false), 100);
	CHECK_INT(count(7803, false), 100);
	CHECK(seen.processes == 1 && seen.byes == 1);
}

ORMA_TEST(a_program_that_closes_all_descriptors_is_profiled_to_its_end)
{
	check_profile_of_closer("loop");
}

ORMA_TEST(a_program_that_closes_a_range_of_descriptors_is_profiled_to_its_end)
{
	check_profile_of_closer("range");
}

ORMA_TEST(a_program_that_closes_descriptors_from_0_on_is_profiled_to_its_end)
{
	check_profile_of_closer("from");
}

ORMA_TEST(a_program_that_closes_descriptors_without_the_library_is_connected_again)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/file", orma_test_tmpdir());
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "close by call", path), 0);
	end_with_losses();
	CHECK_INT(count(7801, false), 1);
	CHECK(count(7804, false) >= 50);
	CHECK(seen.processes == 2 && seen.byes == 1);
}

ORMA_TEST(samples_of_a_killed_program_arrive)
{
	begin("sampling_interval_bytes: 1");
	CHECK_INT(run(false, "kill", NULL), 128 + SIGKILL);
	end();
	CHECK_INT(count(7601, false), 1);
	CHECK_INT(count(7602, false), 1);
	CHECK_INT(seen.byes, 0);
}

ORMA_TEST(samples_of_a_program_that_dies_at_once_arrive)
{
	for (unsigned i = 0; i < 5; i++) {
		memset(&seen, 0, sizeof(seen));
		begin("sampling_interval_bytes: 1");
		CHECK_INT(run(false, "die", NULL), 128 + SIGKILL);
		end();
		CHECK_INT(count(7603, false), 1);
	}
}

ORMA_TEST(a_program_without_a_profiler_begins_at_once)
{
	struct timespec before, after;

	begin("sampling_interval_bytes: 1");
	snprintf(profiler.producers, sizeof(profiler.producers), "%s/nobody", orma_test_tmpdir());
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_INT(run(false, "exact", NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* Nobody listens, so it does not wait for a session. */
	CHECK(after.tv_sec - before.tv_sec < 3);
	end();
	CHECK_INT(seen.processes, 0);
}

ORMA_TEST(a_program_that_is_not_selected_begins_at_once)
{
	struct timespec before, after;

	begin("sampling_interval_bytes: 1 process_cmdline: \"another\"");
	clock_gettime(CLOCK_MONOTONIC, &before);
	CHECK_INT(run(false, "nothing", NULL), 0);
	clock_gettime(CLOCK_MONOTONIC, &after);
	/* It would wait for 3 seconds for a session that selects it. */
	CHECK(after.tv_sec - before.tv_sec < 3);
	end();
	CHECK_INT(seen.processes, 0);
}

ORMA_TEST(a_program_is_selected_by_its_name)
{
	begin("sampling_interval_bytes: 1 process_cmdline: \"heap_sub*\"");
	CHECK_INT(run(false, "exact", NULL), 0);
	end();
	CHECK_INT(count(7001, false), 40);
}

ORMA_TEST(a_program_with_a_long_command_line_is_selected_by_its_name)
{
	static char argument[100000];

	memset(argument, 'x', sizeof(argument) - 1);
	begin("sampling_interval_bytes: 1 process_cmdline: \"heap_sub*\"");
	CHECK_INT(run(false, "exact", argument), 0);
	end();
	CHECK_INT(count(7001, false), 40);
	CHECK_INT(seen.arguments, 3);
}
