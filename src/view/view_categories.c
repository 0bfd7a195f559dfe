/* SPDX-License-Identifier: Apache-2.0
 * view_categories.c - the categories of slices by their names, for pages that colour slices by category.
 *
 * A name has the category of its first slice. Rejected: the category in each box, because a box has 32 bytes, all in use, and a
 * name of several categories is rare. The slices are read until each name was met, so the usual question ends early.
 */
#include "view/view_categories.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "view/view_json.h"
#include "view/view_meta.h"

struct search {
	uint32_t *places; /* by string: its place among the ids + 1, or 0 */
	int64_t *cells;   /* by place: the category */
	size_t left;      /* names without a category so far */
};

static void search_block(const struct orma_column *columns, size_t block, uint32_t names_count,
			 struct search *search)
{
	int64_t names[ORMA_BLOCK_ROWS], categories[ORMA_BLOCK_ROWS];
	size_t count = orma_store_column_read(&columns[ORMA_SLICE_NAME], block, names);
	bool is_read = false;
	for (size_t i = 0; i < count && search->left > 0; i++) {
		uint32_t *place =
			names[i] > 0 && names[i] <= names_count ? &search->places[names[i]] : NULL;
		if (!place || *place == 0 || search->cells[*place - 1] != 0)
			continue;
		if (!is_read)
			orma_store_column_read(&columns[ORMA_SLICE_CATEGORY], block, categories);
		is_read = true;
		/* A slice without a category answers as well. */
		search->cells[*place - 1] = categories[i] > 0 ? categories[i] : -1;
		search->left--;
	}
}

static int search_slices(const struct orma_view *view, struct search *search)
{
	const struct orma_column *columns = view->lanes[ORMA_VIEW_SLICES].table->columns;
	size_t blocks = orma_store_column_blocks(&columns[ORMA_SLICE_NAME]);
	int r = 0;
	for (size_t i = 0; i < blocks && search->left > 0 && r == 0; i++) {
		r = orma_view_check_stop(view);
		if (r == 0)
			search_block(columns, i, view->strings.count, search);
	}
	return r;
}

int orma_view_categories(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
			 struct orma_error *reterr)
{
	uint32_t ids[ORMA_VIEW_NAMES_MAX];
	int count = orma_view_read_ids(request, ids, reterr);
	if (count < 0)
		return count;
	ORMA_AUTO(orma_base_freep)
	uint32_t *places = orma_base_alloc_array((size_t)view->strings.count + 1, sizeof(*places));
	ORMA_AUTO(orma_base_freep)
	int64_t *cells = orma_base_alloc_array((size_t)count + 1, sizeof(*cells));
	if (!places || !cells)
		return -ENOMEM;
	struct search search = {.places = places, .cells = cells};
	for (int i = 0; i < count; i++)
		if (ids[i] > 0 && ids[i] <= view->strings.count && places[ids[i]] == 0) {
			places[ids[i]] = (uint32_t)i + 1;
			search.left++;
		}
	int r = search_slices(view, &search);
	if (r == 0)
		r = orma_view_json_raw(ret, "{\"categories\":[");
	for (int i = 0; i < count && r == 0; i++) {
		uint32_t place = ids[i] <= view->strings.count ? places[ids[i]] : 0;
		r = orma_view_append_string(view, place > 0 ? cells[place - 1] : 0, ret);
	}
	return r < 0 ? r : orma_view_json_raw(ret, "]}");
}
