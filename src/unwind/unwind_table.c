/* SPDX-License-Identifier: Apache-2.0
 * unwind_table.c - builds and searches the table of a file's unwind rules.
 *
 * A row says that a rule holds from its address up to that of the next row. A row has 4 bytes: the low
 * half of the address, and the number of the rule. A rule has 16 bytes, and no two rules are equal; a
 * large program has a few thousand. Addresses are counted from `base`, which is the first one rounded
 * down, and divided into pages of 4 KiB. `pages[i]` is the number of the first row of page i.
 *
 *   pages   [0] [1] ... [n]     n pages and the number of all rows
 *   rows    {low, rule} ...     in order of addresses
 *   rules   [0] = nothing known, then as they were met
 *
 * Invariant: within a page, `low` rises strictly. A search looks at the rows of one page, which lie in a
 * few cache lines, and takes the last row that begins at the address or before it. This may be the last
 * row of an earlier page, so a page needs no row at its start. Pages of 64 KiB would have 6 KiB of rows in
 * gcc's compiler; the array of smaller pages takes 1 % of its table.
 *
 * Functions are sorted by address before their programs are run, because linkers may reorder them. A
 * gap of up to GAP_MAX bytes after a function is padding, and gets the function's last rule. Otherwise
 * most functions would need a second row. For the same reason, a function that begins with the last
 * rule of the function before it gets no row there.
 *
 * A table that another process has built is checked once, as a whole, when it arrives. From then on a
 * search trusts it, because every index that it follows lies within the arrays.
 *
 * Rejected: rows of 8 bytes with the rule inside, which take twice the memory; searching .eh_frame_hdr
 * and running programs while unwinding as libgcc does, which is 25 times slower and takes locks.
 */
#include "unwind/unwind_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"
#include "unwind/cfi_run.h"

#define EH_FRAME_BYTES_MAX (64u << 20)
#define FUNCTIONS_MAX      (1u << 20)
#define ROWS_MAX           (8u << 20)
#define RULES_MAX          UINT16_MAX
#define GAP_MAX            32u
#define PAGE_SHIFT         12
#define PAGE_BYTES         (UINT64_C(1) << PAGE_SHIFT)
#define SLOTS_MIN          256u
#define CFA_LAST           ORMA_UNWIND_CFA_PLT
#define WHERE_LAST         ORMA_UNWIND_OTHER
#define PLT_SPLIT_LAST     15u

struct row {
	uint16_t low, rule;
};

struct orma_unwind_table {
	uint64_t base, end;
	uint32_t page_count, row_count, rule_count;
	uint32_t function_count, skipped_count;
	size_t bytes;
	const uint32_t *pages;
	const struct row *rows;
	const struct orma_unwind_rule *rules;
};

struct builder {
	struct orma_cfi_section section;
	struct orma_buf functions, pages, rows, rules; /* arrays of their items */
	uint16_t *slots;     /* a hash table of the numbers of rules; 0 = empty */
	uint32_t slot_count; /* a power of two, at least twice the number of rules */
	uint64_t base, end;
	uint32_t function_count, skipped_count, row_count, rule_count;
	uint16_t last_rule;
};

static void builder_done(struct builder *builder)
{
	orma_base_buf_done(&builder->functions);
	orma_base_buf_done(&builder->pages);
	orma_base_buf_done(&builder->rows);
	orma_base_buf_done(&builder->rules);
	orma_base_free(builder->slots);
}

/* --- rules ------------------------------------------------------------------------------------ */

static struct orma_unwind_rule *rules_of(const struct builder *builder)
{
	return (struct orma_unwind_rule *)(void *)builder->rules.data;
}

static uint32_t hash_rule(const struct orma_unwind_rule *rule)
{
	uint64_t words[2];

	memcpy(words, rule, sizeof(words));
	uint64_t hash = (words[0] ^ (words[1] * UINT64_C(0x9e3779b97f4a7c15))) *
			UINT64_C(0xff51afd7ed558ccd);
	return (uint32_t)(hash >> 40);
}

/* The slot of a rule, or the empty one where it belongs. */
static uint16_t *find_slot(const struct builder *builder, const struct orma_unwind_rule *rule)
{
	const struct orma_unwind_rule *rules = rules_of(builder);
	uint32_t mask = builder->slot_count - 1, slot = hash_rule(rule) & mask;

	while (builder->slots[slot] != 0 &&
	       memcmp(&rules[builder->slots[slot]], rule, sizeof(*rule)) != 0)
		slot = (slot + 1) & mask;
	return &builder->slots[slot];
}

/* The hash table grows with the rules. Most files have few, and clearing the slots for the largest number
 * would take longer than building their tables. */
static int reserve_slots(struct builder *builder)
{
	uint32_t count = ORMA_MAX(builder->slot_count * 2, SLOTS_MIN);

	if (builder->rule_count * 2 < builder->slot_count)
		return 0;
	uint16_t *slots = orma_base_alloc_array(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	orma_base_free(builder->slots);
	builder->slots = slots;
	builder->slot_count = count;
	for (uint32_t i = 1; i < builder->rule_count; i++)
		*find_slot(builder, &rules_of(builder)[i]) = (uint16_t)i;
	return 0;
}

/* The number of a rule, which is added if it is new. */
static int find_rule(struct builder *builder, const struct orma_unwind_rule *rule, uint16_t *ret)
{
	uint16_t *slot = find_slot(builder, rule);

	if (*slot != 0) {
		*ret = *slot;
		return 0;
	}
	if (builder->rule_count == RULES_MAX)
		return -EFBIG;
	int r = orma_base_buf_append(&builder->rules, rule, sizeof(*rule));
	if (r < 0)
		return r;
	*ret = *slot = (uint16_t)builder->rule_count++;
	return reserve_slots(builder);
}

/* --- rows ------------------------------------------------------------------------------------- */

/* Pages that end before the address get the number of the next row. */
static int begin_pages(struct builder *builder, uint64_t address)
{
	uint64_t page = (address - builder->base) >> PAGE_SHIFT;
	int r = 0;

	while (r == 0 && builder->pages.size / sizeof(uint32_t) <= page)
		r = orma_base_buf_append(&builder->pages, &builder->row_count,
					 sizeof(builder->row_count));
	return r;
}

static int add_row(struct builder *builder, uint64_t address, uint16_t rule)
{
	struct row row = {(uint16_t)(address - builder->base), rule};

	if (builder->row_count > 0 && rule == builder->last_rule)
		return 0;
	if (builder->row_count == ROWS_MAX)
		return -EFBIG;
	int r = begin_pages(builder, address);
	if (r == 0)
		r = orma_base_buf_append(&builder->rows, &row, sizeof(row));
	if (r < 0)
		return r;
	builder->row_count++;
	builder->last_rule = rule;
	return 0;
}

static int take_row(void *ctx, uint64_t start, uint64_t end, const struct orma_unwind_rule *rule)
{
	struct builder *builder = ctx;
	uint16_t number;
	int r = find_rule(builder, rule, &number);

	if (r == 0)
		r = add_row(builder, start, number);
	builder->end = end;
	return r;
}

/* --- functions -------------------------------------------------------------------------------- */

static int compare_functions(const void *left, const void *right)
{
	const struct orma_cfi_function *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->program.at > b->program.at) - (a->program.at < b->program.at);
}

static int collect_functions(struct builder *builder)
{
	struct orma_cfi_walk walk = {.section = &builder->section};
	struct orma_cfi_function function;
	struct orma_cfi_function *functions;
	bool is_sorted = true;
	uint64_t last = 0;

	while (orma_cfi_walk_next(&walk, &function)) {
		if (builder->function_count++ == FUNCTIONS_MAX)
			return -EFBIG;
		is_sorted = is_sorted && function.start >= last;
		last = function.start;
		int r = orma_base_buf_append(&builder->functions, &function, sizeof(function));
		if (r < 0)
			return r;
	}
	builder->skipped_count = walk.skipped_count;
	if (builder->function_count == 0)
		return -ENODATA;
	functions = (struct orma_cfi_function *)(void *)builder->functions.data;
	if (!is_sorted)
		qsort(functions, builder->function_count, sizeof(*functions), compare_functions);
	builder->base = builder->end = functions[0].start & ~(PAGE_BYTES - 1);
	return 0;
}

/* Adds a row without a rule at the end of the last function, unless only padding follows. */
static int end_function(struct builder *builder, uint64_t next_start)
{
	if (builder->row_count > 0 && next_start - builder->end > GAP_MAX)
		return add_row(builder, builder->end, 0);
	return 0;
}

static int run_functions(struct builder *builder)
{
	const struct orma_cfi_function *functions =
		(const struct orma_cfi_function *)(const void *)builder->functions.data;
	struct orma_cfi_common common = {0};
	uint32_t common_offset = 0;
	bool has_common = false;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < builder->function_count; i++) {
		const struct orma_cfi_function *function = &functions[i];

		/* Addresses are counted in 32 bits. */
		if (function->start < builder->end ||
		    function->start + function->size - builder->base > UINT32_MAX) {
			builder->skipped_count++;
			continue;
		}
		if (!has_common || common_offset != function->common_offset) {
			common_offset = function->common_offset;
			has_common = orma_cfi_common_parse(&builder->section, common_offset,
							   &common) == 0;
		}
		r = end_function(builder, function->start);
		if (r == 0 && has_common)
			r = orma_cfi_run(&builder->section, &common, function, take_row, builder);
	}
	if (r == 0)
		r = add_row(builder, builder->end, 0);
	/* The end of the last page. */
	return r < 0 ? r
		     : orma_base_buf_append(&builder->pages, &builder->row_count,
					    sizeof(builder->row_count));
}

/* --- the table -------------------------------------------------------------------------------- */

static size_t bytes_of(const struct orma_unwind_table *table)
{
	return sizeof(*table) + (size_t)table->rule_count * sizeof(*table->rules) +
	       ((size_t)table->page_count + 1) * sizeof(*table->pages) +
	       (size_t)table->row_count * sizeof(*table->rows);
}

/* The arrays lie behind the struct. */
static void set_pointers(struct orma_unwind_table *table)
{
	table->rules = (const void *)(table + 1);
	table->pages = (const void *)(table->rules + table->rule_count);
	table->rows = (const void *)(table->pages + table->page_count + 1);
}

/* One piece of memory, so that a table can be sent whole. */
static int make_table(const struct builder *builder, struct orma_unwind_table **ret)
{
	struct orma_unwind_table head = {
		.base = builder->base,
		.end = builder->end,
		.page_count = (uint32_t)(builder->pages.size / sizeof(uint32_t)) - 1,
		.row_count = builder->row_count,
		.rule_count = builder->rule_count,
		.function_count = builder->function_count,
		.skipped_count = builder->skipped_count,
	};
	head.bytes = bytes_of(&head);
	struct orma_unwind_table *table = orma_base_alloc(head.bytes);

	if (!table)
		return -ENOMEM;
	*table = head;
	set_pointers(table);
	uint8_t *at = (uint8_t *)(table + 1);
	memcpy(at, builder->rules.data, builder->rules.size);
	at += builder->rules.size;
	memcpy(at, builder->pages.data, builder->pages.size);
	memcpy(at + builder->pages.size, builder->rows.data, builder->rows.size);
	*ret = table;
	return 0;
}

static int build(struct builder *builder)
{
	static const struct orma_unwind_rule nothing = {.cfa = ORMA_UNWIND_CFA_NONE};

	int r = orma_base_buf_append(&builder->rules, &nothing, sizeof(nothing));
	builder->rule_count = 1;
	if (r == 0)
		r = reserve_slots(builder);
	if (r == 0)
		r = collect_functions(builder);
	return r < 0 ? r : run_functions(builder);
}

int orma_unwind_table_new(const struct orma_elf_file *file, struct orma_unwind_table **ret)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(builder_done) struct builder builder = {0};

	if (file->eh_frame.size == 0)
		return -ENODATA;
	int r = orma_elf_file_read_part(file, &file->eh_frame, EH_FRAME_BYTES_MAX, &content);
	if (r < 0)
		return r;
	builder.section = (struct orma_cfi_section){
		content.data,
		content.size,
		file->eh_frame.address,
		file->machine,
	};
	r = build(&builder);
	return r < 0 ? r : make_table(&builder, ret);
}

void orma_unwind_table_free(struct orma_unwind_table *table)
{
	orma_base_free(table);
}

/* --- a table that another process has built ---------------------------------------------------- */

static bool has_sane_counts(const struct orma_unwind_table *table, size_t size)
{
	return table->rule_count > 0 && table->rule_count <= RULES_MAX &&
	       table->row_count <= ROWS_MAX &&
	       table->page_count <= (UINT64_C(1) << 32 >> PAGE_SHIFT) && table->bytes == size &&
	       bytes_of(table) == size && table->base % PAGE_BYTES == 0;
}

static bool are_rules_sane(const struct orma_unwind_table *table)
{
	for (uint32_t i = 0; i < table->rule_count; i++) {
		const struct orma_unwind_rule *rule = &table->rules[i];
		if (rule->cfa > CFA_LAST || rule->return_where > WHERE_LAST ||
		    rule->fp_where > WHERE_LAST || rule->plt_split > PLT_SPLIT_LAST)
			return false;
	}
	return table->rules[0].cfa == ORMA_UNWIND_CFA_NONE;
}

/* Numbers of rows rise, and within a page, addresses rise strictly. */
static bool are_rows_sane(const struct orma_unwind_table *table)
{
	if (table->pages[0] != 0 || table->pages[table->page_count] != table->row_count)
		return false;
	for (uint32_t page = 0; page < table->page_count; page++) {
		uint32_t first = table->pages[page], end = table->pages[page + 1];
		if (first > end || end > table->row_count)
			return false;
		for (uint32_t i = first; i < end; i++)
			if (table->rows[i].rule >= table->rule_count ||
			    (i > first && table->rows[i].low <= table->rows[i - 1].low))
				return false;
	}
	return true;
}

const void *orma_unwind_table_bytes(const struct orma_unwind_table *table, size_t *ret_size)
{
	*ret_size = table->bytes;
	return table;
}

int orma_unwind_table_from_bytes(void *bytes, size_t size, struct orma_unwind_table **ret)
{
	struct orma_unwind_table *table = bytes;

	if (size < sizeof(*table) || !has_sane_counts(table, size))
		return -EBADMSG;
	set_pointers(table);
	if (!are_rules_sane(table) || !are_rows_sane(table))
		return -EBADMSG;
	*ret = table;
	return 0;
}

struct orma_unwind_table_facts orma_unwind_table_facts(const struct orma_unwind_table *table)
{
	return (struct orma_unwind_table_facts){
		.function_count = table->function_count,
		.skipped_count = table->skipped_count,
		.row_count = table->row_count,
		.rule_count = table->rule_count,
		.bytes = table->bytes,
	};
}

const struct orma_unwind_rule *orma_unwind_table_find(const struct orma_unwind_table *table,
						      uint64_t address)
{
	uint64_t distance = address - table->base;
	uint64_t page = distance >> PAGE_SHIFT;

	if (address < table->base || page >= table->page_count)
		return &table->rules[0];
	uint16_t low = (uint16_t)distance;
	uint32_t first = table->pages[page];
	uint32_t count = table->pages[page + 1] - first;

	/* `first` becomes the number of rows that begin at the address or before it. */
	while (count > 0) {
		uint32_t half = count / 2;
		uint32_t is_before = table->rows[first + half].low <= low;

		first = is_before ? first + half + 1 : first;
		count = is_before ? count - half - 1 : half;
	}
	return &table->rules[first > 0 ? table->rows[first - 1].rule : 0];
}
