/* SPDX-License-Identifier: Apache-2.0
 * view_search.c - slices whose name or category has a text in it, or matches a regular expression; if there are none, those with
 * an argument that does.
 *
 * A trace has few names and many slices: each name is looked at once, when the first slice with it comes. All slices are
 * counted, for the number of hits and for where they are on the ruler; only those that the page shows next are told.
 *
 * Arguments are decoded from the packets, which takes about 0.2 us per slice. So they are looked at only when somebody asks for
 * them, with KEY=VALUE, or searches for what no slice is called, such as the number of a request. Rejected: arguments in every
 * search (typing a name would take seconds in a large trace), a switch for them (nobody finds it).
 */
#include "view/view_search.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "sql/query_regex.h"
#include "view/json_request.h"
#include "view/view_detail.h"
#include "view/view_json.h"
#include "view/view_row.h"

enum { HITS_MAX = 1000, DENSITY_BUCKETS = 512 };

enum verdict { NOT_KNOWN, NO, YES };

struct search {
	const struct orma_view *view;
	struct orma_str text;
	struct orma_str
		key; /* if .size > 0, arguments with this key are looked at, and text is their value */
	struct orma_regex
		*regex;    /* NULL = the text itself is searched for, without regard to case */
	uint8_t *verdicts; /* by string */
	uint32_t string_count;
	uint64_t total, after, limit;
	uint64_t density[DENSITY_BUCKETS];
	struct orma_buf *json;
	bool is_in_args;
};

static bool has_text(struct orma_str name, struct orma_str text)
{
	for (size_t i = 0; i + text.size <= name.size; i++)
		if (strncasecmp(name.data + i, text.data, text.size) == 0)
			return true;
	return false;
}

/* 1, 0, or a negative errno value. */
static int matches_text(struct search *search, struct orma_str text)
{
	return search->regex ? orma_sql_regex_search(search->regex, text, 0, NULL, 0)
			     : has_text(text, search->text);
}

/* 1, 0, or a negative errno value. */
static int matches(struct search *search, int64_t name)
{
	if (name <= 0 || name > search->string_count)
		return 0;
	uint8_t *verdict = &search->verdicts[name];
	if (*verdict == NOT_KNOWN) {
		struct orma_str text = orma_view_text(search->view, name);
		int r = orma_view_check_stop(search->view);
		if (r < 0)
			return r;
		r = matches_text(search, text);
		if (r < 0)
			return r;
		*verdict = r > 0 ? YES : NO;
	}
	return *verdict == YES;
}

static int take_hit(struct search *search, uint64_t row, int64_t ts)
{
	const struct orma_view *view = search->view;
	double all = (double)view->lanes[ORMA_VIEW_SLICES].end_ns;
	double start = (double)((uint64_t)ts - (uint64_t)view->database->start_ns);
	size_t bucket = all > 0 ? (size_t)(start / all * DENSITY_BUCKETS) : 0;
	uint64_t nth = search->total++;
	search->density[ORMA_MIN(bucket, (size_t)DENSITY_BUCKETS - 1)]++;
	if (nth < search->after || nth - search->after >= search->limit)
		return 0;
	struct orma_view_row hit = orma_view_row_read(view, ORMA_VIEW_SLICES, row);
	return orma_view_row_append(search->json, view, &hit);
}

static int scan_names(struct search *search)
{
	static const size_t columns[] = {ORMA_SLICE_NAME, ORMA_SLICE_CATEGORY, ORMA_SLICE_TS};
	const struct orma_view *view = search->view;
	struct orma_column_scan scan;
	search->string_count = view->strings.count;
	search->verdicts = orma_base_zalloc((size_t)search->string_count + 1);
	if (!search->verdicts)
		return -ENOMEM;
	int r = orma_column_scan_begin(&scan, view->lanes[ORMA_VIEW_SLICES].table, columns,
				       ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan)) {
		r = orma_view_check_stop(view);
		for (size_t i = 0; i < scan.row_count && r >= 0; i++) {
			r = matches(search, scan.cells[0][i]);
			if (r == 0)
				r = matches(search, scan.cells[1][i]);
			if (r > 0)
				r = take_hit(search, scan.first_row + i, scan.cells[2][i]);
		}
	}
	orma_column_scan_done(&scan);
	orma_base_free(search->verdicts);
	return r;
}

/* --- arguments -------------------------------------------------------------------------------- */

/* Numbers are written as the details show them. */
static struct orma_str text_of(const struct orma_view *view, const struct orma_arg *arg,
			       char buf[32])
{
	switch (arg->type) {
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		return orma_trace_database_text(view->database, arg->value);
	case ORMA_ARG_REAL:
		snprintf(buf, 32, "%.17g", orma_store_double_of_cell(arg->value));
		break;
	case ORMA_ARG_BOOL:
		return arg->value ? ORMA_STR("true") : ORMA_STR("false");
	case ORMA_ARG_POINTER:
		snprintf(buf, 32, "0x%" PRIx64, (uint64_t)arg->value);
		break;
	case ORMA_ARG_UINT:
		snprintf(buf, 32, "%" PRIu64, (uint64_t)arg->value);
		break;
	case ORMA_ARG_INT:
		snprintf(buf, 32, "%" PRId64, arg->value);
		break;
	case ORMA_ARG_NULL:
		return ORMA_STR("");
	}
	return (struct orma_str){buf, strlen(buf)};
}

/* Texts have what was typed in them, numbers are it. 1, 0, or a negative errno value. */
static int matches_arg(struct search *search, const struct orma_arg_list *list, uint32_t i)
{
	const struct orma_arg *arg = &list->args[i];
	bool is_text = arg->type == ORMA_ARG_STRING || arg->type == ORMA_ARG_JSON;
	char buf[32];
	if (search->key.size > 0 && !orma_view_is_arg_key(orma_arg_list_key(list, i), search->key))
		return 0;
	struct orma_str text = text_of(search->view, arg, buf);
	if (!is_text && !search->regex && text.size != search->text.size)
		return 0;
	return matches_text(search, text);
}

static int matches_args(struct search *search, uint64_t row)
{
	const struct orma_arg_list *list;
	int r = orma_view_find_args(search->view, row, &list);
	for (uint32_t i = 0; r == 0 && i < list->count; i++)
		r = matches_arg(search, list, i);
	return r;
}

static int scan_args(struct search *search)
{
	static const size_t columns[] = {ORMA_SLICE_TS};
	const struct orma_view *view = search->view;
	struct orma_column_scan scan;
	search->is_in_args = true;
	int r = orma_column_scan_begin(&scan, view->lanes[ORMA_VIEW_SLICES].table, columns,
				       ORMA_ARRAY_SIZE(columns), 0);
	while (r == 0 && orma_column_scan_next(&scan)) {
		for (size_t i = 0; i < scan.row_count && r >= 0; i++) {
			r = orma_view_check_stop(view);
			if (r == 0)
				r = matches_args(search, scan.first_row + i);
			if (r > 0)
				r = take_hit(search, scan.first_row + i, scan.cells[0][i]);
		}
	}
	orma_column_scan_done(&scan);
	return r;
}

static int scan(struct search *search)
{
	int r = search->key.size > 0 ? 0 : scan_names(search);
	if (r == 0 && search->total == 0)
		r = scan_args(search);
	return r;
}

/* --- the request ------------------------------------------------------------------------------ */

/* An expression stands between slashes. */
static int read_request(const struct orma_json_request *request, struct search *search,
			struct orma_error *reterr)
{
	double after = 0, limit = HITS_MAX;
	if (!orma_json_request_string(request, "text", &search->text) || search->text.size == 0)
		return orma_base_error_set(reterr, -EINVAL, "there is no \"text\" to search for");
	(void)orma_json_request_number(request, "after", &after);
	(void)orma_json_request_number(request, "limit", &limit);
	if (!(after >= 0 && after < 0x1p53) || !(limit >= 0 && limit <= HITS_MAX))
		return orma_base_error_set(
			reterr, -EINVAL,
			"\"after\" and \"limit\" are numbers, and that is at most %d", HITS_MAX);
	search->after = (uint64_t)after;
	search->limit = (uint64_t)limit;
	struct orma_str text = search->text;
	const char *equals = memchr(text.data, '=', text.size);
	bool is_regex = text.data[0] == '/';
	if (equals && !is_regex && equals > text.data && equals + 1 < text.data + text.size) {
		search->key = (struct orma_str){text.data, (size_t)(equals - text.data)};
		search->text = text =
			(struct orma_str){equals + 1, text.size - search->key.size - 1};
	}
	if (text.size < 3 || text.data[0] != '/' || text.data[text.size - 1] != '/')
		return 0;
	return orma_sql_regex_new((struct orma_str){text.data + 1, text.size - 2}, false,
				  &search->regex, reterr);
}

static int append_density(const struct search *search)
{
	int r = orma_view_json_raw(search->json, ",\"density\":[");
	for (size_t i = 0; i < DENSITY_BUCKETS && r == 0; i++) {
		r = orma_view_json_comma(search->json);
		if (r == 0)
			r = orma_view_json_integer_value(search->json, (int64_t)search->density[i]);
	}
	return r < 0 ? r : orma_view_json_raw(search->json, "]}");
}

int orma_view_search(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		     struct orma_error *reterr)
{
	struct orma_json_request request;
	struct search search = {.view = view, .json = ret};
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a \"text\"");
	r = read_request(&request, &search, reterr);
	if (r == 0)
		r = orma_view_json_raw(ret, "{\"hits\":[");
	if (r == 0)
		r = scan(&search);
	if (r == 0)
		r = orma_view_json_raw(ret, "]");
	if (r == 0)
		r = orma_view_json_integer(ret, "total", (int64_t)search.total);
	if (r == 0)
		r = orma_view_json_raw(ret, search.is_in_args ? ",\"in\":\"arguments\""
							      : ",\"in\":\"names\"");
	if (r == 0)
		r = append_density(&search);
	if (r == -EOVERFLOW)
		r = orma_base_error_set(reterr, -EINVAL, "the expression takes too many steps");
	orma_sql_regex_free(search.regex);
	orma_json_request_done(&request);
	return r;
}
