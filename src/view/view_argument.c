/* SPDX-License-Identifier: Apache-2.0
 * view_argument.c - the values that slices have of one argument, by which a page colours them.
 *
 * The page asks about the slices that it draws. Rejected: a sign of the value in each box, like that of the category, because tiles
 * are made on the thread of the connections, and arguments are decoded on the worker's; and a page that knows the value can also say it.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "view/json_request.h"
#include "view/view_detail.h"
#include "view/view_json.h"

/* Values are told apart by the beginnings of their texts. */
enum { ARGUMENT_ROWS_MAX = 4096, ARGUMENT_TEXT_MAX = 128 };

bool orma_view_is_arg_key(struct orma_str key, struct orma_str wanted)
{
	return key.size >= wanted.size &&
	       memcmp(key.data + key.size - wanted.size, wanted.data, wanted.size) == 0 &&
	       (key.size == wanted.size || key.data[key.size - wanted.size - 1] == '.');
}

static int append_value(const struct orma_view *view, uint64_t row, struct orma_str key,
			struct orma_buf *json)
{
	const struct orma_arg_list *list;
	int r = orma_view_find_args(view, row, &list);
	if (r == 0)
		r = orma_view_json_comma(json);
	for (uint32_t i = 0; r == 0 && i < list->count; i++)
		if (orma_view_is_arg_key(orma_arg_list_key(list, i), key))
			return orma_view_append_arg_value(view, &list->args[i], ARGUMENT_TEXT_MAX,
							  json);
	return r < 0 ? r : orma_view_json_raw(json, "null");
}

static int append_values(const struct orma_view *view, struct orma_str key, const double *rows,
			 size_t count, struct orma_buf *json, struct orma_error *reterr)
{
	double end = (double)orma_store_table_rows(view->lanes[ORMA_VIEW_SLICES].table);
	int r = orma_view_json_raw(json, "{\"values\":[");
	for (size_t i = 0; r == 0 && i < count; i++) {
		if (!(rows[i] >= 0 && rows[i] < end))
			return orma_base_error_set(reterr, -ENOENT, "there is no slice %g",
						   rows[i]);
		r = orma_view_check_stop(view);
		if (r == 0)
			r = append_value(view, (uint64_t)rows[i], key, json);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]}");
}

int orma_view_argument(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		       struct orma_error *reterr)
{
	struct orma_json_request request;
	struct orma_str key;
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a \"key\"");
	double *rows = orma_base_alloc_array(ARGUMENT_ROWS_MAX, sizeof(*rows));
	size_t count =
		rows ? orma_json_request_numbers(&request, "rows", rows, ARGUMENT_ROWS_MAX) : 0;
	if (!rows)
		r = -ENOMEM;
	else if (!orma_json_request_string(&request, "key", &key) || key.size == 0)
		r = orma_base_error_set(reterr, -EINVAL, "there is no \"key\" of an argument");
	else if (count > ARGUMENT_ROWS_MAX)
		r = orma_base_error_set(reterr, -EINVAL, "there are more than %d rows",
					ARGUMENT_ROWS_MAX);
	else
		r = append_values(view, key, rows, count, ret, reterr);
	orma_base_free(rows);
	orma_json_request_done(&request);
	return r;
}
