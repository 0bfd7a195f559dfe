/* SPDX-License-Identifier: Apache-2.0
 * unwind_process_test.c - the mappings of processes as they come and go, and walks that load what
 * they need.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"
#include "unwind/unwind_process.h"

static struct orma_unwind_files *files;
static struct orma_unwind_process *process;

/* The test's failures of allocations are its own. */
static void run_child(int socket)
{
	orma_base_alloc_fail_nth(0);
	orma_table_child_run(socket);
}

static void begin(int32_t pid)
{
	const struct orma_unwind_files_limits limits = {.builder = {.child = run_child}};

	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, pid, &process), 0);
}

static atomic_bool *may_begin; /* shared with the child */

static void read_when_told(int socket)
{
	while (!atomic_load(may_begin))
		usleep(1000);
	run_child(socket);
}

static void share_may_begin(void)
{
	may_begin = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(may_begin != MAP_FAILED);
}

/* As a file system would that its user serves. */
ORMA_TEST(slow_files_do_not_stop_a_reader_that_is_patient_to_a_limit)
{
	static const char *const paths[] = {"/bin/sh", "/bin/cat", "/bin/ls", "/bin/cp"};
	const struct orma_unwind_files_limits limits = {.builder = {.child = read_when_told}};
	struct orma_unwind_patience patience = {.max_ns = 200000000, .left_ns = 200000000};

	share_may_begin();
	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	orma_unwind_process_set_patience(process, &patience);
	for (uint64_t i = 0; i < ORMA_ARRAY_SIZE(paths); i++) {
		struct stat info;

		CHECK_INT(stat(paths[i], &info), 0);
		struct orma_process_map record = {
			.start = 0x1000 * (i + 1),
			.end = 0x1000 * (i + 2),
			.inode = info.st_ino,
			.device_major = major(info.st_dev),
			.device_minor = minor(info.st_dev),
			.is_executable = true,
			.path = orma_base_str(paths[i]),
		};
		CHECK_INT(orma_unwind_process_map(process, &record), 0);
		/* Without a limit, this would never end. */
		CHECK_INT(orma_unwind_process_load(process, record.start), -EAGAIN);
	}
	/* They have their files when these were read, after all. */
	atomic_store(may_begin, true);
	while (orma_unwind_process_load(process, 0x1000) == -EAGAIN)
		usleep(10000);
	CHECK(orma_unwind_process_find(process, 0x1000)->file);
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
	munmap(may_begin, 4096);
}

ORMA_TEST(a_file_that_is_read_too_late_is_used_from_then_on)
{
	const struct orma_unwind_files_limits limits = {.load_ns = 20 * ORMA_NS_PER_MS,
							.builder = {60000, read_when_told}};
	const uint64_t pc = (uint64_t)(uintptr_t)&read_when_told;
	struct orma_unwind_process *other;
	struct orma_unwind_mapping *early;

	share_may_begin();
	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	orma_unwind_process_set_waits(process, false);
	while (orma_unwind_process_load(process, pc) == -EAGAIN)
		usleep(1000);
	early = orma_unwind_mapping_ref(orma_unwind_process_find(process, pc));
	CHECK(!early->file);
	CHECK_INT(early->load_error, -ETIMEDOUT);
	uint64_t generation = orma_unwind_process_generation(process);
	CHECK_INT(orma_unwind_process_fork(process, getpid(), &other), 0);
	CHECK_INT(orma_unwind_process_count_ready(process, &pc, 1), 1);
	CHECK(orma_unwind_process_find(process, pc) == early);
	atomic_store(may_begin, true);
	while (!orma_unwind_process_find(process, pc)->file) {
		CHECK_INT(orma_unwind_process_count_ready(process, &pc, 1), 1);
		usleep(1000);
	}
	/* Stacks that were written refer to the mapping without a file. */
	CHECK(!early->file);
	CHECK(orma_unwind_process_generation(process) != generation);
	CHECK_INT(orma_unwind_process_find(process, pc)->load_error, 0);
	CHECK_INT(orma_unwind_process_count_ready(other, &pc, 1), 1);
	CHECK(orma_unwind_process_find(other, pc)->file ==
	      orma_unwind_process_find(process, pc)->file);
	orma_unwind_mapping_unref(early);
	orma_unwind_process_free(other);
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
	munmap(may_begin, 4096);
}

static sem_t may_read;

static int read_map_slowly(int32_t pid, struct orma_perf_map_mark *mark, struct orma_perf_map **ret)
{
	(void)pid;
	mark->size = 1;
	sem_wait(&may_read);
	return orma_perf_map_parse(orma_base_str("1000 20 compiled\n"), ret);
}

ORMA_TEST(a_perf_map_that_hangs_does_not_stop_a_reader)
{
	const struct orma_unwind_files_limits limits = {.read_perf_map = read_map_slowly};
	uint64_t second = ORMA_NS_PER_SEC, now_ns = second, shortest_ns = UINT64_MAX;
	struct orma_unwind_process *other;

	CHECK_INT(sem_init(&may_read, 0, 0), 0);
	CHECK_INT(orma_unwind_files_new(&limits, &files), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &process), 0);
	CHECK_INT(orma_unwind_process_new(files, getpid(), &other), 0);
	CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, second).size, 0);
	/* The first wait has used up the half second that all of them have together. A busy machine
	 * may stop this thread for longer, but not each time. */
	for (int i = 0; i < 5; i++) {
		uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

		CHECK_INT(orma_unwind_process_jit_name(other, 0x1010, now_ns).size, 0);
		now_ns += 2 * second;
		CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, now_ns).size, 0);
		shortest_ns = ORMA_MIN(shortest_ns, orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns);
	}
	CHECK(shortest_ns < ORMA_NS_PER_SEC / 2);
	/* It has its names when it was read, after all. The other one is left. */
	CHECK_INT(sem_post(&may_read), 0);
	CHECK_INT(sem_post(&may_read), 0);
	while (orma_unwind_process_jit_name(process, 0x1010, now_ns).size == 0) {
		now_ns += 2 * second;
		usleep(10000);
	}
	CHECK(orma_base_str_is(orma_unwind_process_jit_name(process, 0x1010, now_ns), "compiled"));
	orma_unwind_process_free(process);
	orma_unwind_process_free(other);
	orma_unwind_files_free(files);
}

static void end(void)
{
	orma_unwind_process_free(process);
	orma_unwind_files_free(files);
}

static int map(uint64_t start, uint64_t end_address, const char *path)
{
	struct orma_process_map record = {
		.start = start,
		.end = end_address,
		.is_executable = path != NULL,
		.path = orma_base_str(path),
	};

	return orma_unwind_process_map(process, &record);
}

/* "START-END path;" of every module. Addresses are in pages. */
static void check_modules(const char *expected)
{
	char text[512] = "";
	struct orma_unwind_space space = orma_unwind_process_space(process, NULL);
	int size = 0;

	for (size_t i = 0; i < space.module_count; i++) {
		const struct orma_unwind_module *module = &space.modules[i];
		struct orma_unwind_mapping *mapping =
			orma_unwind_process_find(process, module->end - 1);

		CHECK(i == 0 || module->start >= space.modules[i - 1].end);
		CHECK(mapping && mapping->start <= module->start && mapping->end >= module->end);
		size += snprintf(text + size, sizeof(text) - (size_t)size, "%llu-%llu %s;",
				 (unsigned long long)module->start >> 12,
				 (unsigned long long)module->end >> 12, mapping->path.data);
	}
	CHECK_STR(text, expected);
}

#define PAGE(number) ((uint64_t)(number) << 12)

ORMA_TEST(a_new_mapping_takes_the_place_of_what_it_overlaps)
{
	begin(1);
	CHECK_INT(map(PAGE(10), PAGE(20), "[a]"), 0);
	CHECK_INT(map(PAGE(30), PAGE(40), "[c]"), 0);
	CHECK_INT(map(PAGE(20), PAGE(30), "[b]"), 0);
	check_modules("10-20 [a];20-30 [b];30-40 [c];");
	CHECK_INT(map(PAGE(12), PAGE(14), "[d]"), 0);
	check_modules("10-12 [a];12-14 [d];14-20 [a];20-30 [b];30-40 [c];");
	CHECK_INT(map(PAGE(13), PAGE(31), "[e]"), 0);
	check_modules("10-12 [a];12-13 [d];13-31 [e];31-40 [c];");
	CHECK_INT(map(PAGE(13), PAGE(31), "[f]"), 0);
	check_modules("10-12 [a];12-13 [d];13-31 [f];31-40 [c];");
	/* Data. */
	CHECK_INT(map(PAGE(20), PAGE(21), NULL), 0);
	check_modules("10-12 [a];12-13 [d];13-20 [f];21-31 [f];31-40 [c];");
	CHECK_INT(orma_unwind_process_unmap(process, PAGE(11), PAGE(50)), 0);
	check_modules("10-11 [a];");
	CHECK_INT(orma_unwind_process_unmap(process, 0, UINT64_MAX), 0);
	check_modules("");
	CHECK_INT(map(PAGE(2), PAGE(2), "[a]"), -EINVAL);
	end();
}

ORMA_TEST(generations_change_only_with_the_mappings)
{
	begin(1);
	CHECK_INT(map(PAGE(10), PAGE(20), "[a]"), 0);
	uint64_t first = orma_unwind_process_generation(process);
	uint64_t id = orma_unwind_process_find(process, PAGE(11))->id;
	CHECK_INT(map(PAGE(10), PAGE(20), "[a]"), 0);
	CHECK_INT(orma_unwind_process_unmap(process, PAGE(20), PAGE(30)), 0);
	CHECK_INT(orma_unwind_process_generation(process), first);
	CHECK_INT(orma_unwind_process_find(process, PAGE(11))->id, id);
	CHECK_INT(map(PAGE(30), PAGE(40), "[b]"), 0);
	CHECK(orma_unwind_process_generation(process) != first);
	CHECK_INT(orma_unwind_process_find(process, PAGE(11))->id, id);
	end();
}

ORMA_TEST(exec_forgets_and_fork_copies)
{
	struct orma_unwind_process *child;

	begin(1);
	CHECK_INT(map(PAGE(10), PAGE(20), "[a]"), 0);
	CHECK_INT(orma_unwind_process_fork(process, 2, &child), 0);
	CHECK(orma_unwind_process_generation(process) != orma_unwind_process_generation(child));
	struct orma_unwind_mapping *mapping =
		orma_unwind_mapping_ref(orma_unwind_process_find(process, PAGE(11)));
	orma_unwind_process_exec(process);
	CHECK(!orma_unwind_process_find(process, PAGE(11)));
	CHECK(orma_unwind_process_find(child, PAGE(11)) == mapping);
	CHECK_INT(orma_unwind_process_pid(child), 2);
	orma_unwind_process_free(child);
	/* A reference outlives both. */
	CHECK_STR(mapping->path.data, "[a]");
	orma_unwind_mapping_unref(mapping);
	end();
}

ORMA_TEST(more_mappings_than_programs_have_are_refused)
{
	int r = 0;
	uint64_t count = 0;

	begin(1);
	for (; r == 0 && count < 100000; count++)
		r = map(PAGE(2 * count + 1), PAGE(2 * count + 2), "[a]");
	CHECK_INT(r, -ENOSPC);
	CHECK_INT(count, 16385);
	/* Cutting one in two needs another one. */
	CHECK_INT(map(PAGE(1), PAGE(2), "[b]"), 0);
	end();
}

ORMA_TEST(a_text_replaces_the_mappings_and_keeps_those_that_are_the_same)
{
	static const char text[] = "1000-2000 r-xp 00000000 00:00 0 [a]\n"
				   "2000-3000 rw-p 00000000 00:00 0 [x]\n"
				   "5000-6000 r-xp 00000000 00:00 0 [b]\n";

	begin(1);
	CHECK_INT(orma_unwind_process_set_maps(process, orma_base_str(text)), 0);
	check_modules("1-2 [a];5-6 [b];");
	uint64_t a = orma_unwind_process_find(process, PAGE(1))->id;
	uint64_t generation = orma_unwind_process_generation(process);
	CHECK_INT(orma_unwind_process_set_maps(process, orma_base_str(text)), 0);
	CHECK_INT(orma_unwind_process_generation(process), generation);
	CHECK_INT(orma_unwind_process_set_maps(process,
					       ORMA_STR("1000-2000 r-xp 00000000 00:00 0 [a]\n"
							"5000-6000 r-xp 00000000 00:00 0 [c]\n")),
		  0);
	check_modules("1-2 [a];5-6 [c];");
	CHECK_INT(orma_unwind_process_find(process, PAGE(1))->id, a);
	CHECK(orma_unwind_process_generation(process) != generation);
	end();
}

/* --- this process ----------------------------------------------------------------------------- */

#define STACK_BYTES 16384

static uint8_t stack_copy[STACK_BYTES] __attribute__((aligned(16)));

static const volatile char *stack_end(void)
{
	pthread_attr_t attr;
	void *start;
	size_t size;

	CHECK_INT(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_INT(pthread_attr_getstack(&attr, &start, &size), 0);
	pthread_attr_destroy(&attr);
	return (const char *)start + size;
}

/* AddressSanitizer guards what lies between the variables of frames. Only the tests of x86-64 use it. */
__attribute__((noinline, unused, no_sanitize("address"))) static struct orma_unwind_result
walk_here(struct orma_unwind_cache *cache, uint64_t *ret, size_t max)
{
	const volatile char *own = __builtin_frame_address(0);
	struct orma_unwind_registers registers = {0};

#if defined(__x86_64__)
	__asm__ volatile("lea 0(%%rip), %0; mov %%rsp, %1; mov %%rbp, %2"
			 : "=r"(registers.pc), "=r"(registers.sp), "=r"(registers.fp));
#endif
	const volatile char *from = own - ((uintptr_t)own - registers.sp);
	size_t size = (size_t)(stack_end() - from);
	size = size < STACK_BYTES ? size : STACK_BYTES;
	for (size_t i = 0; i < size; i++)
		stack_copy[i] = (uint8_t)from[i];
	struct orma_unwind_stack stack = {registers.sp, stack_copy, size};
	return orma_unwind_process_walk(process, cache, &registers, &stack, ret, max);
}

ORMA_TEST(a_walk_loads_the_files_that_it_needs)
{
#if defined(__x86_64__)
	static struct orma_unwind_cache cache;
	uint64_t pcs[64], again[64];

	begin(getpid());
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	struct orma_unwind_result result = walk_here(&cache, pcs, 64);
	CHECK(result.frame_count > 3);
#ifdef __GLIBC__
	/* musl's libc has no rules. */
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK_INT(result.fp_count, 0);
#endif
	struct orma_unwind_mapping *mapping = orma_unwind_process_find(process, pcs[0]);
	CHECK(mapping && mapping->file && mapping->load_error == 0);
	CHECK(strstr(mapping->path.data, "unwind_process"));
	/* The file's own address of the function, by what the loader says. */
	Dl_info info;
	if (dladdr((void *)(uintptr_t)pcs[0], &info))
		CHECK_INT(orma_unwind_mapping_rel_pc(mapping, pcs[0]),
			  pcs[0] - (uint64_t)(uintptr_t)info.dli_fbase);
	CHECK_INT(walk_here(&cache, again, 64).frame_count, result.frame_count);
	CHECK_MEM(again + 2, 8, pcs + 2, 8);
	/* Only what the walk went through is loaded, and stays open. */
	CHECK(orma_unwind_files_facts(files).file_count <= 3);
	CHECK_INT(orma_unwind_files_facts(files).open_count,
		  orma_unwind_files_facts(files).file_count);
	orma_unwind_process_exec(process);
	CHECK_INT(orma_unwind_files_facts(files).open_count, 0);
	end();
#else
	orma_test_skip("registers of this machine");
#endif
}

ORMA_TEST(the_vdso_is_loaded_from_memory)
{
	struct orma_unwind_space space;
	uint64_t vdso = 0;

	begin(getpid());
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	space = orma_unwind_process_space(process, NULL);
	for (size_t i = 0; i < space.module_count; i++) {
		uint64_t at = space.modules[i].start;
		if (orma_base_str_is(orma_unwind_process_find(process, at)->path, "[vdso]"))
			vdso = at;
	}
	if (vdso == 0)
		orma_test_skip("a vDSO");
	struct orma_unwind_mapping *mapping = orma_unwind_process_find(process, vdso);
	CHECK_INT(mapping->load_error, 0);
	CHECK(mapping->file && mapping->file->table && mapping->build_id_size > 0);
	end();
}

#if defined(__x86_64__)
/* Waits until a file has been read. */
static void wait_for_files(void)
{
	struct pollfd wait = {.fd = orma_unwind_files_event_fd(files), .events = POLLIN};
	uint64_t count;

	CHECK_INT(poll(&wait, 1, 20000), 1);
	CHECK_INT(read(wait.fd, &count, sizeof(count)), sizeof(count));
}
#endif

ORMA_TEST(a_process_that_does_not_wait_is_walked_when_its_files_are_there)
{
#if defined(__x86_64__)
	uint64_t pcs[64];
	unsigned turns = 0;

	begin(getpid());
	orma_unwind_process_set_waits(process, false);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	struct orma_unwind_result result = walk_here(NULL, pcs, 64);
	CHECK_INT(result.end, ORMA_UNWIND_END_PENDING);
	CHECK_INT(result.frame_count, 1);
	for (; result.end == ORMA_UNWIND_END_PENDING; turns++) {
		wait_for_files();
		result = walk_here(NULL, pcs, 64);
	}
	CHECK(turns >= 2 && result.frame_count > 3);
	CHECK_INT(orma_unwind_process_count_ready(process, pcs, result.frame_count),
		  result.frame_count);
	CHECK(orma_unwind_process_find(process, pcs[0])->file);
	end();
#else
	orma_test_skip("registers of this machine");
#endif
}

ORMA_TEST(mappings_that_go_while_their_files_are_read_leave_nothing)
{
	const uint64_t pc = (uint64_t)(uintptr_t)getpid;

	begin(getpid());
	orma_unwind_process_set_waits(process, false);
	CHECK_INT(orma_unwind_process_read_maps(process), 0);
	CHECK_INT(orma_unwind_process_load(process, pc), -EAGAIN);
	CHECK(orma_unwind_process_count_ready(process, &pc, 1) == 0 ||
	      orma_unwind_process_find(process, pc)->file);
	end();
}

ORMA_TEST(a_walk_without_memory_ends_where_it_is)
{
#if defined(__x86_64__)
	uint64_t pcs[64];

	for (uint64_t nth = 1;; nth++) {
		begin(getpid());
		CHECK_INT(orma_unwind_process_read_maps(process), 0);
		orma_base_alloc_fail_nth(nth);
		struct orma_unwind_result result = walk_here(NULL, pcs, 64);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		CHECK(result.frame_count >= 1);
		if (!has_failed)
			CHECK(result.end != ORMA_UNWIND_END_PENDING);
		end();
		if (!has_failed || nth > 200) {
			CHECK(nth > 1);
			break;
		}
	}
#endif
}

/* --- names of JIT compilers ------------------------------------------------------------------- */

static void write_map(const char *text)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

ORMA_TEST(the_process_names_its_own_code)
{
	const uint64_t second = 1000000000;
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	begin(getpid());
	CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, second).size, 0);
	write_map("1000 20 first\n");
	/* It is not read again at once. */
	CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, second + 1).size, 0);
	CHECK(orma_base_str_is(orma_unwind_process_jit_name(process, 0x1010, 3 * second), "first"));
	write_map("1000 20 first\n2000 10 second\n");
	CHECK(orma_base_str_is(orma_unwind_process_jit_name(process, 0x2000, 5 * second),
			       "second"));
	CHECK_INT(orma_unwind_process_jit_name(process, 0x2010, 7 * second).size, 0);
	CHECK_INT(unlink(path), 0);
	/* A link would be followed with our rights. */
	CHECK_INT(symlink("/etc/passwd", path), 0);
	orma_unwind_process_exec(process);
	CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, 9 * second).size, 0);
	CHECK_INT(unlink(path), 0);
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK_INT(orma_unwind_process_jit_name(process, 0x1010, 11 * second).size, 0);
	CHECK_INT(unlink(path), 0);
	end();
}
