/* SPDX-License-Identifier: Apache-2.0
 * perf_stack_test.c - stacks of samples: made-up bytes as the stack of this process.
 *
 * At the first instruction of a function, the return address lies at the stack pointer. A stack of
 * return addresses that lie just behind first instructions is therefore a stack of callers.
 */
#include <poll.h>
#include <sys/mman.h>

#include "perf_fixture.h"

enum {
	OK = 1, /* enum orma_pb_profiling_stack_unwind_error */
	MEMORY_INVALID = 2,
	UNSUPPORTED = 4,
	MAX_FRAMES = 6,
};

static struct perf_fixture fixture;
static struct orma_perf_stack result;

__attribute__((noinline, used)) static int callee(int value)
{
	return value + 1;
}

__attribute__((noinline, used)) static int caller(int value)
{
	return callee(value) * 2;
}

static uint64_t address_of(int (*function)(int))
{
	return (uint64_t)(uintptr_t)function;
}

static void start(enum orma_perf_user_frames frames)
{
	fixture.config.hz = 100;
	fixture.config.kernel_frames = true;
	fixture.config.user_frames = frames;
	fixture.config.stack_bytes = 16384;
	perf_fixture_start(&fixture);
}

static struct orma_perf_process *own_process(void)
{
	struct orma_perf_process *process =
		orma_perf_processes_get(&fixture.processes, (uint32_t)getpid());

	CHECK(process && process->is_in_scope);
	return process;
}

/* A sample of this process in the first instruction of callee(). */
static struct made_sample sample_of(const uint64_t *words, size_t size, uint64_t used)
{
	return (struct made_sample){.pid = (uint32_t)getpid(),
				    .tid = (uint32_t)getpid(),
				    .time = 100,
				    .abi = PERF_SAMPLE_REGS_ABI_64,
				    .regs = {0x7000, 0x6000, address_of(callee)},
				    .stack = words,
				    .stack_size = size,
				    .used = used};
}

/* Walks the first sample where it lies in the ring. */
static void walk_next(void)
{
	struct orma_perf_record record;
	struct orma_perf_cpu *cpu;

	orma_perf_events_refresh(&fixture.events);
	CHECK(orma_perf_events_next(&fixture.events, UINT64_MAX - 1, &record, &cpu));
	orma_perf_stacks_walk(&fixture.stacks, own_process(), &record, &result);
	orma_perf_events_advance(&fixture.events, cpu);
	orma_perf_events_release(&fixture.events);
}

static void walk(const struct made_sample *sample)
{
	perf_fixture_sample(&fixture, sample);
	walk_next();
}

static void skip_without_return_addresses_on_the_stack(void)
{
#if !defined(__x86_64__)
	orma_test_skip("x86-64, where calls put the return address on the stack");
#endif
}

ORMA_TEST(a_stack_is_walked_to_its_end)
{
	uint64_t words[64] = {0};

	skip_without_return_addresses_on_the_stack();
	start(ORMA_PERF_USER_DWARF);
	words[0] = words[1] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), 24);
	walk(&sample);
	CHECK(result.user_count == 3 && result.error == OK);
	CHECK(fixture.stacks.user[0] == address_of(callee));
	CHECK(fixture.stacks.user[1] == address_of(caller));
	/* The same stack has the same number, and another one has not. */
	uint64_t number = orma_perf_stacks_number(&fixture.stacks, &result);
	CHECK(number > 0);
	walk(&sample);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) == number);
	words[1] = 0;
	walk(&sample);
	CHECK(result.user_count == 2);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) != number);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_stack_that_is_cut_keeps_its_frames_and_has_an_error)
{
	uint64_t words[64];

	skip_without_return_addresses_on_the_stack();
	start(ORMA_PERF_USER_DWARF);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		words[i] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), sizeof(words));
	walk(&sample);
	CHECK(result.user_count == 65 && result.error == MEMORY_INVALID);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) > 0);
	/* The kernel says that more was copied than there is room for. */
	sample.used = UINT64_MAX;
	walk(&sample);
	CHECK(result.user_count == 65 && result.error == MEMORY_INVALID);
	/* It could copy only some. The bytes behind are old. */
	sample.used = 20;
	walk(&sample);
	CHECK(result.user_count == 3 && result.error == MEMORY_INVALID);
	sample.used = 0;
	walk(&sample);
	CHECK(result.user_count == 1 && result.error == MEMORY_INVALID);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_copy_of_nothing_leaves_the_innermost_frame)
{
	skip_without_return_addresses_on_the_stack();
	start(ORMA_PERF_USER_DWARF);
	struct made_sample sample = sample_of(NULL, 0, 0);
	walk(&sample);
	CHECK(result.user_count == 1 && result.error == MEMORY_INVALID);
	perf_fixture_end(&fixture);
}

ORMA_TEST(the_largest_copy_has_as_many_frames_as_a_stack_may_have)
{
	/* With the rest of its record it has 65,528 bytes, the most that a size can say. */
	static uint64_t words[(65528 - 120) / 8];

	skip_without_return_addresses_on_the_stack();
	fixture.config.ring_pages = 32;
	start(ORMA_PERF_USER_DWARF);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		words[i] = address_of(caller) + 1;
	for (unsigned i = 0; i < 5; i++) {
		struct made_sample sample = sample_of(words, sizeof(words), sizeof(words));
		walk(&sample);
		CHECK(result.user_count == ORMA_PERF_STACK_FRAMES_MAX);
		CHECK(result.error == MAX_FRAMES);
	}
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) > 0);
	CHECK(fixture.events.cpus[0].ring.damaged_count == 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(registers_at_the_edges_of_memory_end_the_walk)
{
	static const uint64_t edges[] = {
		0, 1, 7, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 8, UINT64_C(1) << 63};
	uint64_t words[64];

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(words); i++)
		words[i] = UINT64_MAX - i;
	for (unsigned mode = 0; mode < 2; mode++) {
		fixture = (struct perf_fixture){0};
		start(mode ? ORMA_PERF_USER_FP : ORMA_PERF_USER_DWARF);
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(edges); i++)
			for (size_t k = 0; k < ORMA_ARRAY_SIZE(edges); k++) {
				struct made_sample sample =
					sample_of(words, sizeof(words), sizeof(words));
				sample.regs[0] = edges[k];
				sample.regs[1] = edges[i];
				walk(&sample);
				CHECK(result.user_count >= 1);
				CHECK(result.user_count < ORMA_PERF_STACK_FRAMES_MAX);
				CHECK(fixture.stacks.user[0] == address_of(callee));
			}
		perf_fixture_end(&fixture);
	}
}

ORMA_TEST(frame_pointers_are_followed_upwards_only)
{
	/* {next frame pointer, return address} at the frame pointer 0x6000 and so on. */
	uint64_t words[] = {0x6020, 0x1001, 0, 0, 0x6020, 0x2001};

	start(ORMA_PERF_USER_FP);
	struct made_sample sample = sample_of(words, sizeof(words), sizeof(words));
	sample.regs[0] = 0x6000;
	walk(&sample);
	CHECK(result.user_count == 3 && result.error == OK);
	CHECK(fixture.stacks.user[0] == address_of(callee));
	CHECK(fixture.stacks.user[1] < 0x1001 && fixture.stacks.user[2] < 0x2001);
	/* A general register in place of a frame pointer. */
	sample.regs[0] = 12345;
	walk(&sample);
	CHECK(result.user_count == 1 && result.error == OK);
	perf_fixture_end(&fixture);
}

ORMA_TEST(the_kernels_chain_is_split_at_its_marks_and_has_a_limit)
{
	static uint64_t chain[3000];
	size_t count = 0;

	fixture.config.ring_pages = 32;
	start(ORMA_PERF_USER_KERNEL_FP);
	chain[count++] = (uint64_t)PERF_CONTEXT_KERNEL;
	chain[count++] = 0xffffffff81000010;
	chain[count++] = 0xffffffff81000020;
	chain[count++] = (uint64_t)PERF_CONTEXT_USER;
	chain[count++] = 0x5010;
	chain[count++] = 0x5020;
	struct made_sample sample = {.pid = (uint32_t)getpid(), .chain = chain};
	sample.chain_count = count;
	walk(&sample);
	CHECK(result.kernel_count == 2 && result.user_count == 2);
	/* The innermost address is where the sample is, the others are calls. */
	CHECK(fixture.stacks.kernel[0] == 0xffffffff81000010);
	CHECK(fixture.stacks.kernel[1] < 0xffffffff81000020);
	CHECK(fixture.stacks.user[0] == 0x5010 && fixture.stacks.user[1] < 0x5020);
	while (count < ORMA_ARRAY_SIZE(chain))
		chain[count++] = 0x6000;
	sample.chain_count = count;
	walk(&sample);
	CHECK(result.kernel_count == 2 && result.user_count == ORMA_PERF_STACK_FRAMES_MAX);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) > 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_program_of_32_bits_has_its_innermost_frame_and_no_callers)
{
	uint64_t words[4] = {0};

	start(ORMA_PERF_USER_DWARF);
	struct made_sample sample = sample_of(words, sizeof(words), sizeof(words));
	sample.abi = PERF_SAMPLE_REGS_ABI_32;
	sample.regs[ORMA_ARRAY_SIZE(sample.regs) - 1] = UINT64_C(0xffffffff08049123);
	walk(&sample);
	CHECK(result.user_count == 1 && result.error == UNSUPPORTED);
	CHECK(fixture.stacks.user[0] == 0x08049123);
	/* An ABI that no kernel has. */
	sample.abi = UINT64_MAX;
	walk(&sample);
	CHECK(result.user_count == 0 && result.error == UNSUPPORTED);
	perf_fixture_end(&fixture);
}

ORMA_TEST(time_in_the_kernel_without_any_frame_has_a_stack_of_one)
{
	start(ORMA_PERF_USER_DWARF);
	struct made_sample sample = {.pid = (uint32_t)getpid(), .misc = PERF_RECORD_MISC_KERNEL};
	walk(&sample);
	CHECK(result.user_count + result.kernel_count == 0 && result.is_in_kernel);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) > 0);
	/* Time in user space without registers is not known to be anywhere. */
	sample.misc = PERF_RECORD_MISC_USER;
	walk(&sample);
	CHECK(orma_perf_stacks_number(&fixture.stacks, &result) == 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(walks_survive_a_lack_of_memory)
{
	uint64_t words[64] = {0};
	bool has_failed = true;

	skip_without_return_addresses_on_the_stack();
	words[0] = address_of(caller) + 1;
	for (uint64_t nth = 1; has_failed && nth < 2000; nth += 1 + nth / 8) {
		fixture = (struct perf_fixture){0};
		start(ORMA_PERF_USER_DWARF);
		struct made_sample sample = sample_of(words, sizeof(words), 16);
		own_process();
		perf_fixture_sample(&fixture, &sample);
		orma_base_alloc_fail_nth(nth);
		walk_next();
		uint64_t number = orma_perf_stacks_number(&fixture.stacks, &result);
		has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		CHECK(number > 0 || has_failed);
		perf_fixture_end(&fixture);
	}
	CHECK(!has_failed);
}

/* --- files that are being read ---------------------------------------------------------------- */

static void wait_for_file(void)
{
	struct pollfd wait = {.fd = orma_unwind_files_event_fd(fixture.processes.files),
			      .events = POLLIN};
	uint64_t count;

	CHECK(poll(&wait, 1, 20000) == 1);
	CHECK(read(wait.fd, &count, sizeof(count)) == sizeof(count));
}

/* Runs until the files are there. Returns the number of runs that had to stop. */
static unsigned run_until_there(void)
{
	unsigned stalls = 0;

	for (;; stalls++) {
		perf_fixture_run(&fixture);
		if (!fixture.reader.is_stalled)
			return stalls;
		wait_for_file();
	}
}

ORMA_TEST(a_sample_stays_in_the_ring_until_its_table_is_there)
{
	uint64_t words[64] = {0};

	skip_without_return_addresses_on_the_stack();
	start(ORMA_PERF_USER_DWARF);
	fixture.reader.never_waits = true;
	words[0] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), 24);
	perf_fixture_sample(&fixture, &sample);
	/* Younger ones stay as well, of any process and CPU. */
	sample.time = 200;
	sample.cpu = 1;
	perf_fixture_sample(&fixture, &sample);
	perf_fixture_run(&fixture);
	CHECK(fixture.reader.is_stalled && fixture.reader.sample_count == 0);
	CHECK(fixture.reader.cpus[0].total == 0 && fixture.reader.cpus[0].last[0] == 0);
	CHECK(fixture.pages[0]->data_tail == 0);
	run_until_there();
	CHECK(fixture.reader.sample_count == 2 && fixture.reader.late_count == 0);
	CHECK(fixture.stacks.error_count == 0 && fixture.stacks.frame_count == 4);
	/* The next one finds all that it needs. */
	sample.time = 300;
	perf_fixture_sample(&fixture, &sample);
	CHECK(run_until_there() == 0);
	perf_fixture_end(&fixture);
}

ORMA_TEST(frame_pointers_wait_for_the_files_of_their_addresses)
{
	uint64_t words[64] = {0};

	start(ORMA_PERF_USER_FP);
	fixture.reader.never_waits = true;
	struct made_sample sample = sample_of(words, sizeof(words), 24);
	perf_fixture_sample(&fixture, &sample);
	CHECK(run_until_there() > 0);
	CHECK(fixture.reader.sample_count == 1 && fixture.stacks.error_count == 0);
	perf_fixture_end(&fixture);
}

/* Shared with the child. */
static volatile bool *may_end;

static void hang(int socket)
{
	(void)socket;
	while (!*may_end)
		poll(NULL, 0, 1);
}

/* Files are read as soon as `may_end` is set. */
static void start_with_files_that_hang(void)
{
	const struct orma_unwind_files_limits limits = {.builder = {.child = hang}};

	start(ORMA_PERF_USER_DWARF);
	may_end = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK((void *)may_end != MAP_FAILED);
	orma_unwind_files_free(fixture.processes.files);
	CHECK(orma_unwind_files_new(&limits, &fixture.processes.files) == 0);
}

ORMA_TEST(a_ring_that_fills_does_not_wait_for_a_table)
{
	uint64_t words[2048] = {0}, count = 0;

	skip_without_return_addresses_on_the_stack();
	start_with_files_that_hang();
	fixture.reader.never_waits = true;
	words[0] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), sizeof(words));
	while ((count + 1) * sizeof(words) * 2 < fixture.ring_bytes) {
		perf_fixture_sample(&fixture, &sample);
		sample.time++;
		count++;
		perf_fixture_run(&fixture);
		CHECK(fixture.reader.is_stalled && fixture.reader.sample_count == 0);
	}
	perf_fixture_sample(&fixture, &sample);
	perf_fixture_sample(&fixture, &sample);
	perf_fixture_run(&fixture);
	/* Only as many as make room. */
	uint64_t taken = fixture.reader.sample_count;
	CHECK(taken > 0 && taken < count && fixture.reader.is_stalled);
	CHECK(fixture.reader.late_count == taken && fixture.stacks.error_count == taken);
	*may_end = true;
	perf_fixture_end(&fixture);
}

static void run_with_patience(uint64_t wait_ns)
{
	fixture.stacks.patience = (struct orma_unwind_patience){
		.max_ns = wait_ns,
		.left_ns = wait_ns,
		.since_ns = orma_base_clock_ns(CLOCK_MONOTONIC),
	};
	perf_fixture_run(&fixture);
	fixture.stacks.patience.max_ns = 0;
}

ORMA_TEST(a_flush_waits_for_a_table_and_a_stop_ends_the_stack_there)
{
	uint64_t words[64] = {0};

	skip_without_return_addresses_on_the_stack();
	start_with_files_that_hang();
	words[0] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), 24);
	for (int i = 0; i < 3; i++)
		perf_fixture_sample(&fixture, &sample);
	fixture.reader.never_waits = true;
	run_with_patience(20 * ORMA_NS_PER_MS);
	CHECK(fixture.reader.is_stalled && fixture.reader.sample_count == 0);
	/* All samples together wait that long. */
	fixture.reader.never_waits = false;
	run_with_patience(20 * ORMA_NS_PER_MS);
	CHECK(!fixture.reader.is_stalled && fixture.reader.sample_count == 3);
	CHECK_INT(fixture.stacks.error_count, 3);
	*may_end = true;
	perf_fixture_end(&fixture);
}

ORMA_TEST(a_stop_that_waits_long_enough_has_the_whole_stack)
{
	uint64_t words[64] = {0};

	skip_without_return_addresses_on_the_stack();
	start(ORMA_PERF_USER_DWARF);
	words[0] = address_of(caller) + 1;
	struct made_sample sample = sample_of(words, sizeof(words), 24);
	perf_fixture_sample(&fixture, &sample);
	run_with_patience(60 * ORMA_NS_PER_SEC);
	CHECK(fixture.reader.sample_count == 1 && fixture.stacks.error_count == 0);
	CHECK(fixture.stacks.frame_count == 2);
	perf_fixture_end(&fixture);
}
