/* SPDX-License-Identifier: Apache-2.0
 * view_fixture.c - fills tables row by row.
 */
#include "view_fixture.h"

#include "base/alloc.h"
#include "harness.h"
#include "unit/answers/trace_fixture.h"

struct orma_trace_database *view_fixture_new(void)
{
	struct orma_trace_database *database = orma_base_zalloc(sizeof(*database));
	CHECK(database);
	CHECK_INT(orma_tables_init(&database->tables, 0, NULL), 0);
	database->importer.sched.states.tables = &database->tables;
	/* The test adds the rows of threads' states, too. */
	database->importer.sched.states.is_direct = true;
	return database;
}

void view_fixture_add(struct orma_trace_database *database, enum orma_table_id table,
		      const int64_t *cells)
{
	struct orma_table *all = &database->tables.all[table];
	int64_t row[32];
	CHECK(all->column_count <= 32);
	for (size_t i = 0; i < all->column_count; i++)
		row[i] = orma_store_null_of(all->specs[i].type);
	for (; *cells >= 0; cells += 2)
		row[cells[0]] = cells[1];
	CHECK_INT(orma_store_table_append(all, row), 0);
}

void view_fixture_open(struct orma_trace_database *database, int64_t start_ns, int64_t end_ns,
		       struct orma_view *ret)
{
	CHECK_INT(orma_tables_seal(&database->tables), 0);
	database->start_ns = start_ns;
	database->end_ns = end_ns;
	*ret = (struct orma_view){.database = database, .generation = 7};
	CHECK_INT(orma_view_state_init(ret), 0);
}

void view_fixture_close(struct orma_view *view)
{
	orma_view_state_done(view);
	orma_tables_done(&view->database->tables);
	orma_base_free(view->database);
}

struct orma_view *view_fixture_open_trace(const char *text)
{
	struct orma_view *view = NULL;
	CHECK_INT(orma_view_new(fixture_open(text), "a.pftrace", &view), 0);
	return view;
}

void view_fixture_close_trace(struct orma_view *view)
{
	struct orma_trace_database *database = view->database;
	orma_view_free(view);
	fixture_close(database);
}

static int ask(struct orma_view *view, const char *name, const char *request, struct orma_buf *ret,
	       struct orma_error *reterr)
{
	const struct orma_view_route *route = orma_view_routes;
	while (route->name && strcmp(route->name, name) != 0)
		route++;
	CHECK(route->name);
	return route->fn(view, orma_base_str(request), ret, reterr);
}

const char *view_fixture_ask(struct orma_view *view, const char *route, const char *request)
{
	static struct orma_buf answer;
	struct orma_error error = {0};
	orma_base_buf_done(&answer);
	if (ask(view, route, request, &answer, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s: %s", route, error.message);
	return orma_base_buf_cstr(&answer);
}

void view_fixture_refuse(struct orma_view *view, const char *route, const char *request,
			 int expected, const char *part)
{
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	CHECK_INT(ask(view, route, request, &answer, &error), expected);
	if (!strstr(error.message, part))
		orma_test_fail(__FILE__, __LINE__, "\"%s\" does not say \"%s\"", error.message,
			       part);
	orma_base_buf_done(&answer);
}

void view_fixture_check_sql(struct orma_view *view, const char *answer, const char *begin,
			    const char *expected)
{
	char query[4096] = {0};
	const char *sql = strstr(answer, begin);
	if (!sql)
		orma_test_fail(__FILE__, __LINE__, "no %s in %s", begin, answer);
	sql += strlen(begin);
	size_t size = strcspn(sql, "\"");
	CHECK(size < sizeof(query));
	memcpy(query, sql, size);
	fixture_check(view->database, query, expected);
}

uint64_t view_fixture_fail_allocations(struct orma_view *view, const char *route,
				       const char *request)
{
	for (uint64_t n = 1;; n++) {
		struct orma_buf answer = {0};
		struct orma_error error = {0};
		/* The arguments that were read last are kept. */
		view->database->args_set = ORMA_CELL_NULL;
		orma_test_fail_allocation(n);
		int r = ask(view, route, request, &answer, &error);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_base_buf_done(&answer);
		if (!has_failed)
			return n - 1;
		CHECK_INT(r, -ENOMEM);
	}
}

uint64_t view_fixture_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

struct orma_buf view_fixture_request(uint32_t level, uint32_t max_items,
				     const struct view_fixture_tile *tiles, uint32_t count)
{
	const uint32_t head[] = {level, max_items, count, 0};
	struct orma_buf request = {0};
	CHECK_INT(orma_base_buf_append(&request, head, sizeof(head)), 0);
	if (count > 0)
		CHECK_INT(orma_base_buf_append(&request, tiles, count * sizeof(*tiles)), 0);
	return request;
}

struct view_fixture_section view_fixture_section(const struct orma_buf *answer, size_t item_bytes,
						 uint32_t tiles, uint32_t idx)
{
	enum { HEAD = 16, SECTION = 16 };
	struct view_fixture_section found = {0};
	uint32_t head[4];
	CHECK(answer->size >= HEAD + tiles * SECTION);
	memcpy(head, answer->data, sizeof(head));
	CHECK_INT(head[0], 0x4c49544f);
	CHECK_INT(head[1], 1);
	CHECK_INT(head[2], 7);
	CHECK_INT(head[3], tiles);
	size_t items = HEAD + tiles * SECTION;
	for (uint32_t i = 0; i < tiles; i++) {
		struct view_fixture_section section = {0};
		memcpy(&section, answer->data + HEAD + i * SECTION, SECTION);
		section.items = answer->data + items;
		items += section.count * item_bytes;
		CHECK(items <= answer->size);
		if (i == idx)
			found = section;
	}
	CHECK_INT(items, answer->size);
	return found;
}
