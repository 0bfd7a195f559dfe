/* SPDX-License-Identifier: Apache-2.0
 * ftrace_pages.h - a made-up tracefs: files of the kernel's, and pages of its ring buffer.
 */
#ifndef ORMA_BENCH_FTRACE_PAGES_H
#define ORMA_BENCH_FTRACE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BENCH_PAGE_BYTES 4096
#define BENCH_PAGE_HEAD  16           /* timestamp and commit */
#define BENCH_PAGE_LOST  (1ull << 31) /* in commit: events before this page are lost */

struct bench_page {
	uint8_t *page;
	size_t used;
	uint32_t random;  /* the state of the generator; not 0 */
	uint32_t gap_ns;  /* the mean time between two events */
	uint64_t span_ns; /* the time of all events of the page */
	uint64_t events;  /* in all pages so far */
};

/* Writes a file below the folder, and makes the folders that it is in. Ends the program on failure. */
void bench_put_file(const char *folder, const char *name, const void *data, size_t size);
/* Writes header_page, and the formats of the events that the benchmarks use. */
void bench_put_formats(const char *folder);

uint32_t bench_random(struct bench_page *at);
/* Stores an event of this size with this id. Returns false when the page is full. */
bool bench_put_event(struct bench_page *at, void *data, size_t size, uint16_t id);
void bench_put_i32(uint8_t *data, size_t offset, int32_t value);
/* Stores a sched_waking and a sched_switch between 24 tasks. Returns false when the page is full. */
bool bench_put_sched(struct bench_page *at);
/* Fills a page with events of one kind. */
void bench_fill_page(struct bench_page *at, uint8_t *page, uint64_t timestamp_ns,
		     bool (*put)(struct bench_page *at));

#endif
