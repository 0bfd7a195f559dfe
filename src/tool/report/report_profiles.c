/* SPDX-License-Identifier: Apache-2.0
 * report_profiles.c - profiles as tables of functions, which need no script, and as the nodes of flame graphs, which the page draws.
 *
 * Sides are made comparable first: two recordings hardly ever have equally many samples, so each side's samples and times
 * count as shares of all that the side has. Bytes of a heap count as they are. In the flame graph of a comparison a node is as wide as
 * both sides are together, so that functions which only one of them has are seen, too.
 */
#include "tool/report/report_profiles.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "tool/ask/fact_table.h"
#include "tool/ask/units.h"
#include "tool/report/html.h"

enum { A, B };
/* A node that is narrower than this part of the graph is not drawn, and is left out with all below it. */
enum { WIDTHS_MIN = 2000 };

static bool is_empty(const struct orma_profile_tree *tree)
{
	return tree->all[A] <= 0 && tree->all[B] <= 0;
}

bool orma_report_has_profiles(const struct orma_profile_trees *trees)
{
	for (size_t i = 0; i < trees->count; i++)
		if (!is_empty(&trees->items[i]))
			return true;
	return false;
}

static bool has_unit(const struct orma_profile_tree *tree, const char *unit)
{
	return strcmp(tree->unit, unit) == 0;
}

static enum orma_fact_kind kind_of(const struct orma_profile_tree *tree)
{
	if (has_unit(tree, "ns"))
		return ORMA_FACT_NS;
	if (has_unit(tree, "bytes"))
		return ORMA_FACT_BYTES;
	return has_unit(tree, "samples") ? ORMA_FACT_COUNT : ORMA_FACT_NUMBER;
}

/* The fact has what its kind needs. */
static struct orma_fact value_fact(double value)
{
	double rounded = fmin(fmax(value, -0x1p62), 0x1p62);
	return (struct orma_fact){
		.is_known = true, .number = value, .integer = (int64_t)llround(rounded)};
}

static double share(double part, double all)
{
	return all > 0 ? part / all : 0;
}

/* Makes the sides of a comparison comparable. */
static double scaled(const struct orma_profile_tree *tree, unsigned side, double value)
{
	return has_unit(tree, "bytes") ? value : share(value, tree->all[side]);
}

/* --- tables ---------------------------------------------------------------------------------- */

/* A function with what it is sorted by. */
struct ranked {
	struct orma_profile_function function;
	double rank;
	size_t place;
};

static int compare_ranks(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	if (x->rank != y->rank)
		return x->rank > y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static double change_of(const struct orma_profile_tree *tree,
			const struct orma_profile_weight weights[ORMA_PROFILE_SIDES], bool is_total)
{
	double before = is_total ? weights[A].total : weights[A].self;
	double after = is_total ? weights[B].total : weights[B].self;
	return scaled(tree, B, after) - scaled(tree, A, before);
}

/* Sorts the functions by their own weight or its change; the total decides between those that are equal. */
static int rank_functions(const struct orma_profile_trees *trees,
			  const struct orma_profile_tree *tree, bool is_comparison,
			  struct ranked **ret, size_t *ret_count)
{
	struct orma_profile_function *functions;
	size_t count;
	int r = orma_profile_tree_functions(trees, tree, &functions, &count);
	if (r < 0)
		return r;
	struct ranked *ranked = orma_base_alloc_array(count + 1, sizeof(*ranked));
	for (size_t i = 0; i < count && ranked; i++) {
		const struct orma_profile_weight *weights = functions[i].weights;
		double rank = is_comparison ? fabs(change_of(tree, weights, false)) +
						      1e-6 * fabs(change_of(tree, weights, true))
					    : weights[A].self + 1e-6 * weights[A].total;
		ranked[i] = (struct ranked){functions[i], rank, i};
	}
	orma_base_free(functions);
	if (!ranked)
		return -ENOMEM;
	qsort(ranked, count, sizeof(*ranked), compare_ranks);
	*ret = ranked;
	*ret_count = count;
	return 0;
}

static int add_row(struct orma_fact_table *table, const struct orma_profile_trees *trees,
		   const struct orma_profile_tree *tree,
		   const struct orma_profile_function *function)
{
	const struct orma_profile_weight *own = &function->weights[A];
	struct orma_fact *cells = orma_fact_table_add(table);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_text(orma_store_pool_get(&trees->names, function->name));
	cells[1] = value_fact(own->self);
	cells[2] = orma_fact_number(share(own->self, tree->all[A]));
	cells[3] = value_fact(own->total);
	cells[4] = orma_fact_number(share(own->total, tree->all[A]));
	cells[5] = value_fact(own->count);
	return 0;
}

/* A change with its sign: of bytes, or of the share. */
static int add_change(struct orma_fact_table *table, const struct orma_profile_tree *tree,
		      double change, struct orma_fact *cell)
{
	char number[ORMA_UNIT_BYTES], text[ORMA_UNIT_BYTES + 8];
	double size = fabs(change);
	if (has_unit(tree, "bytes"))
		orma_units_size(size, number);
	else
		orma_units_share(size, number);
	snprintf(text, sizeof(text), "%s%s", change > 0 ? "+" : change < 0 ? "-" : "", number);
	const char *copy = orma_base_arena_strdup(table->arena, orma_base_str(text));
	*cell = (struct orma_fact){.is_known = true, .text = orma_base_str(copy ? copy : "")};
	return copy ? 0 : -ENOMEM;
}

static int add_compared_row(struct orma_fact_table *table, const struct orma_profile_trees *trees,
			    const struct orma_profile_tree *tree,
			    const struct orma_profile_function *function)
{
	const struct orma_profile_weight *weights = function->weights;
	struct orma_fact *cells = orma_fact_table_add(table);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_text(orma_store_pool_get(&trees->names, function->name));
	cells[1] = value_fact(weights[A].self);
	cells[2] = value_fact(weights[B].self);
	cells[4] = value_fact(weights[A].total);
	cells[5] = value_fact(weights[B].total);
	int r = add_change(table, tree, change_of(tree, weights, false), &cells[3]);
	return r ? r : add_change(table, tree, change_of(tree, weights, true), &cells[6]);
}

static int append_table(const struct orma_profile_trees *trees,
			const struct orma_profile_tree *tree, bool is_comparison, size_t top,
			struct orma_buf *html)
{
	enum orma_fact_kind kind = kind_of(tree);
	bool has_bytes = has_unit(tree, "bytes");
	const struct orma_fact_column one[] = {
		{NULL, "function", ORMA_FACT_TEXT},
		{NULL, "self", kind},
		{NULL, "share", ORMA_FACT_SHARE},
		{NULL, "total", kind},
		{NULL, "share", ORMA_FACT_SHARE},
		/* This would be the total again if samples are counted. */
		{NULL, kind == ORMA_FACT_COUNT ? NULL : tree->count_unit, ORMA_FACT_COUNT}};
	const char *change = has_bytes ? "change" : "change of share";
	const struct orma_fact_column both[] = {{NULL, "function", ORMA_FACT_TEXT},
						{NULL, "A self", kind},
						{NULL, "B self", kind},
						{NULL, change, ORMA_FACT_NUMBER},
						{NULL, "A total", kind},
						{NULL, "B total", kind},
						{NULL, change, ORMA_FACT_NUMBER}};
	struct orma_arena arena = {0};
	struct ranked *ranked = NULL;
	size_t count = 0;
	struct orma_fact_table table = {
		.title = is_comparison ? "Functions by the change of what they take themselves"
				       : "Functions by what they take themselves",
		.columns = is_comparison ? both : one,
		.column_count = is_comparison ? ORMA_ARRAY_SIZE(both) : ORMA_ARRAY_SIZE(one),
		.arena = &arena};
	int r = rank_functions(trees, tree, is_comparison, &ranked, &count);
	for (size_t i = 0; i < count && i < top && r == 0; i++)
		r = is_comparison ? add_compared_row(&table, trees, tree, &ranked[i].function)
				  : add_row(&table, trees, tree, &ranked[i].function);
	if (r == 0)
		r = orma_html_append_table(html, &table);
	orma_base_free(ranked);
	orma_base_arena_done(&arena);
	return r;
}

static int append_all(const struct orma_profile_tree *tree, unsigned side, struct orma_buf *html)
{
	struct orma_arena arena = {0};
	struct orma_fact all = value_fact(tree->all[side]);
	const char *text = orma_fact_show(&arena, kind_of(tree), &all);
	enum orma_fact_kind kind = kind_of(tree);
	bool has_own_unit = kind == ORMA_FACT_COUNT || kind == ORMA_FACT_NUMBER;
	int r = text ? orma_html_append_text(html, orma_base_str(text)) : -ENOMEM;
	if (r == 0 && has_own_unit)
		r = orma_base_buf_append_str(html, " ");
	if (r == 0 && has_own_unit)
		r = orma_html_append_text(html, orma_base_str(tree->unit));
	orma_base_arena_done(&arena);
	return r;
}

static int append_tree(const struct orma_profile_trees *trees, size_t number, bool is_comparison,
		       size_t top, struct orma_buf *html)
{
	const struct orma_profile_tree *tree = &trees->items[number];
	int r = orma_base_buf_append_str(html, "<h3>");
	if (r == 0)
		r = orma_html_append_text(html, orma_base_str(tree->title));
	if (r == 0)
		r = orma_base_buf_append_str(html, is_comparison ? "</h3>\n<p class=\"lead\">A: "
								 : "</h3>\n<p class=\"lead\">");
	if (r == 0)
		r = append_all(tree, A, html);
	if (r == 0 && is_comparison)
		r = orma_base_buf_append_str(html, ", B: ");
	if (r == 0 && is_comparison)
		r = append_all(tree, B, html);
	/* The script fills it and shows it. */
	if (r == 0)
		r = orma_base_buf_printf(
			html, "</p>\n<div class=\"flamebox\" id=\"flame-%zu\" hidden></div>\n",
			number);
	return r ? r : append_table(trees, tree, is_comparison, top, html);
}

int orma_report_append_profiles(const struct orma_profile_trees *trees, bool is_comparison,
				size_t top, struct orma_buf *html)
{
	if (!orma_report_has_profiles(trees))
		return 0;
	int r = orma_base_buf_append_str(html, "<h2>Profiles</h2>\n");
	for (size_t i = 0; i < trees->count && r == 0; i++)
		if (!is_empty(&trees->items[i]))
			r = append_tree(trees, i, is_comparison, top, html);
	if (r == 0 && trees->is_cut)
		r = orma_base_buf_printf(
			html,
			"<p class=\"missing\">There are more than %d profiles; the others "
			"were left out.</p>\n",
			ORMA_PROFILE_TREES_MAX);
	return r;
}

/* --- flame graphs ---------------------------------------------------------------------------- */

struct flame {
	const struct orma_profile_trees *trees;
	const struct orma_profile_tree *tree;
	bool is_comparison;
	struct orma_buf *json;
	double scales[ORMA_PROFILE_SIDES];
	double least;      /* the weight of the narrowest node that is drawn */
	uint32_t *numbers; /* + 1, by node; 0 = it is left out */
	uint32_t count;
};

static double width_of(const struct flame *flame, double before, double after)
{
	return before * flame->scales[A] + after * flame->scales[B];
}

static int append_numbers(struct orma_buf *json, const double *numbers, size_t count)
{
	int r = 0;
	for (size_t i = 0; i < count && r == 0; i++) {
		r = orma_base_buf_append_str(json, ",");
		if (r == 0)
			r = orma_json_append_double(json, numbers[i]);
	}
	return r;
}

static int append_node(struct flame *flame, uint32_t place)
{
	const struct orma_profile_node *node = &flame->tree->nodes[place];
	const struct orma_profile_weight *a = &node->weights[A], *b = &node->weights[B];
	uint32_t above = node->parent > 0 ? flame->numbers[node->parent - 1] : 0;
	double numbers[] = {width_of(flame, a->self, b->self), width_of(flame, a->total, b->total),
			    a->count + b->count, a->total, b->total};
	if (numbers[1] < flame->least || numbers[1] <= 0 || (node->parent > 0 && above == 0))
		return 0;
	struct orma_buf *json = flame->json;
	int r = orma_base_buf_printf(json, "%s[%u,%" PRId64 ",", flame->count > 0 ? ",\n" : "",
				     flame->count, (int64_t)above - 1);
	flame->numbers[place] = ++flame->count;
	if (r == 0)
		r = orma_json_append_string(json,
					    orma_store_pool_get(&flame->trees->names, node->name));
	if (r == 0)
		r = append_numbers(json, numbers, flame->is_comparison ? 5 : 3);
	return r ? r : orma_base_buf_append_str(json, "]");
}

/* Appends the sums of both sides. */
static int append_sides(struct flame *flame)
{
	int r = orma_base_buf_append_str(flame->json, ",\"sides\":[");
	if (r == 0)
		r = orma_json_append_double(flame->json, flame->tree->all[A]);
	if (r == 0)
		r = append_numbers(flame->json, &flame->tree->all[B], 1);
	return r ? r : orma_base_buf_append_str(flame->json, "]");
}

static int append_graph(struct flame *flame)
{
	const struct orma_profile_tree *tree = flame->tree;
	int r = orma_base_buf_append_str(flame->json, "{\"unit\":");
	if (r == 0)
		r = orma_json_append_string(flame->json, orma_base_str(tree->unit));
	if (r == 0 && flame->is_comparison)
		r = append_sides(flame);
	if (r == 0)
		r = orma_base_buf_append_str(flame->json, ",\"nodes\":[");
	for (uint32_t i = 0; i < tree->count && r == 0; i++)
		r = append_node(flame, i);
	return r ? r : orma_base_buf_append_str(flame->json, "]}");
}

static int append_flame(const struct orma_profile_trees *trees, size_t number, bool is_comparison,
			struct orma_buf *html)
{
	const struct orma_profile_tree *tree = &trees->items[number];
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	char id[32];
	bool is_scaled = is_comparison && !has_unit(tree, "bytes");
	struct flame flame = {
		.trees = trees,
		.tree = tree,
		.is_comparison = is_comparison,
		.json = &json,
		.numbers = orma_base_alloc_array((size_t)tree->count + 1, sizeof(*flame.numbers))};
	if (!flame.numbers)
		return -ENOMEM;
	for (size_t side = 0; side < ORMA_PROFILE_SIDES; side++) {
		flame.scales[side] = is_scaled ? share(1, tree->all[side]) : 1;
		flame.least += tree->all[side] * flame.scales[side] / WIDTHS_MIN;
	}
	snprintf(id, sizeof(id), "orma-flame-%zu", number);
	int r = append_graph(&flame);
	orma_base_free(flame.numbers);
	return r ? r : orma_html_append_json(html, id, orma_base_buf_str(&json));
}

int orma_report_append_flames(const struct orma_profile_trees *trees, bool is_comparison,
			      struct orma_buf *html)
{
	int r = 0;
	for (size_t i = 0; i < trees->count && r == 0; i++)
		if (!is_empty(&trees->items[i]))
			r = append_flame(trees, i, is_comparison, html);
	return r;
}
