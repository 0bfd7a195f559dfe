/* SPDX-License-Identifier: Apache-2.0
 * ftrace_feed.c - stands for the kernel: writes pages of scheduling events at a given rate.
 *
 *	bench_ftrace_feed FOLDER formats             writes the formats of events, as tracefs has them
 *	bench_ftrace_feed FOLDER CPUS RATE SECONDS   writes to FOLDER/per_cpu/cpu0 ... /trace_pipe_raw, prints "EVENTS LOST"
 *	bench_ftrace_feed FOLDER read CPUS           reads from there every 50 ms, and does nothing with it, until it is killed
 *
 * Each trace_pipe_raw is a FIFO or an ordinary file. A FIFO that is full loses the page, as the kernel's ring buffer loses
 * events, and the next page says so in its header. A FIFO holds 1 MiB, which is what an unprivileged process gets; the
 * kernel's buffer is usually larger. A file loses nothing.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "ftrace_pages.h"

enum { CPUS_MAX = 64, PAGES = 256, FIFO_BYTES = 1 << 20 };

/* A page, and when it ends if it begins at 0. */
static struct {
	uint8_t bytes[BENCH_PAGE_BYTES];
	uint64_t events, span_ns;
} pages[PAGES];

struct cpu {
	int fd;
	uint32_t next_page;
	uint64_t now_ns; /* the end of the last page */
	bool has_lost;
};

static uint64_t fed, lost;

static uint64_t boot_ns(void)
{
	struct timespec time;

	clock_gettime(CLOCK_BOOTTIME, &time);
	return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void make_pages(uint32_t gap_ns)
{
	struct bench_page at = {.random = 1, .gap_ns = gap_ns};

	for (size_t i = 0; i < PAGES; i++) {
		uint64_t before = at.events;

		bench_fill_page(&at, pages[i].bytes, 0, bench_put_sched);
		pages[i].events = at.events - before;
		pages[i].span_ns = at.span_ns;
	}
}

static int open_cpu(const char *folder, unsigned number, int flags)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/per_cpu/cpu%u/trace_pipe_raw", folder, number);
	int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	return fd;
}

static void feed_page(struct cpu *cpu)
{
	uint8_t *page = pages[cpu->next_page].bytes;
	uint64_t events = pages[cpu->next_page].events, commit;

	memcpy(&commit, page + 8, 8);
	commit = (commit & ~BENCH_PAGE_LOST) | (cpu->has_lost ? BENCH_PAGE_LOST : 0);
	memcpy(page, &cpu->now_ns, 8);
	memcpy(page + 8, &commit, 8);
	cpu->has_lost = write(cpu->fd, page, BENCH_PAGE_BYTES) != BENCH_PAGE_BYTES;
	if (cpu->has_lost)
		lost += events;
	fed += events;
	cpu->now_ns += pages[cpu->next_page].span_ns;
	cpu->next_page = (cpu->next_page + 1) % PAGES;
}

/* The end of a page is the time when it is written, on the clock that its events have. */
static void feed(struct cpu *cpus, unsigned count, unsigned seconds)
{
	const struct timespec turn = {.tv_nsec = 1000000};
	uint64_t end_ns = boot_ns() + seconds * UINT64_C(1000000000), now_ns;

	while ((now_ns = boot_ns()) < end_ns) {
		for (unsigned i = 0; i < count; i++) {
			while (cpus[i].now_ns + pages[cpus[i].next_page].span_ns <= now_ns)
				feed_page(&cpus[i]);
		}
		nanosleep(&turn, NULL);
	}
}

static void read_all(const char *folder, unsigned count)
{
	const struct timespec period = {.tv_nsec = 50000000};
	static uint8_t page[BENCH_PAGE_BYTES];
	int fds[CPUS_MAX];

	for (unsigned i = 0; i < count; i++)
		fds[i] = open_cpu(folder, i, O_RDONLY);
	for (;; nanosleep(&period, NULL)) {
		for (unsigned i = 0; i < count; i++)
			while (read(fds[i], page, sizeof(page)) > 0)
				continue;
	}
}

static int feed_all(const char *folder, unsigned count, unsigned rate, unsigned seconds)
{
	struct cpu cpus[CPUS_MAX] = {0};

	make_pages((uint32_t)(UINT64_C(1000000000) * count / rate));
	for (unsigned i = 0; i < count; i++) {
		/* With a reading end of its own a FIFO can be opened before there is a reader. */
		cpus[i].fd = open_cpu(folder, i, O_RDWR);
		cpus[i].next_page = i % PAGES;
		cpus[i].now_ns = boot_ns();
		/* Fails for a file. */
		(void)fcntl(cpus[i].fd, F_SETPIPE_SZ, FIFO_BYTES);
	}
	feed(cpus, count, seconds);
	/* The reader must have the rest before the FIFOs lose it. */
	sleep(1);
	printf("%llu %llu\n", (unsigned long long)fed, (unsigned long long)lost);
	return 0;
}

static unsigned number_of(const char *text, unsigned max)
{
	unsigned long number = strtoul(text, NULL, 10);

	return number <= max ? (unsigned)number : 0;
}

int main(int argc, char **argv)
{
	unsigned cpus = 0, rate = 0, seconds = 0;

	if (argc == 3 && strcmp(argv[2], "formats") == 0) {
		bench_put_formats(argv[1]);
		return 0;
	}
	if (argc == 4 && strcmp(argv[2], "read") == 0 && (cpus = number_of(argv[3], CPUS_MAX)) > 0)
		read_all(argv[1], cpus);
	if (argc == 5) {
		cpus = number_of(argv[2], CPUS_MAX);
		rate = number_of(argv[3], 100000000);
		seconds = number_of(argv[4], 3600);
	}
	if (cpus > 0 && rate > 0 && seconds > 0)
		return feed_all(argv[1], cpus, rate, seconds);
	fprintf(stderr,
		"usage: bench_ftrace_feed FOLDER formats | read CPUS | CPUS RATE SECONDS\n");
	return 2;
}
