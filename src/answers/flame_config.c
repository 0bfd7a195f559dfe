/* SPDX-License-Identifier: Apache-2.0
 * flame_config.c - __intrinsic_flamegraph_config('view', 'TOP_DOWN', 'value', 'value', ...): tags, each with its arguments.
 */
#include <errno.h>
#include <string.h>

#include "answers/flamegraph.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "sql/functions.h"
#include "sql/sqlite_error.h"

static void free_config(void *ctx)
{
	struct orma_flame_config *config = ctx;
	orma_base_arena_done(&config->arena);
	orma_base_free(config);
}

/* Returns the number of a word in a list that ends with NULL, or -EINVAL with a message. */
static int find_word(sqlite3_value *value, const char *const *words, struct orma_error *reterr)
{
	struct orma_str text = orma_sql_text_of(value);
	for (int i = 0; text.data && words[i]; i++)
		if (strcmp(text.data, words[i]) == 0)
			return i;
	return orma_base_error_set(reterr, -EINVAL, "__intrinsic_flamegraph_config: what is '%s'?",
				   text.data ? text.data : "NULL");
}

static int copy_text(struct orma_flame_config *config, sqlite3_value *value, const char **ret)
{
	struct orma_str text = orma_sql_text_of(value);
	*ret = orma_base_arena_strdup(&config->arena, text.data ? text : ORMA_STR(""));
	return *ret ? 0 : -ENOMEM;
}

static int take_filter(struct orma_flame_config *config, int kind, sqlite3_value **argv,
		       struct orma_error *reterr)
{
	static const char *const flags[] = {"", "i", NULL};
	size_t i = config->filter_count++;
	int flag = find_word(argv[1], flags, reterr);
	config->filters[i].kind = (enum orma_flame_filter_kind)kind;
	config->filters[i].ignores_case = flag > 0;
	return flag < 0 ? flag : copy_text(config, argv[0], &config->filters[i].pattern);
}

enum tag { TAG_VIEW, TAG_VIEW_PATTERN, TAG_FILTER, TAG_GROUPING, TAG_VALUE, TAG_AGGREGATE };

static int take_tag(struct orma_flame_config *config, enum tag tag, sqlite3_value **argv,
		    struct orma_error *reterr)
{
	static const char *const views[] = {"TOP_DOWN", "BOTTOM_UP", "PIVOT", "FROM_FRAME", NULL};
	static const char *const kinds[] = {"SHOW_STACK", "HIDE_STACK", "HIDE_FRAME", NULL};
	static const char *const aggregates[] = {"SUM", "ONE_OR_SUMMARY", "CONCAT_WITH_COMMA",
						 NULL};
	int r;
	switch (tag) {
	case TAG_VIEW:
		r = find_word(argv[0], views, reterr);
		config->view = r < 0 ? ORMA_FLAME_TOP_DOWN : (enum orma_flame_view)r;
		return ORMA_MIN(r, 0);
	case TAG_VIEW_PATTERN:
		return take_filter(config, ORMA_FLAME_VIEW, argv, reterr);
	case TAG_FILTER:
		r = find_word(argv[0], kinds, reterr);
		return r < 0 ? r : take_filter(config, r, argv + 1, reterr);
	case TAG_GROUPING:
		return copy_text(config, argv[0], &config->groupings[config->grouping_count++]);
	case TAG_VALUE:
		return copy_text(config, argv[0], &config->values[config->value_count++]);
	case TAG_AGGREGATE:
		break;
	}
	r = find_word(argv[0], aggregates, reterr);
	if (r < 0)
		return r;
	config->aggregates[config->aggregate_count].kind = (enum orma_flame_aggregate)r;
	return copy_text(config, argv[1], &config->aggregates[config->aggregate_count++].name);
}

static int read_config(struct orma_flame_config *config, int argc, sqlite3_value **argv,
		       struct orma_error *reterr)
{
	static const char *const tags[] = {"view",  "view_pattern", "filter", "grouping",
					   "value", "aggregate",    NULL};
	static const int counts[] = {1, 2, 3, 1, 1, 3};
	bool has_pattern = false;
	/* Each item has a tag, so the number of arguments bounds all lists. */
	if (argc > ORMA_FLAME_ITEMS_MAX)
		return orma_base_error_set(reterr, -EINVAL,
					   "__intrinsic_flamegraph_config: takes at most %d "
					   "arguments",
					   ORMA_FLAME_ITEMS_MAX);
	for (int i = 0; i < argc;) {
		int tag = find_word(argv[i], tags, reterr);
		if (tag >= 0 && i + counts[tag] >= argc)
			tag = orma_base_error_set(reterr, -EINVAL,
						  "__intrinsic_flamegraph_config: '%s' needs %d "
						  "arguments",
						  tags[tag], counts[tag]);
		int r = tag < 0 ? tag : take_tag(config, (enum tag)tag, argv + i + 1, reterr);
		if (r < 0)
			return r;
		has_pattern |= tag == TAG_VIEW_PATTERN;
		i += 1 + counts[tag];
	}
	bool needs_pattern =
		config->view == ORMA_FLAME_PIVOT || config->view == ORMA_FLAME_FROM_FRAME;
	return has_pattern == needs_pattern
		       ? 0
		       : orma_base_error_set(reterr, -EINVAL,
					     "__intrinsic_flamegraph_config: PIVOT and FROM_FRAME, "
					     "and only these, need a view_pattern");
}

void orma_flame_config_make(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_error error = {0};
	struct orma_flame_config *config = orma_base_zalloc(sizeof(*config));
	int r = config ? read_config(config, argc, argv, &error) : -ENOMEM;
	if (r == 0) {
		sqlite3_result_pointer(context, config, ORMA_FLAME_CONFIG, free_config);
		return;
	}
	if (config)
		free_config(config);
	orma_sql_result_refuse(context, r, &error);
}
