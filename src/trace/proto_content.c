/* SPDX-License-Identifier: Apache-2.0
 * proto_content.c - a tree of the fields that packets have, with the bytes in each.
 *
 * The bytes of a message are those around its fields: their tags and lengths. The bytes of another field are its value's. All
 * together are the bytes of the packets. Fields that the schema does not have are one in each message.
 */
#include "trace/proto_content.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "store/grow.h"

enum { NODES_MAX = 1 << 18, UNKNOWN_FIELD = 0 };
#define ROOT_BIT (UINT64_C(1) << 63)

struct orma_content_node {
	uint32_t parent, field_id;
	const struct orma_proto_desc *parent_desc; /* NULL for a root */
	struct orma_content_kind kind;             /* a root's */
	uint64_t bytes, count;
};

struct level {
	struct orma_proto_reader reader;
	const struct orma_proto_desc *desc;
	uint32_t node;
	uint64_t overhead, unknown;
};

void orma_proto_content_done(struct orma_proto_content *content)
{
	orma_base_free(content->nodes);
	orma_base_map_done(&content->ids);
	*content = (struct orma_proto_content){0};
}

/* Returns the number of the node with this key, which is made from `fresh` when it is new, or a negative errno value. */
static int64_t find_node(struct orma_proto_content *content, uint64_t key,
			 const struct orma_content_node *fresh)
{
	uintptr_t known = (uintptr_t)orma_base_map_get(&content->ids, key);
	if (known)
		return (int64_t)known - 1;
	if (content->count == NODES_MAX)
		return -ENOSPC;
	int r = orma_store_grow(&content->nodes, (uint64_t)content->count + 1, &content->capacity,
				sizeof(*content->nodes));
	if (r == 0)
		r = orma_base_map_put(&content->ids, key, (void *)((uintptr_t)content->count + 1));
	if (r < 0)
		return r;
	content->nodes[content->count] = *fresh;
	return content->count++;
}

static int64_t find_root(struct orma_proto_content *content, const struct orma_content_kind *kind)
{
	int64_t parts[] = {kind->category, kind->name, kind->is_skipped, kind->is_event};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts)) | ROOT_BIT;
	return find_node(content, key, &(struct orma_content_node){.kind = *kind});
}

static int64_t find_child(struct orma_proto_content *content, const struct level *level,
			  uint32_t field_id)
{
	uint64_t key = (uint64_t)level->node << 32 | field_id;
	return find_node(content, key,
			 &(struct orma_content_node){.parent = level->node,
						     .field_id = field_id,
						     .parent_desc = level->desc});
}

static void count(struct orma_proto_content *content, int64_t node, uint64_t bytes)
{
	content->nodes[node].bytes += bytes;
	content->nodes[node].count++;
}

static uint64_t value_bytes(const struct orma_proto_field *field)
{
	uint8_t number[ORMA_PROTO_VARINT_MAX];
	if (field->type == ORMA_PROTO_BYTES)
		return field->bytes.size;
	if (field->type == ORMA_PROTO_VARINT)
		return (uint64_t)(orma_proto_put_varint(number, field->value) - number);
	return field->type == ORMA_PROTO_FIXED64 ? 8 : 4;
}

static void begin(struct level *level, struct orma_str message, const struct orma_proto_desc *desc,
		  uint32_t node)
{
	*level = (struct level){.desc = desc, .node = node, .overhead = message.size};
	orma_proto_reader_init(&level->reader, message.data, message.size);
}

static int end(struct orma_proto_content *content, const struct level *level)
{
	if (level->unknown > 0) {
		int64_t node = find_child(content, level, UNKNOWN_FIELD);
		if (node < 0)
			return (int)node;
		count(content, node, level->unknown);
	}
	count(content, level->node, level->overhead);
	return 0;
}

/* Counts the next field. 1 (it is a message, and *ret_inner begins it), 0, or a negative errno value. */
static int take_field(struct orma_proto_content *content, struct level *level,
		      const struct orma_proto_field *field, bool may_be_deeper,
		      struct level *ret_inner)
{
	const struct orma_proto_field_desc *known = orma_proto_desc_find(level->desc, field->id);
	uint64_t bytes = value_bytes(field);
	level->overhead -= bytes;
	if (!known) {
		level->unknown += bytes;
		return 0;
	}
	int64_t node = find_child(content, level, field->id);
	if (node < 0)
		return (int)node;
	if (known->kind != ORMA_PROTO_KIND_MESSAGE || field->type != ORMA_PROTO_BYTES ||
	    !may_be_deeper) {
		count(content, node, bytes);
		return 0;
	}
	begin(ret_inner, field->bytes, level->desc->types[known->type_idx].message, (uint32_t)node);
	return 1;
}

int orma_proto_content_add(struct orma_proto_content *content, struct orma_str packet,
			   const struct orma_content_kind *kind)
{
	struct level levels[ORMA_PROTO_DEPTH_MAX];
	int depth = 0, r = 0;
	int64_t root = find_root(content, kind);
	if (root < 0)
		return root == -ENOSPC ? 0 : (int)root;
	begin(&levels[0], packet, &orma_pb_trace_packet_desc, (uint32_t)root);
	while (depth >= 0 && r >= 0) {
		struct orma_proto_field field;
		struct level *level = &levels[depth];
		if (orma_proto_reader_next(&level->reader, &field) <= 0) {
			r = end(content, level);
			depth--;
			continue;
		}
		bool may_be_deeper = depth + 1 < ORMA_PROTO_DEPTH_MAX;
		r = take_field(content, level, &field, may_be_deeper, &level[may_be_deeper]);
		depth += r > 0;
	}
	return r == -ENOSPC ? 0 : ORMA_MIN(r, 0);
}

/* --- tables ----------------------------------------------------------------------------------- */

static const char *last_name(const char *name)
{
	const char *dot = strrchr(name, '.');
	return dot ? dot + 1 : name;
}

static const char *type_name(const struct orma_content_node *node)
{
	static const char *const kinds[] = {"bool",    "int32",    "int64",    "uint32",
					    "uint64",  "sint32",   "sint64",   "fixed32",
					    "fixed64", "sfixed32", "sfixed64", "float",
					    "double",  "enum",     "string",   "bytes"};
	if (!node->parent_desc)
		return last_name(orma_pb_trace_packet_desc.name);
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find(node->parent_desc, node->field_id);
	if (!field)
		return "";
	return field->kind == ORMA_PROTO_KIND_MESSAGE
		       ? last_name(node->parent_desc->types[field->type_idx].message->name)
		       : kinds[field->kind];
}

/* Returns NULL for a root. */
static const char *field_name(const struct orma_content_node *node)
{
	if (!node->parent_desc)
		return NULL;
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find(node->parent_desc, node->field_id);
	return field ? orma_proto_field_name(node->parent_desc, field) : "unknown";
}

static int64_t kind_args(const struct orma_content_kind *kind, struct orma_tables *tables,
			 struct orma_arg_sets *sets, int *reterr)
{
	struct orma_arg_list list = {.tables = tables};
	int64_t set = ORMA_CELL_NULL;
	const int64_t cells[] = {kind->category, kind->name};
	static const struct orma_str keys[] = {{"event.category", 14}, {"event.name", 10}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cells) && kind->is_event; i++)
		if (cells[i] != ORMA_CELL_NULL)
			orma_arg_list_add(&list, keys[i], keys[i], ORMA_ARG_STRING, cells[i]);
	if (kind->is_skipped)
		orma_arg_list_add_string(&list, "skipped_packet",
					 ORMA_STR("invalid_incremental_state"));
	*reterr = list.error < 0 ? list.error : orma_arg_sets_add(sets, &list, &set);
	orma_arg_list_done(&list);
	return set;
}

/* The path of a node is its parent's, with a name and a type more; parents come first. `paths` has their cells. */
static int64_t make_path(const struct orma_content_node *node, const int64_t *paths,
			 struct orma_tables *tables, struct orma_buf *text)
{
	text->size = 0;
	const char *name = field_name(node);
	struct orma_str parent = {NULL, 0};
	if (name)
		parent = orma_store_pool_get(&tables->strings, (uint32_t)paths[node->parent]);
	int r = name ? orma_base_buf_printf(text, "%.*s.#%s.", (int)parent.size, parent.data, name)
		     : 0;
	if (r >= 0)
		r = orma_base_buf_append_str(text, type_name(node));
	return r < 0 ? r
		     : orma_tables_string(tables,
					  (struct orma_str){(const char *)text->data, text->size});
}

static int write_node(const struct orma_proto_content *content, uint32_t idx, int64_t *paths,
		      struct orma_tables *tables, struct orma_arg_sets *sets, struct orma_buf *text)
{
	const struct orma_content_node *node = &content->nodes[idx];
	const char *name = field_name(node);
	char marked[160];
	int r = 0;
	paths[idx] = make_path(node, paths, tables, text);
	if (paths[idx] < 0)
		return paths[idx] == ORMA_CELL_NULL ? -ENOMEM : (int)paths[idx];
	snprintf(marked, sizeof(marked), "#%s", name ? name : "");
	int64_t path[ORMA_PROTO_PATH_COLUMNS] = {
		[ORMA_PROTO_PATH_PARENT_ID] = name ? node->parent : ORMA_CELL_NULL,
		[ORMA_PROTO_PATH_FIELD_TYPE] =
			orma_tables_string(tables, orma_base_str(type_name(node))),
		[ORMA_PROTO_PATH_FIELD_NAME] =
			name ? orma_tables_string(tables, orma_base_str(marked)) : ORMA_CELL_NULL,
		[ORMA_PROTO_PATH_ARG_SET_ID] =
			name ? ORMA_CELL_NULL : kind_args(&node->kind, tables, sets, &r),
	};
	int64_t row[ORMA_PROTO_CONTENT_COLUMNS] = {
		[ORMA_PROTO_CONTENT_PATH] = paths[idx],
		[ORMA_PROTO_CONTENT_PATH_ID] = idx,
		[ORMA_PROTO_CONTENT_TOTAL_SIZE] = (int64_t)node->bytes,
		[ORMA_PROTO_CONTENT_SIZE] = (int64_t)node->bytes,
		[ORMA_PROTO_CONTENT_COUNT] = (int64_t)node->count,
	};
	if (r == 0)
		r = orma_store_table_append(&tables->all[ORMA_TABLE_PROTO_PATH], path);
	return r < 0 || node->count == 0
		       ? r
		       : orma_store_table_append(&tables->all[ORMA_TABLE_PROTO_CONTENT], row);
}

int orma_proto_content_write(const struct orma_proto_content *content, struct orma_tables *tables,
			     struct orma_arg_sets *sets)
{
	struct orma_buf text = {0};
	if (content->count == 0)
		return 0;
	int64_t *paths = orma_base_alloc_array(content->count, sizeof(*paths));
	int r = paths ? 0 : -ENOMEM;
	for (uint32_t i = 0; i < content->count && r == 0; i++)
		r = write_node(content, i, paths, tables, sets, &text);
	orma_base_free(paths);
	orma_base_buf_done(&text);
	return r;
}
