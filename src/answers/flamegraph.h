/* SPDX-License-Identifier: Apache-2.0
 * flamegraph.h - flame graphs of a table of stacks: equal frames under equal callers become one box, with a place.
 */
#ifndef ORMA_ANSWERS_FLAMEGRAPH_H
#define ORMA_ANSWERS_FLAMEGRAPH_H

#include <orma/error.h>

#include "base/arena.h"
#include "sql/row_set.h"

enum orma_flame_view {
	ORMA_FLAME_TOP_DOWN,
	ORMA_FLAME_BOTTOM_UP,
	ORMA_FLAME_PIVOT,      /* callers above and callees below frames that match */
	ORMA_FLAME_FROM_FRAME, /* callees of frames that match */
};

enum orma_flame_filter_kind {
	ORMA_FLAME_SHOW_STACK,
	ORMA_FLAME_HIDE_STACK,
	ORMA_FLAME_HIDE_FRAME,
	ORMA_FLAME_VIEW, /* the frames of the last two views */
	ORMA_FLAME_FILTER_KINDS
};

enum orma_flame_aggregate {
	ORMA_FLAME_SUM,
	ORMA_FLAME_ONE_OR_SUMMARY,
	ORMA_FLAME_CONCAT_WITH_COMMA,
};

enum { ORMA_FLAME_ITEMS_MAX = 61, ORMA_FLAME_NODES_MAX = 1 << 24 };

/* The wishes of a query. The texts are in the arena. */
struct orma_flame_config {
	struct orma_arena arena;
	enum orma_flame_view view;
	size_t filter_count, grouping_count, value_count, aggregate_count;
	struct {
		enum orma_flame_filter_kind kind;
		const char *pattern;
		bool ignores_case;
	} filters[ORMA_FLAME_ITEMS_MAX];
	const char *groupings[ORMA_FLAME_ITEMS_MAX];
	const char *values[ORMA_FLAME_ITEMS_MAX];
	struct {
		enum orma_flame_aggregate kind;
		const char *name;
	} aggregates[ORMA_FLAME_ITEMS_MAX];
};

/* The SQL function that makes a configuration, and the type of the pointer that it returns. */
#define ORMA_FLAME_CONFIG "orma flame config"
void orma_flame_config_make(sqlite3_context *context, int argc, sqlite3_value **argv);

/* The first columns of a source. */
enum { ORMA_FLAME_ID, ORMA_FLAME_PARENT, ORMA_FLAME_NAME, ORMA_FLAME_VALUE, ORMA_FLAME_FIXED };

/* A table of stacks. Parents stand before their children. */
struct orma_flame_source {
	struct orma_row_set rows;
	char **names;      /* each column has one */
	uint32_t *parents; /* rows; UINT32_MAX = none */
	uint8_t *
		types; /* each column has one: SQLITE_INTEGER, SQLITE_FLOAT, SQLITE_TEXT, or SQLITE_NULL when all are NULL */
};

void orma_flame_source_done(struct orma_flame_source *source);
/* Sorts the rows, and finds parents and types. 0, -ENOMEM, or -EINVAL with a message. */
int orma_flame_source_finish(struct orma_flame_source *source, struct orma_error *reterr);
/* Returns a column, or -EINVAL with a message. */
int orma_flame_source_find(const struct orma_flame_source *source, const char *name,
			   struct orma_error *reterr);

struct orma_flame_metric {
	size_t column;
	bool is_double;
	int64_t *self, *total; /* by node: integers, or the bits of doubles */
};

/* A box. Boxes of callees come first, each behind its parent. */
struct orma_flame_node {
	uint32_t parent; /* UINT32_MAX = none */
	uint32_t frame;  /* a row of the source that it stands for */
};

struct orma_flamegraph {
	const struct orma_flame_source *source;
	const struct orma_flame_config *config;
	struct orma_flame_node *nodes;
	uint32_t node_count, node_capacity;
	uint32_t down_count; /* nodes of callees */
	struct orma_flame_metric metrics[ORMA_FLAME_ITEMS_MAX];
	size_t groupings[ORMA_FLAME_ITEMS_MAX]; /* columns */
	/* Only aggregates need these. They say which rows of the source a node adds up. */
	uint32_t *retained;  /* by row: the frame that is shown for it; UINT32_MAX = none */
	uint8_t *is_used;    /* by row: its stack is shown */
	uint32_t *down_node; /* by row; UINT32_MAX = none */
	struct orma_flame_part *parts; /* only callers have them */
	uint32_t part_count, part_capacity;
};

struct orma_flame_part {
	uint32_t frame, node;
};

void orma_flamegraph_done(struct orma_flamegraph *graph);
/* `graph` is {0}. Source and config outlive it. 0, -ENOMEM, -EINVAL with a message, or -ECANCELED. */
int orma_flamegraph_build(struct orma_flamegraph *graph, const struct orma_flame_source *source,
			  const struct orma_flame_config *config, struct orma_error *reterr);
/* Computes an aggregate into the cells and types of all nodes. Errors as above. */
int orma_flamegraph_aggregate(const struct orma_flamegraph *graph, size_t aggregate,
			      int64_t *ret_cells, uint8_t *ret_types, struct orma_error *reterr);

/* The columns of a result before those of the source behind its fixed ones. */
enum {
	ORMA_FLAME_OUT_ID,
	ORMA_FLAME_OUT_PARENT,
	ORMA_FLAME_OUT_DEPTH,
	ORMA_FLAME_OUT_NAME,
	ORMA_FLAME_OUT_SELF,
	ORMA_FLAME_OUT_TOTAL,
	ORMA_FLAME_OUT_PARENT_TOTAL,
	ORMA_FLAME_OUT_X_START,
	ORMA_FLAME_OUT_X_END,
	ORMA_FLAME_OUT_FIXED
};
/* Places the boxes from left to right, the widest first, and writes them level by level. */
int orma_flamegraph_write(const struct orma_flamegraph *graph, struct orma_row_set *ret,
			  struct orma_error *reterr);

#endif
