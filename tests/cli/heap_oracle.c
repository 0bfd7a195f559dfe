/* SPDX-License-Identifier: Apache-2.0
 * heap_oracle.c - a program whose allocations are known: a hundred functions, each with a size and a number of blocks of its
 * own, of which it frees every fourth one.
 *
 *   heap_oracle FACTOR      allocates FACTOR times as many blocks, and prints a line for each function:
 *                           name, blocks, bytes, freed blocks, freed bytes
 *   heap_oracle FACTOR FILE the same, and then waits until FILE exists
 *   heap_oracle --heaps     reports allocations of 254 heaps of its own, and prints a line for each that is recorded: name, blocks, bytes
 *   heap_oracle --fibers    does the same as FACTOR 1, on stacks of its own, between which it changes after each function
 *   heap_oracle --until FILE  prints a line, and allocates and frees blocks in the first function until FILE exists
 *   heap_oracle --flood FILE  the same, 200,000 times; makes the folder FILE after the first ones, and waits until it is gone
 *   heap_oracle --overrun   allocates and frees while its parent, the profiler, is stopped, until shared memory is full
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>

/* Blocks that stay. Not freed at the end, so that they are what a leak report shows. */
static void *kept;

/* Each function calls malloc() itself, and does something behind it, so that it has a frame. */
#define SITE(number)                                                                               \
	__attribute__((noinline)) static void *site_##number(size_t size)                          \
	{                                                                                          \
		void **block = malloc(size);                                                       \
		__asm__ volatile("" : : "r"(block) : "memory");                                    \
		return block;                                                                      \
	}
#define TEN_SITES(ten)                                                                             \
	SITE(ten##0)                                                                               \
	SITE(ten##1)                                                                               \
	SITE(ten##2)                                                                               \
	SITE(ten##3)                                                                               \
	SITE(ten##4)                                                                               \
	SITE(ten##5)                                                                               \
	SITE(ten##6)                                                                               \
	SITE(ten##7)                                                                               \
	SITE(ten##8)                                                                               \
	SITE(ten##9)
#define TEN_NAMES(ten)                                                                             \
	site_##ten##0, site_##ten##1, site_##ten##2, site_##ten##3, site_##ten##4, site_##ten##5,  \
		site_##ten##6, site_##ten##7, site_##ten##8, site_##ten##9

/* clang-format off */
TEN_SITES(0) TEN_SITES(1) TEN_SITES(2) TEN_SITES(3) TEN_SITES(4)
TEN_SITES(5) TEN_SITES(6) TEN_SITES(7) TEN_SITES(8) TEN_SITES(9)
static void *(*const sites[])(size_t) = {
	TEN_NAMES(0), TEN_NAMES(1), TEN_NAMES(2), TEN_NAMES(3), TEN_NAMES(4),
	TEN_NAMES(5), TEN_NAMES(6), TEN_NAMES(7), TEN_NAMES(8), TEN_NAMES(9),
};
/* clang-format on */

static size_t size_of(unsigned site)
{
	return 200 + (size_t)site * 37;
}

static inline __attribute__((always_inline)) void allocate(unsigned site, unsigned count)
{
	for (unsigned i = 0; i < count; i++) {
		void **block = sites[site](size_of(site));
		if (i % 4 == 3) {
			free(block);
		} else {
			*block = kept;
			kept = block;
		}
	}
}

/* Prints what the function is to have done. This one and the one above have no frames. */
static inline __attribute__((always_inline)) void allocate_and_tell(unsigned site, unsigned factor)
{
	unsigned count = factor * (20 + site), freed = count / 4;

	allocate(site, count);
	printf("site_%02u,%u,%zu,%u,%zu\n", site, count, count * size_of(site), freed,
	       freed * size_of(site));
}

/* musl has no functions for contexts. */
#ifdef __GLIBC__
enum { FIBERS = 4, FIBER_BYTES = 65536 };
static ucontext_t scheduler, fibers[FIBERS];
static unsigned next_site;

static void run_fiber(void)
{
	while (next_site < 100) {
		allocate_and_tell(next_site++, 1);
		swapcontext(&fibers[(next_site - 1) % FIBERS], &scheduler);
	}
}

/* Each stack is a mapping of its own, so that a reader beyond its end finds nothing. */
static int run_fibers(void)
{
	for (unsigned i = 0; i < FIBERS; i++) {
		char *stack = mmap(NULL, FIBER_BYTES + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
				   -1, 0);
		if (stack == MAP_FAILED || getcontext(&fibers[i]) != 0 ||
		    mprotect(stack + 4096, FIBER_BYTES, PROT_READ | PROT_WRITE) != 0)
			return 1;
		fibers[i].uc_stack.ss_sp = stack + 4096;
		fibers[i].uc_stack.ss_size = FIBER_BYTES;
		fibers[i].uc_link = &scheduler;
		makecontext(&fibers[i], run_fiber, 0);
	}
	while (next_site < 100)
		swapcontext(&scheduler, &fibers[next_site % FIBERS]);
	return 0;
}
#else
static int run_fibers(void)
{
	return 1;
}
#endif

static int allocate_until(const char *path)
{
	puts("it runs");
	fflush(stdout);
	while (access(path, F_OK) < 0) {
		/* A thread looks for a session after a MiB. */
		for (unsigned i = 0; i < 200; i++)
			free(sites[0](size_of(0)));
		usleep(1000);
	}
	return 0;
}

static int flood(const char *path)
{
	for (unsigned i = 0; i < 200000; i++) {
		free(sites[0](size_of(0)));
		if (i != 1000)
			continue;
		mkdir(path, 0700);
		while (access(path, F_OK) == 0)
			usleep(1000);
	}
	return 0;
}

static int overrun(void)
{
	kill(getppid(), SIGSTOP);
	for (unsigned i = 0; i < 200000; i++)
		free(sites[0](size_of(0)));
	return kill(getppid(), SIGCONT);
}

/* The functions of orma-heap/heap_profile.h, which are there when the profiler is. */
static struct {
	void *(*make)(const char *);
	uint32_t (*add)(void *);
	bool (*report)(uint32_t heap, uint64_t block, uint64_t size);
} profiler;

static void find(const char *name, void *ret_function)
{
	void *address = dlsym(RTLD_DEFAULT, name);

	if (!address)
		exit(1);
	memcpy(ret_function, &address, sizeof(address));
}

/* The last heap is the last one that the profiler takes into account. */
static int report_heaps(void)
{
	enum { HEAPS = 254 };
	uint32_t heaps[HEAPS];
	char name[32];

	find("orma_heap_new", &profiler.make);
	find("orma_heap_register", &profiler.add);
	find("orma_heap_report_allocation", &profiler.report);
	for (unsigned i = 0; i < HEAPS; i++) {
		snprintf(name, sizeof(name), "oracle.%03u", i + 1);
		heaps[i] = profiler.add(profiler.make(name));
	}
	for (unsigned i = 0; i < 2000 && !profiler.report(heaps[HEAPS - 1], 1, 1); i++)
		usleep(10000);
	for (unsigned i = 0; i < HEAPS; i++) {
		unsigned count = 1 + i % 7;
		for (unsigned j = 0; j < count; j++)
			if (!profiler.report(heaps[i], 2 + j, 1000 + i))
				count = 0;
		if (count > 0)
			printf("oracle.%03u,%u,%u\n", i + 1, count + (i == HEAPS - 1),
			       count * (1000 + i) + (i == HEAPS - 1));
	}
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--heaps") == 0)
		return report_heaps();
	if (argc == 2 && strcmp(argv[1], "--fibers") == 0)
		return run_fibers();
	if (argc == 2 && strcmp(argv[1], "--overrun") == 0)
		return overrun();
	if (argc == 3 && strcmp(argv[1], "--until") == 0)
		return allocate_until(argv[2]);
	if (argc == 3 && strcmp(argv[1], "--flood") == 0)
		return flood(argv[2]);
	unsigned factor = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	for (unsigned site = 0; site < 100; site++)
		allocate_and_tell(site, factor);
	fflush(stdout);
	while (argc > 2 && access(argv[2], F_OK) < 0)
		usleep(2000);
	return argc > 3 ? atoi(argv[3]) : 0;
}
