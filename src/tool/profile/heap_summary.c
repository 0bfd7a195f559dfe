/* SPDX-License-Identifier: Apache-2.0
 * heap_summary.c - the summary that `orma heap` prints at the end: the live and the allocated bytes, by call stack.
 *
 * The sums, the names of functions and the tree of stacks are those of `orma summary` (src/answers). This summary shows whole
 * stacks, one function a line, because the callers explain a leak.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers/cost_profiles.h"
#include "answers/stack_functions.h"
#include "answers/stack_tree.h"
#include "base/alloc.h"
#include "tool/ask/ask.h"
#include "tool/ask/units.h"
#include "tool/print.h"
#include "tool/profile/heap.h"
#include "tool/tool.h"

#define FRAMES_SHOWN 16u
#define COUNT_BYTES  (ORMA_UNIT_BYTES + 16u)

struct order {
	const struct orma_stack_tree *tree;
	size_t value;
};

static int compare_nodes(const void *a, const void *b, void *ctx)
{
	const struct order *order = ctx;
	uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	int64_t x = order->tree->nodes[left].own[order->value];
	int64_t y = order->tree->nodes[right].own[order->value];

	return x != y ? (x < y) - (x > y) : (left > right) - (left < right);
}

static int append(void *ctx, const void *data, size_t size)
{
	return orma_base_buf_append(ctx, data, size);
}

/* The summary that is printed. */
struct page {
	FILE *out;
	const struct orma_stack_tree *tree;
	const struct orma_heap_options *options;
};

/* After a program, the summary goes to standard error, because the program's standard output may be data for another one. */
static FILE *output_for(const struct orma_heap_options *options)
{
	return options->app_argv ? stderr : stdout;
}

static void print_stack(const struct page *page, uint32_t node)
{
	const struct orma_stack_tree *tree = page->tree;
	uint32_t depth = 0;

	for (uint32_t at = node; at != ORMA_STACK_TREE_ROOT; at = tree->nodes[at].parent) {
		const struct orma_stack_function *function =
			&tree->functions->items[tree->nodes[at].function];
		if (depth++ == FRAMES_SHOWN) {
			orma_tool_print_line(page->out, "             ...");
			return;
		}
		orma_tool_print_line(page->out, "             %s", function->name.data);
	}
}

/* "3 blocks", or "3 samples" if each stands for many blocks */
static const char *describe_count(const struct orma_heap_options *options, int64_t count,
				  char ret[COUNT_BYTES])
{
	const char *what = options->interval_bytes == 1 ? "block" : "sample";
	char number[ORMA_UNIT_BYTES];

	snprintf(ret, COUNT_BYTES, "%s %s%s", orma_units_count((uint64_t)count, number), what,
		 count == 1 ? "" : "s");
	return ret;
}

static void print_node(const struct page *page, uint32_t node, size_t space, size_t objects)
{
	const int64_t *own = page->tree->nodes[node].own;
	char size[ORMA_UNIT_BYTES], share[ORMA_UNIT_BYTES], count[COUNT_BYTES];
	int64_t sum = page->tree->sums[space];

	orma_tool_print_line(
		page->out, "%9s  %6s  in %s", orma_units_size((double)own[space], size),
		orma_units_share(sum > 0 ? (double)own[space] / (double)sum : 0, share),
		describe_count(page->options, own[objects], count));
	print_stack(page, node);
}

static int print_stacks(const struct page *page, const char *title, size_t space, size_t objects)
{
	const struct orma_stack_tree *tree = page->tree;
	uint64_t top = page->options->top;
	struct order order = {tree, space};
	ORMA_AUTO(orma_base_freep)
	uint32_t *nodes = orma_base_alloc_array((size_t)tree->count + 1, sizeof(*nodes));
	uint32_t count = 0;

	if (!nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < tree->count; i++)
		if (tree->nodes[i].own[space] > 0)
			nodes[count++] = i;
	if (count == 0)
		return 0;
	qsort_r(nodes, count, sizeof(*nodes), compare_nodes, &order);
	orma_tool_print_line(page->out, "%s", "");
	orma_tool_print_line(page->out, "%s", title);
	for (uint32_t i = 0; i < count && i < top; i++)
		print_node(page, nodes[i], space, objects);
	if (count > top)
		orma_tool_print_line(page->out, "           and %u more call %s (-n)",
				     (unsigned)(count - top),
				     count - top == 1 ? "stack" : "stacks");
	return 0;
}

/* A dump of the largest heap has no totals of what was allocated, as Perfetto's format says, so only its live bytes are printed. */
static void print_max(const struct page *page, const struct orma_heap_result *sums)
{
	bool is_exact = page->options->interval_bytes == 1;
	char live[ORMA_UNIT_BYTES], count[COUNT_BYTES];

	orma_units_size((double)sums->live_bytes, live);
	describe_count(page->options, sums->live_count, count);
	if (is_exact)
		orma_tool_print_line(page->out, "Heap: %s in %s lived when it was largest", live,
				     count);
	else
		orma_tool_print_line(page->out, "Heap: about %s (%s) lived when it was largest",
				     live, count);
}

static void print_sums(const struct page *page, const struct orma_heap_result *sums)
{
	const struct orma_heap_options *options = page->options;
	char live[ORMA_UNIT_BYTES], all[ORMA_UNIT_BYTES], live_count[COUNT_BYTES],
		count[COUNT_BYTES];

	if (options->dumps_at_max) {
		print_max(page, sums);
		return;
	}
	orma_units_size((double)sums->live_bytes, live);
	orma_units_size((double)sums->bytes, all);
	describe_count(options, sums->live_count, live_count);
	describe_count(options, sums->count, count);
	if (options->interval_bytes == 1)
		orma_tool_print_line(
			page->out, "Heap: %s in %s live at the end, of %s in %s that %s allocated",
			live, live_count, all, count, sums->count == 1 ? "was" : "were");
	else
		orma_tool_print_line(
			page->out,
			"Heap: about %s (%s) live at the end, of about %s (%s) that were allocated",
			live, live_count, all, count);
}

static int print_page(const struct orma_stack_tree *tree, const struct orma_heap_options *options,
		      struct orma_heap_result *ret)
{
	const struct page page = {output_for(options), tree, options};

	*ret = (struct orma_heap_result){
		.live_bytes = tree->sums[ORMA_HEAP_INUSE_SPACE],
		.live_count = tree->sums[ORMA_HEAP_INUSE_OBJECTS],
		.bytes = tree->sums[ORMA_HEAP_ALLOC_SPACE],
		.count = tree->sums[ORMA_HEAP_ALLOC_OBJECTS],
	};
	if (options->is_quiet)
		return 0;
	print_sums(&page, ret);
	int r = print_stacks(&page,
			     options->dumps_at_max ? "Live when the heap was largest, by call stack"
						   : "Live at the end, by call stack",
			     ORMA_HEAP_INUSE_SPACE, ORMA_HEAP_INUSE_OBJECTS);
	if (r == 0 && !options->dumps_at_max)
		r = print_stacks(&page, "Allocated in all, by call stack", ORMA_HEAP_ALLOC_SPACE,
				 ORMA_HEAP_ALLOC_OBJECTS);
	return r;
}

/* The text of the only cell of an answer. */
static struct orma_str ask_cell(struct orma_ask *ask, struct orma_str query, struct orma_buf *text)
{
	struct orma_error error;

	if (orma_ask_run(ask, query, ORMA_ASK_CSV, append, text, &error) < 0 || text->size == 0 ||
	    !orma_base_buf_cstr(text))
		return (struct orma_str){0};
	const char *line = strchr((const char *)text->data, '\n');
	if (!line)
		return (struct orma_str){0};
	line += line[1] == '"' ? 2 : 1;
	return (struct orma_str){line, strcspn(line, "\"\n")};
}

static uint64_t ask_number(struct orma_ask *ask, struct orma_str query)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_str cell = ask_cell(ask, query, &text);

	return cell.size > 0 ? strtoull(cell.data, NULL, 10) : 0;
}

/* True when a process has connected. */
static bool has_dump(struct orma_ask *ask)
{
	return ask_number(ask, ORMA_STR("select count(*) from heap_profile")) > 0;
}

/* Names the allocations that the profiler could not see. They do not make the profile incomplete. */
static void warn_of_limits(struct orma_ask *ask)
{
	uint64_t unseen_bytes =
		ask_number(ask, ORMA_STR("select coalesce(sum(value), 0) from stats where name = "
					 "'heapprofd_unseen_bytes'"));
	uint64_t cut_off = ask_number(ask, ORMA_STR("select count(*) from stats where name = "
						    "'heapprofd_ended_abruptly' and value > 0"));
	char text[ORMA_UNIT_BYTES];

	if (unseen_bytes > 0)
		orma_tool_warn("children that execute no other program have allocated %s before "
			       "they were connected to the profiler; the numbers lack that",
			       orma_units_size((double)unseen_bytes, text));
	if (cut_off > 0)
		orma_tool_warn("%llu %s with several threads ended by a signal, _exit() or exec; "
			       "allocations of threads that began in the last 100 ms may be "
			       "missing",
			       (unsigned long long)cut_off, cut_off == 1 ? "process" : "processes");
}

/* Names the losses of the profile. True if there are any. */
static bool warn_of_losses(struct orma_ask *ask)
{
	static const char query[] =
		"select coalesce(group_concat(text, '; '), '') from (select distinct case name "
		"when 'heapprofd_buffer_overran' then 'samples or frees were lost, because the "
		"program allocated faster than they were read; try a larger interval (-i)' when "
		"'heapprofd_buffer_corrupted' then 'the program has damaged the profile' when "
		"'heapprofd_missing_packet' then 'parts of the profile did not fit into the trace' "
		"when 'heapprofd_reconnected' then 'the connection to the program was lost and "
		"made again, and what happened between is missing' else 'the profiler has ended "
		"the profile early' end as text from stats where name in "
		"('heapprofd_buffer_overran', 'heapprofd_buffer_corrupted', "
		"'heapprofd_hit_guardrail', 'heapprofd_missing_packet', 'heapprofd_reconnected') "
		"and value > 0)";
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	struct orma_str cell = ask_cell(ask, ORMA_STR(query), &text);

	if (cell.size > 0)
		orma_tool_warn("%.*s", (int)cell.size, cell.data);
	return cell.size > 0;
}

static int summarize(const struct orma_trace_database *database,
		     const struct orma_heap_options *options, struct orma_heap_result *ret)
{
	struct orma_cost_profiles profiles = {0};
	struct orma_stack_functions functions = {0};
	int r = orma_cost_profiles_read(&profiles, database);

	if (r == 0)
		r = orma_stack_functions_read(&functions, database);
	bool has_heap = false;
	for (uint32_t i = 0; i < profiles.count && r == 0; i++) {
		struct orma_stack_tree tree = {0};
		if (!profiles.items[i].is_heap)
			continue;
		has_heap = true;
		r = orma_stack_tree_build(&tree, &functions, &profiles.items[i]);
		if (r == 0)
			r = print_page(&tree, options, ret);
		orma_stack_tree_done(&tree);
	}
	orma_stack_functions_done(&functions);
	orma_cost_profiles_done(&profiles);
	return r < 0 ? r : has_heap;
}

static void print_nothing(const struct orma_heap_options *options)
{
	const char *text =
		options->interval_bytes == 1
			? "Heap: no allocation was seen. Either the program allocates nothing, or "
			  "it has an allocator of its own, such as a sanitizer's, which no "
			  "preloaded "
			  "library replaces. Use --follow for a program that runs others, as a "
			  "script does."
			: "Heap: no allocation was sampled. Use -i 1 for a program that allocates "
			  "little, and --follow for one that runs others, as a script does.";

	orma_tool_print_line(output_for(options), "%s", text);
}

int orma_heap_summarize(const char *trace_path, const struct orma_heap_options *options,
			struct orma_heap_result *ret)
{
	struct orma_ask_options ask_options = {0};
	struct orma_ask *ask = orma_ask_load(trace_path, &ask_options);

	if (!ask)
		return ORMA_EXIT_FAILURE;
	int r = summarize(orma_ask_database(ask), options, ret);
	bool has_data = r > 0 || has_dump(ask);
	ret->is_incomplete = warn_of_losses(ask);
	if (!options->is_quiet)
		warn_of_limits(ask);
	orma_ask_free(ask);
	if (r < 0)
		return orma_tool_fail("cannot sum up the profile: %s", strerror(-r));
	if (r == 0 && has_data && !options->is_quiet)
		print_nothing(options);
	ret->has_no_data = !has_data;
	if (has_data)
		return ORMA_EXIT_OK;
	if (options->pid)
		return orma_tool_fail("process %d has sent no data; if no message above says why, "
				      "it does not run with liborma-heap.so: start it with `orma "
				      "heap -- PROGRAM`",
				      (int)options->pid);
	return orma_tool_fail("%s has sent no data; if no message above says why, its loader has "
			      "ignored liborma-heap.so, or it ended before it was connected to the "
			      "profiler",
			      options->app_argv[0]);
}
