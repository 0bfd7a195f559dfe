/* SPDX-License-Identifier: Apache-2.0
 * view_fixture.h - a view of tables that a test fills, and requests for tiles.
 */
#ifndef ORMA_TESTS_UNIT_VIEW_VIEW_FIXTURE_H
#define ORMA_TESTS_UNIT_VIEW_VIEW_FIXTURE_H

#include "view/tile_request.h"

/* Tables without a trace: nothing can be asked with SQL. */
struct orma_trace_database *view_fixture_new(void);
/* Adds a row whose other cells are NULL; `cells` are pairs of a column and its cell, ended by -1. */
void view_fixture_add(struct orma_trace_database *database, enum orma_table_id table,
		      const int64_t *cells);
#define VIEW_FIXTURE_ADD(database, table, ...)                                                     \
	view_fixture_add(database, table, (const int64_t[]){__VA_ARGS__, -1})
/* Seals the tables, and makes the lanes. */
void view_fixture_open(struct orma_trace_database *database, int64_t start_ns, int64_t end_ns,
		       struct orma_view *ret);
void view_fixture_close(struct orma_view *view);

/* Makes a view of a trace, given as the text of a Trace message. */
struct orma_view *view_fixture_open_trace(const char *text);
void view_fixture_close_trace(struct orma_view *view);
/* Asks a route of the table, and returns the answer as text, which lives until the next call. The test fails if it is refused. */
const char *view_fixture_ask(struct orma_view *view, const char *route, const char *request);
/*
 * Runs the statement that follows `begin` in an answer, and compares what it yields, as CSV without its header, with what is
 * expected.
 */
void view_fixture_check_sql(struct orma_view *view, const char *answer, const char *begin,
			    const char *expected);
/* Checks that the route refuses the request with this error, and a message that has this part. */
void view_fixture_refuse(struct orma_view *view, const char *route, const char *request,
			 int expected, const char *part);

/* Checks that the route reports each allocation that fails. Returns how many there are. */
uint64_t view_fixture_fail_allocations(struct orma_view *view, const char *route,
				       const char *request);

/* A generator of numbers that are the same in every run. */
uint64_t view_fixture_random(uint64_t *state);

struct view_fixture_tile {
	uint32_t lane, zero;
	uint64_t tile;
};
/* The bytes of a request, which the caller frees with orma_base_buf_done(). */
struct orma_buf view_fixture_request(uint32_t level, uint32_t max_items,
				     const struct view_fixture_tile *tiles, uint32_t count);
static inline struct orma_str view_fixture_str(const struct orma_buf *buf)
{
	return (struct orma_str){(const char *)buf->data, buf->size};
}

/* The answer's section of a tile, and its items. */
struct view_fixture_section {
	uint32_t lane, count;
	uint64_t tile;
	const void *items;
};
/* Checks an answer's head and size, and finds a section. */
struct view_fixture_section view_fixture_section(const struct orma_buf *answer, size_t item_bytes,
						 uint32_t tiles, uint32_t idx);

#endif
