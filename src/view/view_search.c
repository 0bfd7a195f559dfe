/* SPDX-License-Identifier: Apache-2.0
 * view_search.c - slices whose name has a text in it, or matches a regular expression.
 *
 * A trace has few names and many slices: each name is looked at once, when the first slice with it comes. All slices are
 * counted, for the number of hits and for where they are on the ruler; only those that the page shows next are told.
 */
#include "view/view_search.h"

#include <errno.h>
#include <strings.h>

#include "answers/column_scan.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "sql/query_regex.h"
#include "view/json_request.h"
#include "view/view_json.h"
#include "view/view_row.h"

enum { HITS_MAX = 1000, DENSITY_BUCKETS = 512 };

enum verdict { NOT_KNOWN, NO, YES };

struct search {
	const struct orma_view *view;
	struct orma_str text;
	struct orma_regex
		*regex;    /* NULL = the text itself is searched for, without regard to case */
	uint8_t *verdicts; /* by string */
	uint32_t string_count;
	uint64_t total, after, limit;
	uint64_t density[DENSITY_BUCKETS];
	struct orma_buf *json;
};

static bool has_text(struct orma_str name, struct orma_str text)
{
	for (size_t i = 0; i + text.size <= name.size; i++)
		if (strncasecmp(name.data + i, text.data, text.size) == 0)
			return true;
	return false;
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
		r = search->regex ? orma_sql_regex_search(search->regex, text, 0, NULL, 0)
				  : has_text(text, search->text);
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

static int scan(struct search *search)
{
	static const size_t columns[] = {ORMA_SLICE_NAME, ORMA_SLICE_TS};
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
			if (r > 0)
				r = take_hit(search, scan.first_row + i, scan.cells[1][i]);
		}
	}
	orma_column_scan_done(&scan);
	orma_base_free(search->verdicts);
	return r;
}

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
		r = append_density(&search);
	if (r == -EOVERFLOW)
		r = orma_base_error_set(reterr, -EINVAL, "the expression takes too many steps");
	orma_sql_regex_free(search.regex);
	orma_json_request_done(&request);
	return r;
}
