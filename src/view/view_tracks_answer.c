/* SPDX-License-Identifier: Apache-2.0
 * view_tracks_answer.c - the tree of the page's rows as JSON, with the threads and processes that boxes name by number.
 *
 * A page has little memory, so it gets the first rows, threads and processes of a trace that has very many: in the tree, parents come before
 * their children, so that its first nodes are a tree, too. The last row says how many are missing.
 */
#include <inttypes.h>
#include <stdio.h>

#include "answers/task_names.h"
#include "base/macros.h"
#include "view/view_json.h"
#include "view/view_tracks.h"

/* 50,000 nodes take about 25 MB of a page. */
enum { PAGE_NODES_MAX = 50000 };

static int append_node(const struct orma_view_node *node, uint32_t idx, struct orma_buf *json)
{
	const struct {
		const char *key;
		int64_t value; /* -1 = null */
	} numbers[] = {{"id", idx},          {"lane", node->table ? (int64_t)node->lane : -1},
		       {"rows", node->rows}, {"events", (int64_t)node->events},
		       {"upid", node->upid}, {"utid", node->utid},
		       {"cpu", node->ucpu},  {"density", node->density}};
	const struct {
		const char *key;
		struct orma_str text;
	} texts[] = {{"kind", orma_base_str(node->kind)},
		     {"name", node->name},
		     {"unit", node->unit},
		     {"table", orma_base_str(node->table)}};
	int r = orma_json_begin_element(json);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(numbers) && r == 0; i++)
		r = orma_view_json_id(json, numbers[i].key, numbers[i].value);
	if (r == 0)
		r = orma_view_json_integer(json, "parent", node->parent);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(texts) && r == 0; i++)
		r = texts[i].text.data ? orma_json_append_text(json, texts[i].key, texts[i].text)
				       : orma_view_json_null(json, texts[i].key);
	if (r == 0)
		r = orma_view_json_bool(json, "open", node->is_open);
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* Appends [number, id, "name"]; of a thread also its process. */
static int append_task(struct orma_buf *json, int64_t number, struct orma_task_name name,
		       const int64_t *upid)
{
	int r = orma_view_json_comma(json);
	if (r == 0)
		r = orma_base_buf_printf(json, "[%lld,%lld,", (long long)number,
					 (long long)name.id);
	if (r == 0)
		r = orma_json_append_string(json, name.name.data ? name.name : ORMA_STR(""));
	if (r == 0 && upid && *upid >= 0)
		r = orma_base_buf_printf(json, ",%lld", (long long)*upid);
	else if (r == 0 && upid)
		r = orma_view_json_raw(json, ",null");
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

static int append_tasks(const struct orma_view *view, uint64_t limit, struct orma_buf *json)
{
	const struct orma_trace_database *database = view->database;
	const struct orma_table *all = database->tables.all;
	uint64_t threads = ORMA_MIN(orma_store_table_rows(&all[ORMA_TABLE_THREAD]), limit);
	uint64_t processes = ORMA_MIN(orma_store_table_rows(&all[ORMA_TABLE_PROCESS]), limit);
	int r = orma_view_json_raw(json, ",\"threads\":[");
	for (uint64_t i = 0; i < threads && r == 0; i++) {
		int64_t upid = orma_thread_process(database, (int64_t)i);
		r = append_task(json, (int64_t)i, orma_thread_name(database, (int64_t)i), &upid);
	}
	if (r == 0)
		r = orma_view_json_raw(json, "],\"processes\":[");
	for (uint64_t i = 0; i < processes && r == 0; i++)
		r = append_task(json, (int64_t)i, orma_process_name(database, (int64_t)i), NULL);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* The texts of threads' states, in the order of their numbers in boxes. */
static int append_states(const struct orma_view *view, struct orma_buf *json)
{
	int r = orma_view_json_raw(json, ",\"states\":[");
	for (uint32_t i = 0; i < view->thread_state_count && r == 0; i++) {
		r = orma_view_json_comma(json);
		if (r == 0)
			r = orma_view_append_thread_state(json, view, i);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

/* Says how many nodes are missing, as a group that is empty. */
static int append_rest(uint32_t idx, uint32_t missing, struct orma_buf *json)
{
	char name[96];
	int size = snprintf(name, sizeof(name),
			    "and %" PRIu32 " more tracks and threads, which only SQL can ask",
			    missing);
	const struct orma_view_node rest = {.parent = -1,
					    .kind = "group",
					    .name = {name, (size_t)size},
					    .upid = -1,
					    .utid = -1,
					    .ucpu = -1,
					    .density = -1};
	return append_node(&rest, idx, json);
}

int orma_view_tracks_append(const struct orma_view *view, uint32_t limit, struct orma_buf *ret)
{
	uint32_t count = ORMA_MIN(view->node_count, limit);
	int r = orma_view_json_raw(ret, "{");
	if (r == 0)
		r = orma_view_json_integer(ret, "generation", view->generation);
	if (r == 0)
		r = orma_view_json_raw(ret, ",\"nodes\":[");
	for (uint32_t i = 0; i < count && r == 0; i++)
		r = append_node(&view->nodes[i], i, ret);
	if (r == 0 && count < view->node_count)
		r = append_rest(count, view->node_count - count, ret);
	if (r == 0)
		r = orma_view_json_raw(ret, "]");
	if (r == 0)
		r = append_tasks(view, limit, ret);
	if (r == 0)
		r = append_states(view, ret);
	return r < 0 ? r : orma_view_json_raw(ret, "}");
}

int orma_view_tracks(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		     struct orma_error *reterr)
{
	(void)request, (void)reterr;
	return orma_view_tracks_append(view, PAGE_NODES_MAX, ret);
}
