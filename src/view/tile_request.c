/* SPDX-License-Identifier: Apache-2.0
 * tile_request.c - reads and checks requests for tiles. docs/view-protocol.md has the layout.
 */
#include "view/tile_request.h"

#include <errno.h>
#include <inttypes.h>

#include "base/alloc.h"
#include "base/error_message.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "requests and answers are copied");

struct request_head {
	uint32_t level, max_items, count, zero;
};
struct request_pair {
	uint32_t lane, zero;
	uint64_t tile;
};
struct answer_head {
	uint32_t magic, version, generation, count;
};
struct answer_section {
	uint32_t lane, count;
	uint64_t tile;
};
enum { ANSWER_MAGIC = 0x4c49544f, ANSWER_VERSION = 1 };

static int read_head(struct orma_tile_request *request, struct orma_str body,
		     struct orma_error *reterr)
{
	struct request_head head;
	if (body.size < sizeof(head))
		return orma_base_error_set(reterr, -EINVAL,
					   "the request has %zu bytes, which are not a head",
					   body.size);
	memcpy(&head, body.data, sizeof(head));
	if (head.level > ORMA_TILE_LEVEL_MAX)
		return orma_base_error_set(reterr, -EINVAL, "level %" PRIu32 " is above %d",
					   head.level, ORMA_TILE_LEVEL_MAX);
	if (head.count > ORMA_TILES_MAX)
		return orma_base_error_set(reterr, -EINVAL, "%" PRIu32 " tiles are more than %d",
					   head.count, ORMA_TILES_MAX);
	if (head.zero != 0 || body.size != sizeof(head) + head.count * sizeof(struct request_pair))
		return orma_base_error_set(
			reterr, -EINVAL,
			"the request has %zu bytes, which are not those of %" PRIu32 " tiles",
			body.size, head.count);
	uint32_t wanted = head.max_items ? head.max_items : ORMA_TILE_ITEMS_DEFAULT;
	request->level = head.level;
	request->max_items = ORMA_MIN(wanted, (uint32_t)ORMA_TILE_ITEMS_MAX);
	request->tile_count = head.count;
	return 0;
}

static int read_tile(const struct orma_view *view, const struct request_pair *pair, unsigned level,
		     bool has_values, struct orma_tile *ret, struct orma_error *reterr)
{
	unsigned shift = level + ORMA_TILE_SHIFT;
	ret->lanes = orma_view_find_lane(view, pair->lane, &ret->table, &ret->lane);
	if (!ret->lanes)
		return orma_base_error_set(reterr, -ENOENT, "there is no lane %" PRIu32,
					   pair->lane);
	if (pair->zero != 0 || (ret->table == ORMA_VIEW_COUNTERS) != has_values)
		return orma_base_error_set(reterr, -EINVAL, "lane %" PRIu32 " has no such tiles",
					   pair->lane);
	/* A shift by 64 or more is not defined. */
	if (pair->tile == 0) {
		ret->start = 0;
		ret->end = shift < 64 ? UINT64_C(1) << shift : UINT64_MAX;
	} else if (shift >= 64 || pair->tile > UINT64_MAX >> shift) {
		ret->start = ret->end = UINT64_MAX;
	} else {
		ret->start = pair->tile << shift;
		if (__builtin_add_overflow(ret->start, UINT64_C(1) << shift, &ret->end))
			ret->end = UINT64_MAX;
	}
	return 0;
}

int orma_tile_request_init(struct orma_tile_request *request, const struct orma_view *view,
			   struct orma_str body, bool has_values, struct orma_error *reterr)
{
	*request = (struct orma_tile_request){0};
	int r = read_head(request, body, reterr);
	if (r < 0)
		return r;
	request->tiles = orma_base_alloc_array(request->tile_count + 1, sizeof(*request->tiles));
	if (!request->tiles)
		return -ENOMEM;
	const char *next = body.data + sizeof(struct request_head);
	for (uint32_t i = 0; i < request->tile_count && r == 0; i++) {
		struct request_pair pair;
		memcpy(&pair, next + i * sizeof(pair), sizeof(pair));
		r = read_tile(view, &pair, request->level, has_values, &request->tiles[i], reterr);
	}
	if (r < 0)
		orma_tile_request_done(request);
	return r;
}

void orma_tile_request_done(struct orma_tile_request *request)
{
	orma_base_free(request->tiles);
	*request = (struct orma_tile_request){0};
}

int orma_tile_request_begin_answer(const struct orma_tile_request *request,
				   const struct orma_view *view, struct orma_str body,
				   size_t item_bytes, struct orma_buf *ret,
				   struct orma_error *reterr)
{
	struct answer_head head = {.magic = ANSWER_MAGIC,
				   .version = ANSWER_VERSION,
				   .generation = view->generation,
				   .count = request->tile_count};
	size_t items = 0;
	for (uint32_t i = 0; i < request->tile_count; i++)
		items += request->tiles[i].count;
	if (items > ORMA_TILE_ITEMS_MAX)
		return orma_base_error_set(reterr, -EINVAL,
					   "these lanes have too many rows for one answer");
	int r = orma_base_buf_reserve(
		ret, sizeof(head) + request->tile_count * sizeof(struct answer_section) +
			     items * item_bytes);
	if (r == 0)
		r = orma_base_buf_append(ret, &head, sizeof(head));
	for (uint32_t i = 0; i < request->tile_count && r == 0; i++) {
		struct request_pair pair;
		memcpy(&pair, body.data + sizeof(struct request_head) + i * sizeof(pair),
		       sizeof(pair));
		struct answer_section section = {
			.lane = pair.lane, .count = request->tiles[i].count, .tile = pair.tile};
		r = orma_base_buf_append(ret, &section, sizeof(section));
	}
	return r;
}
