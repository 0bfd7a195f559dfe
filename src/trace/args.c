/* SPDX-License-Identifier: Apache-2.0
 * args.c - a set's id is the row of its first argument in the table, and equal sets are one.
 *
 * Sets are found by a hash of 64 bits over their keys, types and values; two different sets with one hash would take 2^32 sets to
 * meet by chance. Rejected: comparing the content, which has to be read back from packed columns.
 */
#include "trace/args.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

enum { SEARCHED_ARGS = 32 }; /* a list with more has a map of its keys */

void orma_arg_list_done(struct orma_arg_list *list)
{
	orma_base_free(list->args);
	orma_base_map_done(&list->places);
	orma_base_map_done(&list->arrays);
	*list = (struct orma_arg_list){.tables = list->tables};
}

void orma_arg_list_clear(struct orma_arg_list *list)
{
	list->count = 0;
	list->error = 0;
	if (list->places.count > 0)
		orma_base_map_done(&list->places);
	if (list->arrays.count > 0)
		orma_base_map_done(&list->arrays);
}

static struct orma_arg *find_arg(struct orma_arg_list *list, uint32_t key)
{
	if (list->places.count > 0) {
		uintptr_t place = (uintptr_t)orma_base_map_get(&list->places, key);
		return place ? &list->args[place - 1] : NULL;
	}
	for (uint32_t i = 0; i < list->count; i++)
		if (list->args[i].key == key)
			return &list->args[i];
	return NULL;
}

static int index_args(struct orma_arg_list *list)
{
	uint32_t first = list->places.count > 0 ? list->count - 1 : 0;
	if (list->count < SEARCHED_ARGS)
		return 0;
	for (uint32_t i = first; i < list->count; i++) {
		int r = orma_base_map_put(&list->places, list->args[i].key,
					  (void *)((uintptr_t)i + 1));
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_arg(struct orma_arg_list *list, struct orma_arg arg)
{
	struct orma_arg *known = find_arg(list, arg.key);
	if (known) {
		*known = arg;
		return 0;
	}
	int r = orma_store_grow(&list->args, (uint64_t)list->count + 1, &list->capacity,
				sizeof(*list->args));
	if (r < 0)
		return r;
	list->args[list->count++] = arg;
	return index_args(list);
}

/* The pool that keys are in. */
static struct orma_string_pool *key_pool(const struct orma_arg_list *list)
{
	return list->tables->passing ? list->tables->passing : &list->tables->strings;
}

static int add_key(struct orma_arg_list *list, struct orma_str key, uint32_t *ret)
{
	return list->tables->passing ? orma_store_pool_add(list->tables->passing, key, ret)
				     : orma_tables_add_string(list->tables, key, ret);
}

struct orma_str orma_arg_list_key(const struct orma_arg_list *list, uint32_t idx)
{
	return orma_store_pool_get(key_pool(list), list->args[idx].key);
}

void orma_arg_list_add(struct orma_arg_list *list, struct orma_str flat_key, struct orma_str key,
		       enum orma_arg_type type, int64_t value)
{
	uint32_t flat_id = 0, id = 0;
	int r = list->error;
	if (r == 0)
		r = add_key(list, flat_key, &flat_id);
	/* Most keys have no index, and are the same as the flat ones. */
	bool is_same = orma_base_str_is_equal(flat_key, key);
	if (r == 0 && is_same)
		id = flat_id;
	else if (r == 0)
		r = add_key(list, key, &id);
	list->error = r;
	orma_arg_list_add_key(list, flat_id, id, type, value);
}

void orma_arg_list_add_key(struct orma_arg_list *list, uint32_t flat_key, uint32_t key,
			   enum orma_arg_type type, int64_t value)
{
	bool is_text = type == ORMA_ARG_STRING || type == ORMA_ARG_JSON;
	bool has_no_text = is_text && value == ORMA_CELL_NULL;
	struct orma_arg arg = {.flat_key = flat_key,
			       .key = key,
			       .type = has_no_text ? ORMA_ARG_NULL : type,
			       .value = value};
	if (list->error == 0)
		list->error = add_arg(list, arg);
}

void orma_arg_clean_name(char *name, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (name[i] == '.' || name[i] == '[' || name[i] == ']')
			name[i] = '_';
}

bool orma_arg_list_has(struct orma_arg_list *list, struct orma_str key)
{
	uint32_t id = orma_store_pool_find(key_pool(list), key);
	return id > 0 && find_arg(list, id) != NULL;
}

uint32_t orma_arg_list_index(struct orma_arg_list *list, struct orma_str key)
{
	uint32_t id = orma_store_pool_find(key_pool(list), key);
	return id == 0 ? 0 : (uint32_t)(uintptr_t)orma_base_map_get(&list->arrays, id);
}

void orma_arg_list_set_index(struct orma_arg_list *list, struct orma_str key, uint32_t idx)
{
	uint32_t id;
	int r = idx == 0 ? 0 : orma_store_pool_add(key_pool(list), key, &id);
	if (r == 0 && idx > 0)
		r = orma_base_map_put(&list->arrays, id, (void *)(uintptr_t)idx);
	list->error = r < 0 ? r : list->error;
}

void orma_arg_list_add_int(struct orma_arg_list *list, const char *key, int64_t value)
{
	orma_arg_list_add(list, orma_base_str(key), orma_base_str(key), ORMA_ARG_INT, value);
}

void orma_arg_list_add_string(struct orma_arg_list *list, const char *key, struct orma_str value)
{
	int64_t cell = orma_tables_passing_string(list->tables, value.data ? value : ORMA_STR(""));
	orma_arg_list_add(list, orma_base_str(key), orma_base_str(key), ORMA_ARG_STRING, cell);
}

void orma_arg_sets_done(struct orma_arg_sets *sets)
{
	orma_base_map_done(&sets->ids);
}

static uint64_t hash_list(const struct orma_arg_list *list)
{
	uint64_t hash = ORMA_FNV1A_INIT;
	for (uint32_t i = 0; i < list->count; i++) {
		const struct orma_arg *arg = &list->args[i];
		uint64_t words[] = {(uint64_t)arg->flat_key << 32 | arg->key, arg->type,
				    (uint64_t)arg->value};
		hash = orma_base_fnv1a(hash, words, sizeof(words));
	}
	return hash;
}

/* The cells of a row that depend on the type of the value. */
static void fill_value(struct orma_tables *tables, const struct orma_arg *arg,
		       int64_t cells[ORMA_ARGS_COLUMNS])
{
	static const char *const names[] = {
		[ORMA_ARG_NULL] = "null", [ORMA_ARG_INT] = "int",
		[ORMA_ARG_UINT] = "uint", [ORMA_ARG_STRING] = "string",
		[ORMA_ARG_REAL] = "real", [ORMA_ARG_POINTER] = "pointer",
		[ORMA_ARG_BOOL] = "bool", [ORMA_ARG_JSON] = "json"};
	cells[ORMA_ARGS_VALUE_TYPE] = orma_tables_string(tables, orma_base_str(names[arg->type]));
	cells[ORMA_ARGS_INT_VALUE] = cells[ORMA_ARGS_STRING_VALUE] = ORMA_CELL_NULL;
	cells[ORMA_ARGS_REAL_VALUE] = ORMA_DOUBLE_NULL;
	switch (arg->type) {
	case ORMA_ARG_NULL:
		break;
	case ORMA_ARG_STRING:
	case ORMA_ARG_JSON:
		cells[ORMA_ARGS_STRING_VALUE] = arg->value;
		break;
	case ORMA_ARG_REAL:
		cells[ORMA_ARGS_REAL_VALUE] = arg->value;
		break;
	case ORMA_ARG_INT:
	case ORMA_ARG_UINT:
	case ORMA_ARG_POINTER:
	case ORMA_ARG_BOOL:
		cells[ORMA_ARGS_INT_VALUE] = arg->value;
		break;
	}
}

int orma_arg_sets_append(struct orma_arg_sets *sets, const struct orma_arg_list *list,
			 int64_t *ret_id)
{
	struct orma_table *table = &sets->tables->all[ORMA_TABLE_ARGS];
	int64_t id = (int64_t)orma_store_table_rows(table);
	int r = list->error;
	*ret_id = ORMA_CELL_NULL;
	if (r < 0 || list->count == 0 || sets->tables->passing)
		return r;
	for (uint32_t i = 0; i < list->count && r == 0; i++) {
		int64_t cells[ORMA_ARGS_COLUMNS] = {[ORMA_ARGS_ARG_SET_ID] = id,
						    [ORMA_ARGS_FLAT_KEY] = list->args[i].flat_key,
						    [ORMA_ARGS_KEY] = list->args[i].key};
		fill_value(sets->tables, &list->args[i], cells);
		r = orma_store_table_append(table, cells);
	}
	*ret_id = id;
	return r;
}

int orma_arg_sets_add(struct orma_arg_sets *sets, const struct orma_arg_list *list, int64_t *ret_id)
{
	*ret_id = ORMA_CELL_NULL;
	if (list->error < 0 || list->count == 0 || sets->tables->passing)
		return list->error;
	uint64_t hash = hash_list(list);
	uintptr_t known = (uintptr_t)orma_base_map_get(&sets->ids, hash);
	if (known) {
		*ret_id = (int64_t)(known - 1);
		return 0;
	}
	int r = orma_arg_sets_append(sets, list, ret_id);
	return r < 0 ? r : orma_base_map_put(&sets->ids, hash, (void *)((uintptr_t)*ret_id + 1));
}
