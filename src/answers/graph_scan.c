/* SPDX-License-Identifier: Apache-2.0
 * graph_scan.c - values that go along the edges of a graph, changed by a query at each node.
 *
 * A row holds the id of a node and some values. When the query returns a row, the scan copies it along every edge that
 * leaves its node, and the copies are in the table `$table` when the query runs again. A plain scan goes one edge further
 * with each run. An aggregating scan waits at each node until all nodes before it have passed on their rows, so it goes
 * from level to level. The level of a node is the length of the longest path that leads to it.
 */
#include <errno.h>

#include "answers/graph.h"
#include "answers/operators.h"
#include "answers/trace_database.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/sqlite_error.h"

enum { COLUMNS_MAX = 8, ARG_GRAPH = 0, ARG_ROWS, ARG_QUERY, ARG_NAMES, ARG_IS_AGGREGATING };

struct scan {
	struct orma_row_call *call;
	struct orma_graph graph;
	size_t column_count;
	bool is_aggregating;
	uint32_t *levels;             /* by node; UINT32_MAX = in a cycle, or behind one */
	struct orma_row_set *pending; /* by level; of a plain scan: these, and the next ones */
	size_t pending_count;
	sqlite3_stmt *statement;
};

static void done(struct scan *scan)
{
	orma_graph_done(&scan->graph);
	orma_base_free(scan->levels);
	for (size_t i = 0; scan->pending && i < scan->pending_count; i++)
		orma_row_set_done(&scan->pending[i]);
	orma_base_free(scan->pending);
	sqlite3_finalize(scan->statement);
}

/* Levels are found from nodes that no edge leads to on. */
static int find_levels(struct scan *scan)
{
	const struct orma_graph *graph = &scan->graph;
	size_t count = 0, nodes = graph->node_count + 1;
	ORMA_AUTO(orma_base_freep)
	uint32_t *incoming = orma_base_alloc_array(nodes, sizeof(*incoming));
	ORMA_AUTO(orma_base_freep) uint32_t *ready = orma_base_alloc_array(nodes, sizeof(*ready));
	scan->levels = orma_base_alloc_array(nodes, sizeof(*scan->levels));
	if (!incoming || !ready || !scan->levels)
		return -ENOMEM;
	for (size_t i = 0; i < graph->edge_count; i++)
		incoming[graph->targets[i]]++;
	for (size_t i = 0; i < graph->node_count; i++)
		if (incoming[i] == 0)
			ready[count++] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		uint32_t node = ready[i];
		for (size_t edge = graph->first_edges[node]; edge < graph->first_edges[node + 1];
		     edge++) {
			uint32_t target = graph->targets[edge];
			scan->levels[target] =
				ORMA_MAX(scan->levels[target], scan->levels[node] + 1);
			scan->pending_count =
				ORMA_MAX(scan->pending_count, (size_t)scan->levels[target] + 1);
			if (--incoming[target] == 0)
				ready[count++] = target;
		}
	}
	for (size_t i = 0; i < graph->node_count; i++)
		if (incoming[i] > 0)
			scan->levels[i] = UINT32_MAX;
	return 0;
}

static int copy_row(struct orma_row_set *to, const struct orma_row_set *from, size_t row,
		    int64_t id)
{
	int r = orma_row_set_add(to);
	if (r < 0)
		return r;
	orma_row_set_put_int(to, 0, id);
	/* The result has columns that the query does not use. */
	for (size_t i = 1; i < ORMA_MIN(from->column_count, to->column_count); i++) {
		size_t at = orma_row_set_at(from, row, i);
		orma_row_set_put(to, i, from->types[at], from->cells[at]);
	}
	return 0;
}

/* Sends the newest row of the result along the edges of its node. `step` counts those of a plain scan. */
static int send_row(struct scan *scan, size_t step)
{
	struct orma_row_set *ret = scan->call->ret;
	size_t row = ret->row_count - 1;
	size_t node = orma_graph_find(&scan->graph, orma_row_set_int(ret, row, 0));
	if (node == SIZE_MAX)
		return 0;
	for (size_t i = scan->graph.first_edges[node]; i < scan->graph.first_edges[node + 1]; i++) {
		uint32_t target = scan->graph.targets[i];
		size_t place = scan->is_aggregating ? scan->levels[target] : (step + 1) % 2;
		if (place == UINT32_MAX)
			return orma_base_error_set(scan->call->reterr, -EINVAL,
						   "graph scan: the graph has a cycle");
		int r = copy_row(&scan->pending[place], ret, row, scan->graph.ids[target]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int begin(struct scan *scan)
{
	const struct orma_row_set *rows = orma_row_call_rows(scan->call, ARG_ROWS);
	int r = 0;
	for (size_t row = 0; row < rows->row_count && r == 0; row++) {
		r = copy_row(scan->call->ret, rows, row, orma_row_set_int(rows, row, 0));
		if (r == 0)
			r = send_row(scan, 1);
	}
	return r;
}

static int run_query(struct scan *scan, struct orma_row_set *rows, size_t step)
{
	struct orma_row_set *ret = scan->call->ret;
	int r = 0, code = orma_row_set_bind(rows, scan->statement, 1);
	while (r == 0 && code != SQLITE_NOMEM &&
	       (code = sqlite3_step(scan->statement)) == SQLITE_ROW) {
		r = orma_row_set_add(ret);
		for (size_t i = 0; i < scan->column_count && r == 0; i++)
			r = orma_row_set_put_value(ret, i,
						   sqlite3_column_value(scan->statement, (int)i));
		if (r == 0)
			r = send_row(scan, step);
	}
	code = sqlite3_reset(scan->statement);
	if (r == 0 && code != SQLITE_OK)
		r = orma_base_error_set(scan->call->reterr, orma_sql_errno_of(code),
					"graph scan: %s",
					sqlite3_errmsg(sqlite3_db_handle(scan->statement)));
	rows->row_count = 0;
	return r;
}

static int scan_levels(struct scan *scan)
{
	int r = 0;
	for (size_t i = 0; i < scan->pending_count && r == 0; i++)
		if (scan->pending[i].row_count > 0)
			r = run_query(scan, &scan->pending[i], i);
	return r;
}

/* A path that is longer than there are nodes goes in a circle. */
static int scan_steps(struct scan *scan)
{
	int r = 0;
	for (size_t step = 0; scan->pending[step % 2].row_count > 0 && r == 0; step++)
		r = step > scan->graph.node_count
			    ? orma_base_error_set(scan->call->reterr, -EINVAL,
						  "graph scan: the graph has a cycle")
			    : run_query(scan, &scan->pending[step % 2], step);
	return r;
}

/* Appends `(select c0 as id, c1 as NAME, ... from ...)`, which is the query's `$table`. */
static int append_table(struct orma_buf *text, const char *names, size_t *ret_columns)
{
	int r = orma_base_buf_append_str(text, "(select c0 as id");
	size_t columns = 1;
	for (const char *at = names + strspn(names, "( "); *at && r == 0; columns++) {
		size_t size = strcspn(at, ",) \n\t");
		if (size == 0)
			break;
		r = orma_base_buf_printf(text, ", c%zu as %.*s", columns, (int)size, at);
		at += size;
		at += strspn(at, ",) \n\t");
	}
	*ret_columns = columns;
	return r == 0 ? orma_base_buf_append_str(text, " from __intrinsic_row_source(?1))") : r;
}

static int prepare(struct scan *scan)
{
	const struct orma_trace_database *database = scan->call->ctx;
	const char *query = (const char *)sqlite3_value_text(scan->call->argv[ARG_QUERY]);
	const char *names = (const char *)sqlite3_value_text(scan->call->argv[ARG_NAMES]);
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	if (!query || !names)
		return -ENOMEM;
	int r = orma_base_buf_append_str(&text, "select * from ");
	while (r == 0 && *query) {
		const char *table = strstr(query, "$table");
		size_t size = table ? (size_t)(table - query) : strlen(query);
		r = orma_base_buf_append(&text, query, size);
		if (r == 0 && table)
			r = append_table(&text, names, &scan->column_count);
		query += size + (table ? strlen("$table") : 0);
	}
	if (r == 0)
		r = orma_sql_prepare(database->sql,
				     (struct orma_str){(const char *)text.data, text.size},
				     &scan->statement, scan->call->reterr);
	if (r < 0)
		return r;
	const struct orma_row_set *rows = orma_row_call_rows(scan->call, ARG_ROWS);
	if (rows->column_count != scan->column_count || scan->column_count > COLUMNS_MAX ||
	    sqlite3_column_count(scan->statement) != (int)scan->column_count ||
	    !sqlite3_stmt_readonly(scan->statement))
		return orma_base_error_set(scan->call->reterr, -EINVAL,
					   "graph scan: the table and the query must have the "
					   "column id and up to %d others",
					   COLUMNS_MAX - 1);
	return 0;
}

static int run_scan(struct scan *scan)
{
	int r = prepare(scan);
	if (r == 0)
		r = orma_graph_init(&scan->graph, orma_row_call_rows(scan->call, ARG_GRAPH), NULL);
	scan->pending_count = 2;
	if (r == 0 && scan->is_aggregating)
		r = find_levels(scan);
	if (r < 0)
		return r;
	scan->pending = orma_base_alloc_array(scan->pending_count, sizeof(*scan->pending));
	if (!scan->pending)
		return -ENOMEM;
	for (size_t i = 0; i < scan->pending_count; i++)
		scan->pending[i] = (struct orma_row_set){.column_count = scan->column_count,
							 .pool = scan->call->ret->pool,
							 .interrupt = scan->call->ret->interrupt,
							 .budget = scan->call->ret->budget};
	r = begin(scan);
	if (r == 0)
		r = scan->is_aggregating ? scan_levels(scan) : scan_steps(scan);
	return r;
}

static int run(struct orma_row_call *call)
{
	struct scan scan = {.call = call};
	if (call->argc <= ARG_IS_AGGREGATING || !call->argv[ARG_QUERY] || !call->argv[ARG_NAMES])
		return orma_base_error_set(call->reterr, -EINVAL,
					   "graph scan: takes five arguments");
	scan.is_aggregating = sqlite3_value_int(call->argv[ARG_IS_AGGREGATING]) != 0;
	int r = orma_row_call_rows(call, ARG_ROWS)->row_count > 0 ? run_scan(&scan) : 0;
	done(&scan);
	return r;
}

static int run_source(struct orma_row_call *call)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	int r = 0;
	for (size_t row = 0; row < rows->row_count && r == 0; row++)
		r = rows->column_count <= COLUMNS_MAX
			    ? copy_row(call->ret, rows, row, orma_row_set_int(rows, row, 0))
			    : -EINVAL;
	return r;
}

const struct orma_row_operator orma_graph_scan = {
	.name = "__intrinsic_graph_scan",
	.columns = "c0, c1, c2, c3, c4, c5, c6, c7",
	.column_count = COLUMNS_MAX,
	.arg_count = 5,
	.rows = 10000,
	.run = run,
};

const struct orma_row_operator orma_row_source = {
	.name = "__intrinsic_row_source",
	.columns = "c0, c1, c2, c3, c4, c5, c6, c7",
	.column_count = COLUMNS_MAX,
	.arg_count = 1,
	.rows = 1000,
	.run = run_source,
};
