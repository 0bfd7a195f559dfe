/* SPDX-License-Identifier: Apache-2.0
 * heap_oracle.c - a program whose allocations are known: a hundred functions, each with a size and a number of blocks of its
 * own, of which it frees every fourth one.
 *
 *   heap_oracle FACTOR      allocates FACTOR times as many blocks, and prints a line for each function:
 *                           name, blocks, bytes, freed blocks, freed bytes
 *   heap_oracle FACTOR FILE the same, and then waits until FILE exists
 *   heap_oracle --overrun   allocates and frees while its parent, the profiler, is stopped, until shared memory is full
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

static void allocate(unsigned site, unsigned count)
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

static int overrun(void)
{
	kill(getppid(), SIGSTOP);
	for (unsigned i = 0; i < 200000; i++)
		free(sites[0](size_of(0)));
	return kill(getppid(), SIGCONT);
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--overrun") == 0)
		return overrun();
	unsigned factor = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

	for (unsigned site = 0; site < 100; site++) {
		unsigned count = factor * (20 + site);
		unsigned freed = count / 4;
		allocate(site, count);
		printf("site_%02u,%u,%zu,%u,%zu\n", site, count, count * size_of(site), freed,
		       freed * size_of(site));
	}
	fflush(stdout);
	while (argc > 2 && access(argv[2], F_OK) < 0)
		usleep(2000);
	return argc > 3 ? atoi(argv[3]) : 0;
}
