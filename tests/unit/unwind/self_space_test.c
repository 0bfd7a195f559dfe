/* SPDX-License-Identifier: Apache-2.0
 * self_space_test.c - walks of this process's own threads, while libraries come and go.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <execinfo.h>
#endif

#include "base/alloc.h"
#include "base/macros.h"
#include "harness.h"
#include "unwind/self_modules.h"
#include "unwind/self_space.h"

#if defined(__x86_64__) || defined(__aarch64__)

#define FRAMES_MAX 200

static __thread struct orma_self_stack stack;

__attribute__((noinline)) static int walk(uint64_t *ret, size_t max,
					  struct orma_self_frames *frames)
{
	struct orma_unwind_registers registers;

	orma_self_registers(&registers);
	return orma_self_walk(&registers, &stack, ret, max, frames);
}

/* musl's libc has no rules, so all stacks end in it. */
static bool is_whole(int r)
{
#ifdef __GLIBC__
	return r == 0;
#else
	return r == 0 || r == -ENODATA;
#endif
}

/* Walks, and builds what is missing. */
static int walk_surely(uint64_t *ret, size_t max, struct orma_self_frames *frames)
{
	int r = -ESTALE;

	for (int i = 0; i < 16 && r == -ESTALE; i++) {
		r = walk(ret, max, frames);
		if (r == -ESTALE)
			CHECK(orma_self_space_refresh() >= 0);
	}
	return r;
}

static void begin(void)
{
	CHECK_INT(orma_self_stack_find(&stack), 0);
	CHECK(stack.low > 0 && stack.high > stack.low);
#ifndef __GLIBC__
	/* musl-gcc's static programs have no .eh_frame_hdr. */
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;
	if (walk_surely(pcs, FRAMES_MAX, &frames) == -ENODATA)
		orma_test_skip("rules of this program");
#endif
}

static uint64_t ours[FRAMES_MAX];
static struct orma_self_frames result;
static int walk_result;
static void *theirs[FRAMES_MAX];
static int their_count;

static int compare_in_qsort(const void *left, const void *right)
{
	walk_result = walk_surely(ours, FRAMES_MAX, &result);
#ifdef __GLIBC__
	their_count = backtrace(theirs, FRAMES_MAX);
#endif
	return *(const char *)left - *(const char *)right;
}

/* NOLINTNEXTLINE(misc-no-recursion): a deep stack is what the test needs */
__attribute__((noinline)) static int go_down(unsigned depth)
{
	char letters[] = "ba";

	if (depth > 0)
		return go_down(depth - 1) + 1;
	qsort(letters, 2, 1, compare_in_qsort);
	return letters[0];
}

/* How far a walk goes back from the address where a function goes on, to be inside of its call. */
#ifdef __aarch64__
enum { CALL_BYTES = 4 };
#else
enum { CALL_BYTES = 1 };
#endif

ORMA_TEST(a_deep_stack_through_libc_is_that_of_backtrace)
{
	begin();
	go_down(40);
#ifndef __GLIBC__
	orma_test_skip("backtrace()");
#endif
	CHECK_INT(walk_result, 0);
	CHECK_INT(result.end, ORMA_UNWIND_END_OUTERMOST);
	CHECK(result.count > 45 && result.fp_count == 0);
	/* From the frame of compare_in_qsort() on; there the two calls differ. */
	int skipped = (int)result.count - their_count;
	CHECK(skipped >= 0 && skipped <= 3);
	for (int i = 2; i < their_count; i++)
		CHECK_INT(ours[i + skipped], (uint64_t)(uintptr_t)theirs[i] - CALL_BYTES);
	struct orma_self_module module;
	CHECK(orma_self_space_find(ours[0], &module));
	CHECK(module.serial > 0 && module.build_id_size <= ORMA_ELF_BUILD_ID_MAX);
	CHECK(strstr(module.path, "self_space_test"));
	CHECK(module.start <= ours[0] && module.end > ours[0]);
	Dl_info info;
	CHECK(dladdr((void *)(uintptr_t)ours[0], &info));
	CHECK_INT(ours[0] - module.start + module.offset + module.load_bias,
		  ours[0] - (uint64_t)(uintptr_t)info.dli_fbase);
	CHECK(!orma_self_space_find(1, &module));
	/* Only the program and libc were walked through. */
	CHECK(orma_self_space_facts().table_count <= 3);
	CHECK(orma_self_space_facts().module_count >= 3);
}

ORMA_TEST(a_refresh_without_changes_returns_0)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	begin();
	CHECK_INT(walk(pcs, FRAMES_MAX, &frames), -ESTALE);
	CHECK(is_whole(walk_surely(pcs, FRAMES_MAX, &frames)));
	CHECK_INT(orma_self_space_refresh(), 0);
	CHECK_INT(walk(pcs, 3, &frames), 0);
	CHECK_INT(frames.end, ORMA_UNWIND_END_FRAMES_MAX);
	CHECK_INT(frames.count, 3);
}

ORMA_TEST(the_generation_changes_when_a_library_goes)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	begin();
	CHECK(is_whole(walk_surely(pcs, FRAMES_MAX, &frames)));
	uint64_t generation = frames.generation;
	/* A library that nothing in this program needs, so that it goes. */
	CHECK(!dlopen("libexpat.so.1", RTLD_NOW | RTLD_NOLOAD));
	void *library = dlopen("libexpat.so.1", RTLD_NOW);
	if (!library)
		orma_test_skip("libexpat");
	CHECK_INT(orma_self_space_refresh(), 1);
	CHECK(is_whole(walk(pcs, FRAMES_MAX, &frames)));
	CHECK_INT(frames.generation, generation);
	struct orma_self_module module;
	uint64_t address = (uint64_t)(uintptr_t)dlsym(library, "XML_ParserCreate");
	CHECK(orma_self_space_find(address, &module) && strstr(module.path, "expat"));
	CHECK_INT(dlclose(library), 0);
	if (orma_self_space_refresh() == 0)
		orma_test_skip("a C library that unloads");
	CHECK(!orma_self_space_find(address, &module));
	CHECK(is_whole(walk(pcs, FRAMES_MAX, &frames)));
	CHECK(frames.generation != generation);
}

/* --- other stacks ----------------------------------------------------------------------------- */

static int signal_result;

static void handle_on_other_stack(int number)
{
	uint64_t pcs[8];
	struct orma_self_frames frames;

	(void)number;
	signal_result = walk(pcs, 8, &frames);
}

ORMA_TEST(a_stack_that_is_not_the_threads_is_not_read)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;
	stack_t other = {.ss_size = 65536};
	struct sigaction action = {.sa_handler = handle_on_other_stack, .sa_flags = SA_ONSTACK};

	begin();
	CHECK(is_whole(walk_surely(pcs, FRAMES_MAX, &frames)));
	other.ss_sp = malloc(other.ss_size);
	CHECK_INT(sigaltstack(&other, NULL), 0);
	CHECK_INT(sigaction(SIGUSR1, &action, NULL), 0);
	CHECK_INT(raise(SIGUSR1), 0);
	CHECK_INT(signal_result, -EFAULT);
	other.ss_flags = SS_DISABLE;
	CHECK_INT(sigaltstack(&other, NULL), 0);
	free(other.ss_sp);
	/* Bounds that are too tight end the walk. */
	stack.high = (uintptr_t)__builtin_frame_address(0) + 16;
	CHECK_INT(walk(pcs, FRAMES_MAX, &frames), -EFAULT);
	CHECK(frames.count > 0);
}

/* --- many threads ----------------------------------------------------------------------------- */

static _Atomic bool must_end;
static _Atomic uint64_t walk_count, busy_count, signal_count;

static void *walk_always(void *arg)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	(void)arg;
	CHECK_INT(orma_self_stack_find(&stack), 0);
	while (!atomic_load(&must_end)) {
		int r = walk(pcs, FRAMES_MAX, &frames);

		CHECK(is_whole(r) || r == -ESTALE || r == -EBUSY);
		if (r == -ESTALE)
			CHECK(orma_self_space_refresh() >= 0);
		atomic_fetch_add(is_whole(r) ? &walk_count : &busy_count, 1);
	}
	return NULL;
}

static void handle_timer(int number)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	(void)number;
	if (stack.high > 0 && walk(pcs, FRAMES_MAX, &frames) == 0)
		atomic_fetch_add(&signal_count, 1);
}

ORMA_TEST(threads_and_signals_walk_while_libraries_come_and_go)
{
	pthread_t threads[6];
	struct sigaction action = {.sa_handler = handle_timer, .sa_flags = SA_RESTART};
	struct itimerval interval = {{0, 500}, {0, 500}};

	begin();
	CHECK_INT(sigaction(SIGPROF, &action, NULL), 0);
	CHECK_INT(setitimer(ITIMER_PROF, &interval, NULL), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		CHECK_INT(pthread_create(&threads[i], NULL, walk_always, NULL), 0);
	/* The threads may begin late. */
	for (int i = 0; i < 60 || atomic_load(&walk_count) <= 100; i++) {
		void *library = dlopen("libexpat.so.1", RTLD_NOW);
		const char *(*get_version)(void) = NULL;

		if (library)
			*(void **)&get_version = dlsym(library, "XML_ExpatVersion");
		if (get_version)
			CHECK(get_version() != NULL);
		CHECK(orma_self_space_refresh() >= 0);
		if (library)
			dlclose(library);
		CHECK(orma_self_space_refresh() >= 0);
	}
	atomic_store(&must_end, true);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(threads); i++)
		CHECK_INT(pthread_join(threads[i], NULL), 0);
	interval = (struct itimerval){0};
	CHECK_INT(setitimer(ITIMER_PROF, &interval, NULL), 0);
	CHECK(atomic_load(&walk_count) > 100);
}

/* Allocates while the stack is walked, as an allocation function would. */
static sigjmp_buf loop;
static volatile unsigned jumps;

static void jump(int signal)
{
	(void)signal;
	jumps = jumps + 1;
	siglongjmp(loop, 1);
}

static void walk_until_jumps(unsigned count)
{
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	signal(SIGALRM, jump);
	sigsetjmp(loop, 1);
	if (jumps == 0)
		CHECK_INT(setitimer(ITIMER_REAL, &often, NULL), 0);
	while (jumps < count)
		walk(pcs, FRAMES_MAX, &frames);
	CHECK_INT(setitimer(ITIMER_REAL, &never, NULL), 0);
}

ORMA_TEST(a_walk_that_a_signal_handler_jumps_out_of_gives_its_walker_back)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	begin();
	CHECK(is_whole(walk_surely(pcs, FRAMES_MAX, &frames)));
	walk_until_jumps(500);
	int r = walk_surely(pcs, FRAMES_MAX, &frames);
	if (!is_whole(r))
		orma_test_fail(__FILE__, __LINE__, "a walk after the jumps: %s", strerror(-r));
}

ORMA_TEST(a_child_of_a_fork_walks_with_the_tables_of_its_parent)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	begin();
	CHECK(is_whole(walk_surely(pcs, FRAMES_MAX, &frames)));
	pid_t pid = fork();
	if (pid == 0) {
		orma_self_space_forked();
		int r = walk(pcs, FRAMES_MAX, &frames);
		_exit(is_whole(r) && frames.count > 1 && orma_self_space_refresh() == 0 ? 0 : 1);
	}
	int status;
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK_INT(status, 0);
}

static _Atomic bool is_running, is_done;

static int take_time(struct dl_phdr_info *info, size_t size, void *ctx)
{
	(void)info;
	(void)size;
	for (volatile unsigned i = 0; i < 1000; i++)
		;
	return ctx != NULL;
}

static void *visit_modules(void *unused)
{
	for (; !is_done; is_running = true)
		(void)orma_self_modules_visit(take_time, NULL);
	return unused;
}

/* glibc leaves the loader's lock as it is in the child. */
ORMA_TEST(a_fork_does_not_find_the_loaders_lock_taken_by_a_visit)
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, visit_modules, NULL), 0);
	while (!is_running)
		sched_yield();
	for (unsigned i = 0; i < 50; i++) {
		pid_t child = fork();
		int status;

		if (child == 0) {
			alarm(10);
			dl_iterate_phdr(take_time, NULL);
			(void)orma_self_modules_visit(take_time, NULL);
			_exit(0);
		}
		CHECK_INT(waitpid(child, &status, 0), child);
		CHECK_INT(status, 0);
	}
	is_done = true;
	CHECK_INT(pthread_join(thread, NULL), 0);
}

static void *refresh_modules(void *unused)
{
	for (; !is_done; is_running = true)
		CHECK(orma_self_space_refresh() >= 0);
	return unused;
}

static int find_inside(struct dl_phdr_info *info, size_t size, void *ctx)
{
	struct orma_self_module module;

	(void)info;
	(void)size;
	(void)orma_self_space_find((uintptr_t)find_inside, &module);
	(void)orma_self_space_refresh();
	return ctx != NULL;
}

ORMA_TEST(no_thread_waits_for_the_loaders_lock_with_the_mutex)
{
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, refresh_modules, NULL), 0);
	while (!is_running)
		sched_yield();
	alarm(60);
	for (unsigned i = 0; i < 5000; i++)
		dl_iterate_phdr(find_inside, NULL);
	alarm(0);
	is_done = true;
	CHECK_INT(pthread_join(thread, NULL), 0);
}

ORMA_TEST(a_refresh_without_memory_changes_nothing)
{
	uint64_t pcs[FRAMES_MAX];
	struct orma_self_frames frames;

	begin();
	for (uint64_t nth = 1; nth < 500; nth++) {
		orma_base_alloc_fail_nth(nth);
		int r = -ESTALE;
		for (int i = 0; i < 8 && r == -ESTALE; i++) {
			r = walk(pcs, FRAMES_MAX, &frames);
			if (r == -ESTALE && orma_self_space_refresh() == -ENOMEM)
				break;
		}
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		if (!has_failed)
			break;
	}
	/* A table that could not be built leaves frame pointers; then a stack may be cut. */
	CHECK(frames.count > 0);
}

#else
ORMA_TEST(a_walk_on_another_machine_is_not_supported)
{
	struct orma_unwind_registers registers;
	struct orma_self_stack stack = {0, UINTPTR_MAX};
	struct orma_self_frames frames;
	uint64_t pcs[4];

	orma_self_registers(&registers);
	CHECK_INT(orma_self_walk(&registers, &stack, pcs, 4, &frames), -ENOTSUP);
	CHECK_INT(orma_self_space_refresh(), -ENOTSUP);
}
#endif
