/* SPDX-License-Identifier: Apache-2.0
 * view_meta.c - facts about the whole trace, and names.
 */
#include "view/view_meta.h"

#include <errno.h>
#include <inttypes.h>

#include "answers/losses.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/view_gaps.h"
#include "view/view_json.h"
#include "view/view_profiles.h"

enum { FORMAT = 1 };

/* An integer as a string, as absolute times need it. */
static int append_exact(struct orma_buf *json, const char *key, int64_t value)
{
	int r = orma_json_append_key(json, key);
	return r < 0 ? r : orma_base_buf_printf(json, "\"%" PRId64 "\"", value);
}

static int append_bounds(const struct orma_view *view, struct orma_buf *json)
{
	const struct orma_trace_database *database = view->database;
	int64_t realtime;
	int r = append_exact(json, "start_ns", database->start_ns);
	if (r == 0)
		r = orma_view_json_time(json, view, "end", database->end_ns);
	if (r == 0)
		r = orma_trace_database_realtime(database, database->start_ns, &realtime)
			    ? append_exact(json, "realtime_start_ns", realtime)
			    : orma_view_json_null(json, "realtime_start_ns");
	return r;
}

static int append_counts(const struct orma_view *view, struct orma_buf *json)
{
	static const struct {
		const char *key;
		enum orma_table_id table;
	} counts[] = {{"slices", ORMA_TABLE_SLICE},
		      {"sched", ORMA_TABLE_SCHED},
		      {"thread_states", ORMA_TABLE_THREAD_STATE},
		      {"counters", ORMA_TABLE_COUNTER},
		      {"flows", ORMA_TABLE_FLOW},
		      {"processes", ORMA_TABLE_PROCESS},
		      {"threads", ORMA_TABLE_THREAD},
		      {"tracks", ORMA_TABLE_TRACK}};
	int r = orma_view_json_raw(json, ",\"counts\":{");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(counts) && r == 0; i++)
		r = orma_view_json_integer(json, counts[i].key,
					   (int64_t)orma_store_table_rows(
						   &view->database->tables.all[counts[i].table]));
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

/* The machine, as far as the trace tells it. */
static int append_host(const struct orma_view *view, struct orma_buf *json)
{
	const struct orma_trace_database *database = view->database;
	const struct orma_table *table = &database->tables.all[ORMA_TABLE_METADATA];
	int r = orma_view_json_raw(json, ",\"host\":{");
	for (uint64_t row = 0; row < orma_store_table_rows(table) && r == 0; row++) {
		struct orma_str name = orma_trace_database_text(
			database, orma_store_column_get(&table->columns[ORMA_METADATA_NAME], row));
		int64_t machine =
			orma_store_column_get(&table->columns[ORMA_METADATA_MACHINE_ID], row);
		static const char *const names[] = {"system_name", "system_release",
						    "system_version", "system_machine"};
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(names) && r == 0 && machine <= 0; i++)
			if (orma_base_str_is(name, names[i]))
				r = orma_view_json_cell(
					json, view, names[i],
					orma_store_column_get(
						&table->columns[ORMA_METADATA_STR_VALUE], row));
	}
	return r < 0 ? r : orma_view_json_raw(json, "}");
}

static int append_losses(const struct orma_view *view, struct orma_buf *json)
{
	struct orma_losses losses;
	int r = orma_losses_find(view->database, &losses);
	if (r == 0)
		r = orma_view_json_raw(json, ",\"losses\":[");
	for (uint32_t i = 0; i < losses.count && r == 0; i++) {
		const struct orma_loss *loss = &losses.items[i];
		r = orma_json_begin_element(json);
		if (r == 0)
			r = orma_json_append_text(json, "what", orma_base_str(loss->meaning));
		if (r == 0)
			r = orma_view_json_integer(json, "count", loss->count);
		if (r == 0)
			r = orma_json_append_text(json, "severity", loss->severity);
		if (r == 0)
			r = orma_json_append_text(json, "stat", loss->name);
		if (r == 0)
			r = orma_view_json_raw(json, "}");
	}
	orma_losses_done(&losses);
	return r < 0 ? r : orma_view_json_raw(json, "]");
}

int orma_view_meta(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		   struct orma_error *reterr)
{
	(void)request, (void)reterr;
	int r = orma_view_json_raw(ret, "{");
	if (r == 0)
		r = orma_view_json_integer(ret, "generation", view->generation);
	if (r == 0)
		r = orma_json_append_text(ret, "title", orma_base_str(view->title));
	if (r == 0)
		r = append_bounds(view, ret);
	if (r == 0)
		r = append_counts(view, ret);
	if (r == 0)
		r = append_host(view, ret);
	if (r == 0)
		r = append_losses(view, ret);
	if (r == 0)
		r = orma_view_gaps_append(view, ret);
	if (r == 0)
		r = orma_view_profiles_append(view, ret);
	if (r == 0 && view->is_live)
		r = orma_view_json_bool(ret, "live", true);
	if (r == 0)
		r = orma_view_json_integer(ret, "format", FORMAT);
	return r < 0 ? r : orma_view_json_raw(ret, "}");
}

static int append_string(const struct orma_view *view, int64_t cell, struct orma_buf *ret)
{
	struct orma_str text = orma_view_text(view, cell);
	int r = orma_view_json_comma(ret);
	if (r < 0)
		return r;
	return text.data ? orma_json_append_string(ret, text) : orma_view_json_raw(ret, "null");
}

int orma_view_names(struct orma_view *view, struct orma_str request_untrusted, struct orma_buf *ret,
		    struct orma_error *reterr)
{
	enum { NAMES_MAX = 4096 };
	size_t count = request_untrusted.size / sizeof(uint32_t);
	if (request_untrusted.size % sizeof(uint32_t) != 0 || count > NAMES_MAX)
		return orma_base_error_set(reterr, -EINVAL,
					   "%zu bytes are not the numbers of at most %d strings",
					   request_untrusted.size, NAMES_MAX);
	int r = orma_view_json_raw(ret, "{\"names\":[");
	for (size_t i = 0; i < count && r == 0; i++) {
		uint32_t id;
		memcpy(&id, request_untrusted.data + i * sizeof(id), sizeof(id));
		r = append_string(view, id, ret);
	}
	return r < 0 ? r : orma_view_json_raw(ret, "]}");
}
