/* SPDX-License-Identifier: Apache-2.0
 * summary_samples.c - what profilers found: the functions that samples are in, where threads waited, and where memory is.
 *
 * Each table begins with what cost most. Waits and heaps are shown by call stack, the innermost function first, because the
 * function that asks for memory, or waits, is often one of a library, and says little without its callers.
 */
#include <errno.h>
#include <stdlib.h>

#include "answers/cost_profiles.h"
#include "answers/stack_tree.h"
#include "base/alloc.h"
#include "base/macros.h"
#include "tool/ask/summary_facts.h"

enum { STACK_FRAMES_MAX = 24 };

static const struct orma_fact_column sample_columns[] = {
	{"function", "function", ORMA_FACT_TEXT},
	{"samples", "samples", ORMA_FACT_COUNT},
	{"share", "share", ORMA_FACT_SHARE},
	{"total_samples", "with callees", ORMA_FACT_COUNT},
	{"total_share", "share", ORMA_FACT_SHARE},
	{"profile", NULL, ORMA_FACT_TEXT},
};

static const struct orma_fact_column several_columns[] = {
	{"function", "function", ORMA_FACT_TEXT},
	{"samples", "samples", ORMA_FACT_COUNT},
	{"share", "share", ORMA_FACT_SHARE},
	{"total_samples", "with callees", ORMA_FACT_COUNT},
	{"total_share", "share", ORMA_FACT_SHARE},
	{"profile", "profile", ORMA_FACT_TEXT},
};

static const struct orma_fact_column wait_columns[] = {
	{"time_ns", "time", ORMA_FACT_NS},
	{"share", "share", ORMA_FACT_SHARE},
	{"stack", "call stack", ORMA_FACT_TEXT},
	{"profile", NULL, ORMA_FACT_TEXT},
};

static const struct orma_fact_column heap_function_columns[] = {
	{"function", "function", ORMA_FACT_TEXT},
	{"inuse_bytes", "in use", ORMA_FACT_BYTES},
	{"total_inuse_bytes", "with callees", ORMA_FACT_BYTES},
	{"allocated_bytes", "allocated", ORMA_FACT_BYTES},
	{"total_allocated_bytes", "with callees", ORMA_FACT_BYTES},
};

static const struct orma_fact_column heap_stack_columns[] = {
	{"inuse_bytes", "in use", ORMA_FACT_BYTES},
	{"inuse_objects", "objects", ORMA_FACT_COUNT},
	{"allocated_bytes", "allocated", ORMA_FACT_BYTES},
	{"allocated_objects", "objects", ORMA_FACT_COUNT},
	{"stack", "call stack", ORMA_FACT_TEXT},
};

/* A profile that is shown. */
struct page {
	struct orma_summary *summary;
	struct orma_stack_functions functions;
	struct orma_stack_tree tree;
};

/* --- the order of rows ------------------------------------------------------------------------ */

struct order {
	const struct orma_stack_tree *tree;
	size_t value, second; /* compared first, and second */
};

static int compare_numbers(int64_t a, int64_t b)
{
	return (a < b) - (a > b);
}

static int compare_functions(const void *a, const void *b, void *ctx)
{
	const struct orma_function_cost *x = a, *y = b;
	const struct order *order = ctx;
	int by_own = compare_numbers(x->own[order->value], y->own[order->value]);
	int by_total = compare_numbers(x->total[order->value], y->total[order->value]);
	int by_second = compare_numbers(x->own[order->second], y->own[order->second]);
	if (by_own || by_total || by_second)
		return by_own ? by_own : by_total ? by_total : by_second;
	return strcmp(order->tree->functions->items[x->function].name.data,
		      order->tree->functions->items[y->function].name.data);
}

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct order *order = ctx;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	const struct orma_stack_node *x = &order->tree->nodes[left],
				     *y = &order->tree->nodes[right];
	int by_value = compare_numbers(x->own[order->value], y->own[order->value]);
	int by_second = compare_numbers(x->own[order->second], y->own[order->second]);
	return by_value ? by_value : by_second ? by_second : (left > right) - (left < right);
}

/* --- rows ------------------------------------------------------------------------------------- */

static struct orma_fact share_of(int64_t part, int64_t all)
{
	return orma_fact_number(all > 0 ? (double)part / (double)all : 0);
}

static int copy_text(struct orma_summary *summary, struct orma_str text, struct orma_fact *ret)
{
	const char *copy = orma_base_arena_strdup(&summary->arena, text);
	*ret = orma_fact_text((struct orma_str){copy, text.size});
	return copy ? 0 : -ENOMEM;
}

static int function_fact(struct page *page, uint32_t function, struct orma_fact *ret)
{
	return copy_text(page->summary, page->functions.items[function].name, ret);
}

static int stack_fact(struct page *page, uint32_t node, struct orma_fact *ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_stack_tree_append(&page->tree, node, STACK_FRAMES_MAX, &text);
	return r < 0 ? r : copy_text(page->summary, orma_base_buf_str(&text), ret);
}

/* "linux.perf" */
static int profile_fact(struct page *page, struct orma_fact *ret)
{
	const struct orma_cost_profile *profile = page->tree.profile;
	struct orma_str name = profile->values[0].name;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = orma_base_buf_append(&text, profile->source.data, profile->source.size);
	struct orma_str detail = profile->has_weights ? name : profile->timebase;
	if (r == 0 && detail.size > 0)
		r = orma_base_buf_printf(&text, " (%.*s)", (int)detail.size, detail.data);
	return r < 0 ? r : copy_text(page->summary, orma_base_buf_str(&text), ret);
}

typedef int add_function_fn(struct page *page, const struct orma_function_cost *cost);
typedef int add_stack_fn(struct page *page, uint32_t node);

static int each_function(struct page *page, size_t value, size_t second, add_function_fn *add)
{
	struct order order = {&page->tree, value, second};
	ORMA_AUTO(orma_base_freep) struct orma_function_cost *costs = NULL;
	uint32_t count = 0;
	int r = orma_stack_tree_functions(&page->tree, &costs, &count);
	if (r == 0 && count > 0)
		qsort_r(costs, count, sizeof(*costs), compare_functions, &order);
	for (uint32_t i = 0; r == 0 && i < count && i < page->summary->top; i++)
		r = add(page, &costs[i]);
	return r;
}

static int each_stack(struct page *page, size_t value, size_t second, add_stack_fn *add)
{
	struct order order = {&page->tree, value, second};
	ORMA_AUTO(orma_base_freep)
	uint32_t *nodes = orma_base_alloc_array((size_t)page->tree.count + 1, sizeof(*nodes));
	uint32_t count = 0;
	int r = nodes ? 0 : -ENOMEM;
	for (uint32_t i = 0; r == 0 && i < page->tree.count; i++)
		if (page->tree.nodes[i].own[value] != 0 || page->tree.nodes[i].own[second] != 0)
			nodes[count++] = i;
	if (count > 0)
		qsort_r(nodes, count, sizeof(*nodes), compare_nodes, &order);
	for (uint32_t i = 0; r == 0 && i < count && i < page->summary->top; i++)
		r = add(page, nodes[i]);
	return r;
}

static int add_samples_row(struct page *page, const struct orma_function_cost *cost)
{
	struct orma_fact *cells = orma_fact_table_add(&page->summary->samples);
	if (!cells)
		return -ENOMEM;
	cells[1] = orma_fact_integer(cost->own[0]);
	cells[2] = share_of(cost->own[0], page->tree.sums[0]);
	cells[3] = orma_fact_integer(cost->total[0]);
	cells[4] = share_of(cost->total[0], page->tree.sums[0]);
	int r = profile_fact(page, &cells[5]);
	return r < 0 ? r : function_fact(page, cost->function, &cells[0]);
}

static int add_wait_row(struct page *page, uint32_t node)
{
	struct orma_fact *cells = orma_fact_table_add(&page->summary->waits);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_integer(page->tree.nodes[node].own[0]);
	cells[1] = share_of(page->tree.nodes[node].own[0], page->tree.sums[0]);
	int r = profile_fact(page, &cells[3]);
	return r < 0 ? r : stack_fact(page, node, &cells[2]);
}

static int add_heap_function(struct page *page, const struct orma_function_cost *cost)
{
	struct orma_fact *cells = orma_fact_table_add(&page->summary->heap_functions);
	if (!cells)
		return -ENOMEM;
	cells[1] = orma_fact_number((double)cost->own[ORMA_HEAP_INUSE_SPACE]);
	cells[2] = orma_fact_number((double)cost->total[ORMA_HEAP_INUSE_SPACE]);
	cells[3] = orma_fact_number((double)cost->own[ORMA_HEAP_ALLOC_SPACE]);
	cells[4] = orma_fact_number((double)cost->total[ORMA_HEAP_ALLOC_SPACE]);
	return function_fact(page, cost->function, &cells[0]);
}

static int add_heap_stack(struct page *page, uint32_t node)
{
	const int64_t *own = page->tree.nodes[node].own;
	struct orma_fact *cells = orma_fact_table_add(&page->summary->heap_stacks);
	if (!cells)
		return -ENOMEM;
	cells[0] = orma_fact_number((double)own[ORMA_HEAP_INUSE_SPACE]);
	cells[1] = orma_fact_integer(own[ORMA_HEAP_INUSE_OBJECTS]);
	cells[2] = orma_fact_number((double)own[ORMA_HEAP_ALLOC_SPACE]);
	cells[3] = orma_fact_integer(own[ORMA_HEAP_ALLOC_OBJECTS]);
	return stack_fact(page, node, &cells[4]);
}

/* --- tables ----------------------------------------------------------------------------------- */

static int add_heap(struct page *page)
{
	struct orma_summary *summary = page->summary;
	const int64_t *sums = page->tree.sums;
	summary->heap = (struct orma_heap_sums){.inuse_bytes = sums[ORMA_HEAP_INUSE_SPACE],
						.inuse_objects = sums[ORMA_HEAP_INUSE_OBJECTS],
						.allocated_bytes = sums[ORMA_HEAP_ALLOC_SPACE],
						.allocated_objects = sums[ORMA_HEAP_ALLOC_OBJECTS]};
	int r = each_function(page, ORMA_HEAP_INUSE_SPACE, ORMA_HEAP_ALLOC_SPACE,
			      add_heap_function);
	return r < 0 ? r
		     : each_stack(page, ORMA_HEAP_INUSE_SPACE, ORMA_HEAP_ALLOC_SPACE,
				  add_heap_stack);
}

static int add_waits(struct page *page, const struct orma_cost_profile *profile)
{
	uint64_t count = orma_cost_profile_wait_count(profile);

	if (count > 0) {
		page->summary->wait_count += count;
		page->summary->recorded_waits += profile->sample_count;
	}
	return each_stack(page, 0, 0, add_wait_row);
}

static int add_profile(struct page *page, const struct orma_cost_profile *profile)
{
	int r = orma_stack_tree_build(&page->tree, &page->functions, profile);
	if (r == 0 && profile->is_heap)
		r = add_heap(page);
	else if (r == 0 && orma_cost_profile_is_time(profile))
		r = add_waits(page, profile);
	else if (r == 0)
		r = each_function(page, 0, 0, add_samples_row);
	orma_stack_tree_done(&page->tree);
	return r;
}

static void make_tables(struct orma_summary *summary, bool has_several)
{
	summary->samples = (struct orma_fact_table){
		.key = "samples_by_function",
		.title = "Samples by function, the innermost one of each stack",
		.columns = has_several ? several_columns : sample_columns,
		.column_count = ORMA_ARRAY_SIZE(sample_columns),
		.arena = &summary->arena};
	summary->waits = (struct orma_fact_table){.key = "time_by_stack",
						  .title = "Time by call stack",
						  .columns = wait_columns,
						  .column_count = ORMA_ARRAY_SIZE(wait_columns),
						  .arena = &summary->arena};
	summary->heap_functions =
		(struct orma_fact_table){.key = "heap_by_function",
					 .title = "Heap by function",
					 .columns = heap_function_columns,
					 .column_count = ORMA_ARRAY_SIZE(heap_function_columns),
					 .arena = &summary->arena};
	summary->heap_stacks = (struct orma_fact_table){
		.key = "heap_by_stack",
		.title = "Heap by call stack, the innermost function first",
		.columns = heap_stack_columns,
		.column_count = ORMA_ARRAY_SIZE(heap_stack_columns),
		.arena = &summary->arena};
}

int orma_summary_find_samples(struct orma_summary *summary)
{
	struct page page = {.summary = summary};
	struct orma_cost_profiles profiles = {.items = NULL};
	unsigned counted = 0;
	int r = orma_cost_profiles_read(&profiles, summary->database);
	if (r == 0 && profiles.count > 0)
		r = orma_stack_functions_read(&page.functions, summary->database);
	for (uint32_t i = 0; i < profiles.count; i++)
		counted += !profiles.items[i].is_heap &&
			   !orma_cost_profile_is_time(&profiles.items[i]);
	make_tables(summary, counted > 1);
	for (uint32_t i = 0; r == 0 && i < profiles.count; i++)
		r = add_profile(&page, &profiles.items[i]);
	orma_stack_functions_done(&page.functions);
	orma_cost_profiles_done(&profiles);
	return r;
}
