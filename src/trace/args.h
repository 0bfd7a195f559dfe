/* SPDX-License-Identifier: Apache-2.0
 * args.h - sets of arguments: names with values that belong to a row of some table.
 */
#ifndef ORMA_TRACE_ARGS_H
#define ORMA_TRACE_ARGS_H

#include "base/map.h"
#include "trace/tables.h"

enum orma_arg_type {
	ORMA_ARG_NULL,
	ORMA_ARG_INT,
	ORMA_ARG_UINT,
	ORMA_ARG_STRING,
	ORMA_ARG_REAL,
	ORMA_ARG_POINTER,
	ORMA_ARG_BOOL,
	ORMA_ARG_JSON,
};

struct orma_arg {
	uint32_t flat_key, key; /* strings of the pool, in a live import of the passing ones */
	enum orma_arg_type type;
	int64_t value; /* the cell of a text, the bits of a double, or an integer */
};

/* A set that is being made. A key that is added twice keeps its first place and takes the later value. {.tables = ...} is
 * empty. */
struct orma_arg_list {
	struct orma_tables *tables;
	struct orma_arg *args;
	uint32_t count, capacity;
	struct orma_map places; /* index + 1 by key; used when there are many */
	struct orma_map arrays; /* the next index by the array's key, a string of the pool */
	int error;              /* the first failure of a function below, which then does nothing */
};

void orma_arg_list_done(struct orma_arg_list *list);
void orma_arg_list_clear(struct orma_arg_list *list);
/* A text that is ORMA_CELL_NULL is added as NULL, so that texts are always there. */
void orma_arg_list_add(struct orma_arg_list *list, struct orma_str flat_key, struct orma_str key,
		       enum orma_arg_type type, int64_t value);
/* The same for keys that are known by their ids. */
void orma_arg_list_add_key(struct orma_arg_list *list, uint32_t flat_key, uint32_t key,
			   enum orma_arg_type type, int64_t value);
/* Characters that separate the names of a key become '_' in a name of Perfetto. */
void orma_arg_clean_name(char *name, size_t size);
/* Returns the key of an argument. */
struct orma_str orma_arg_list_key(const struct orma_arg_list *list, uint32_t idx);
/* True when the list has an argument with this key. */
bool orma_arg_list_has(struct orma_arg_list *list, struct orma_str key);
/* Returns the index that the next entry of an array gets, and sets it: an array that is given twice goes on. */
uint32_t orma_arg_list_index(struct orma_arg_list *list, struct orma_str key);
void orma_arg_list_set_index(struct orma_arg_list *list, struct orma_str key, uint32_t idx);
/* The following have the same flat key and key. */
void orma_arg_list_add_int(struct orma_arg_list *list, const char *key, int64_t value);
void orma_arg_list_add_string(struct orma_arg_list *list, const char *key, struct orma_str value);

/* Sets that are rows of the table of args. {.tables = ...} is empty. */
struct orma_arg_sets {
	struct orma_tables *tables;
	struct orma_map ids; /* id + 1 by hash of the content */
};

void orma_arg_sets_done(struct orma_arg_sets *sets);
/* Adds a set, unless there is an equal one. `*ret_id` is ORMA_CELL_NULL for an empty list, and in a live import. 0 or a negative errno value. */
int orma_arg_sets_add(struct orma_arg_sets *sets, const struct orma_arg_list *list,
		      int64_t *ret_id);
/* Adds a set that is known to have no equal, such as one with a number of its own. It takes no memory beside its rows. */
int orma_arg_sets_append(struct orma_arg_sets *sets, const struct orma_arg_list *list,
			 int64_t *ret_id);

#endif
