/* SPDX-License-Identifier: Apache-2.0
 * fact_table.c - lays columns out within the width of the page: numbers keep theirs, and texts share what is left.
 */
#include "tool/ask/fact_table.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/assert.h"
#include "base/json_writer.h"
#include "base/macros.h"
#include "base/utf8.h"
#include "tool/ask/units.h"
#include "tool/print.h"

enum {
	PAGE_WIDTH = 100,
	PAGE_WIDTH_MIN = 60,
	PAGE_WIDTH_MAX = 250,
	COLUMNS_MAX = 20,
	TEXT_WIDTH_MIN = 8,
	GAP = 2,
};

/* --- the page --------------------------------------------------------------------------------- */

/* The locale of characters, as setlocale() would choose it. It is not called, since it changes how numbers are printed. */
static bool is_utf8_locale(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);
		if (value && *value) {
			const char *dot = strchr(value, '.');
			return dot && (strncasecmp(dot, ".UTF-8", 6) == 0 ||
				       strncasecmp(dot, ".utf8", 5) == 0);
		}
	}
	return false;
}

struct orma_page orma_page_of_output(void)
{
	struct orma_page page = {.width = PAGE_WIDTH, .is_utf8 = is_utf8_locale()};
	struct winsize size;
	if (isatty(STDOUT_FILENO) && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
	    size.ws_col > 0)
		page.width = ORMA_MIN(ORMA_MAX((unsigned)size.ws_col, (unsigned)PAGE_WIDTH_MIN),
				      (unsigned)PAGE_WIDTH_MAX);
	return page;
}

unsigned orma_page_width_of(const char *text)
{
	unsigned width = 0;
	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

const char *orma_page_fit(const struct orma_page *page, struct orma_arena *arena,
			  struct orma_str text, unsigned width)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf line = {0};
	const char *mark = page->is_utf8 ? "\xe2\x80\xa6" : "...";
	unsigned mark_width = page->is_utf8 ? 1 : 3;
	/* A character is printed as one to six others, so a name of megabytes need not be escaped as a whole. */
	bool is_cut = text.size > (size_t)width * 4;
	text.size = is_cut ? (size_t)width * 4 : text.size;
	const char *all =
		orma_tool_append_visible(&line, text) == 0 ? orma_base_buf_cstr(&line) : NULL;
	if (!all)
		return "";
	if (is_cut || orma_page_width_of(all) > width) {
		size_t size = 0;
		for (unsigned left = width - ORMA_MIN(mark_width, width); left > 0 && all[size];
		     left--)
			for (size++; ((unsigned char)all[size] & 0xc0) == 0x80;)
				size++;
		line.size = size;
		all = orma_base_buf_append_str(&line, mark) == 0 ? orma_base_buf_cstr(&line) : NULL;
	}
	const char *copy = all ? orma_base_arena_strdup(arena, orma_base_str(all)) : NULL;
	return copy ? copy : "";
}

/* Returns how many bytes fit into a line: up to the last space that lets a word end, if there is one. */
static size_t find_break(const char *text, unsigned width)
{
	size_t size = 0, space = 0;
	for (; width > 0 && text[size]; width--) {
		if (text[size] == ' ')
			space = size;
		for (size++; ((unsigned char)text[size] & 0xc0) == 0x80;)
			size++;
	}
	return text[size] == 0 || text[size] == ' ' || space == 0 ? size : space;
}

void orma_page_print_text(const struct orma_page *page, const char *first, struct orma_str text,
			  unsigned lines_max)
{
	struct orma_arena arena = {0};
	unsigned indent = orma_page_width_of(first);
	unsigned width = page->width - ORMA_MIN(indent, page->width / 2);
	/* The words' ends waste some of each line, so the text may be cut a little earlier. */
	const char *rest = orma_page_fit(page, &arena, text, width * lines_max - lines_max * 4);
	for (unsigned i = 0; *rest || i == 0; i++) {
		size_t size = i + 1 < lines_max ? find_break(rest, width) : strlen(rest);
		const char *line =
			i + 1 < lines_max
				? orma_base_arena_strdup(&arena, (struct orma_str){rest, size})
				: orma_page_fit(page, &arena, orma_base_str(rest), width);
		orma_tool_print_line(stdout, "%*s%s%s", i == 0 ? 0 : (int)indent, "",
				     i == 0 ? first : "", line ? line : "");
		rest += size;
		rest += *rest == ' ';
	}
	orma_base_arena_done(&arena);
}

/* --- tables ----------------------------------------------------------------------------------- */

struct orma_fact *orma_fact_table_add(struct orma_fact_table *table)
{
	size_t row_bytes = table->column_count * sizeof(*table->cells);
	if (table->row_count == table->capacity) {
		size_t capacity = ORMA_MAX(table->capacity * 2, (size_t)8);
		void *cells =
			orma_base_arena_grow(table->arena, table->cells,
					     table->capacity * row_bytes, capacity * row_bytes);
		if (!cells)
			return NULL;
		table->cells = cells;
		table->capacity = capacity;
	}
	return table->cells + table->row_count++ * table->column_count;
}

static const char *draw(const struct orma_page *page, struct orma_arena *arena,
			const struct orma_fact *fact)
{
	static const char ascii[] = "_.-=+*#@";
	double min = INFINITY, max = -INFINITY;
	char text[4 * 64 + 1];
	size_t size = 0;
	for (size_t i = 0; i < fact->point_count; i++) {
		min = fmin(min, fact->points[i]);
		max = fmax(max, fact->points[i]);
	}
	for (size_t i = 0; i < ORMA_MIN(fact->point_count, (size_t)64); i++) {
		double share = max > min ? (fact->points[i] - min) / (max - min) : 0;
		unsigned level = share >= 0 ? (unsigned)(share * 7.999) : 0;
		if (isnan(fact->points[i])) {
			text[size++] = ' ';
		} else if (!page->is_utf8) {
			text[size++] = ascii[level];
		} else {
			/* U+2581 to U+2588 */
			text[size++] = '\xe2';
			text[size++] = '\x96';
			text[size++] = (char)(0x81 + level);
		}
	}
	return orma_base_arena_strdup(arena, (struct orma_str){text, size});
}

const char *orma_fact_show(struct orma_arena *arena, enum orma_fact_kind kind,
			   const struct orma_fact *fact)
{
	char text[ORMA_UNIT_BYTES];
	if (!fact->is_known)
		return kind == ORMA_FACT_TEXT ? "" : "-";
	switch (fact->text.data ? ORMA_FACT_TEXT : kind) {
	case ORMA_FACT_TEXT:
		return orma_base_arena_strdup(arena, fact->text);
	case ORMA_FACT_COUNT:
		orma_units_count((uint64_t)fact->integer, text);
		break;
	case ORMA_FACT_ID:
		snprintf(text, sizeof(text), "%" PRId64, fact->integer);
		break;
	case ORMA_FACT_NS:
		orma_units_duration(fact->integer, text);
		break;
	case ORMA_FACT_BYTES:
		orma_units_size(fact->number, text);
		break;
	case ORMA_FACT_SHARE:
		orma_units_share(fact->number, text);
		break;
	default:
		orma_units_number(fact->number, text);
		break;
	}
	return orma_base_arena_strdup(arena, orma_base_str(text));
}

static const char *render(const struct orma_page *page, struct orma_arena *arena,
			  enum orma_fact_kind kind, const struct orma_fact *fact)
{
	if (fact->is_known && fact->text.data)
		return orma_page_fit(page, arena, fact->text, page->width);
	if (fact->is_known && kind == ORMA_FACT_LINE)
		return draw(page, arena, fact);
	return orma_fact_show(arena, kind, fact);
}

struct layout {
	const struct orma_fact_table *table;
	const struct orma_page *page;
	struct orma_arena arena;
	const char **texts; /* one for each cell */
	unsigned widths[COLUMNS_MAX];
	struct orma_buf line;
};

static bool is_left(enum orma_fact_kind kind)
{
	return kind == ORMA_FACT_TEXT || kind == ORMA_FACT_LINE;
}

/* Makes the widest texts narrower until the columns fit. */
static void shrink(struct layout *layout)
{
	const struct orma_fact_table *table = layout->table;
	unsigned total = 0;
	for (size_t i = 0; i < table->column_count; i++)
		total += table->columns[i].title ? layout->widths[i] + GAP : 0;
	while (total > layout->page->width) {
		size_t widest = COLUMNS_MAX;
		for (size_t i = 0; i < table->column_count; i++)
			if (table->columns[i].title && table->columns[i].kind == ORMA_FACT_TEXT &&
			    layout->widths[i] > TEXT_WIDTH_MIN &&
			    (widest == COLUMNS_MAX || layout->widths[i] > layout->widths[widest]))
				widest = i;
		if (widest == COLUMNS_MAX)
			return;
		layout->widths[widest]--;
		total--;
	}
}

static int measure(struct layout *layout)
{
	const struct orma_fact_table *table = layout->table;
	size_t count = table->row_count * table->column_count;
	layout->texts = orma_base_arena_alloc(&layout->arena, (count + 1) * sizeof(char *));
	if (!layout->texts)
		return -ENOMEM;
	for (size_t i = 0; i < table->column_count; i++)
		layout->widths[i] =
			table->columns[i].title ? orma_page_width_of(table->columns[i].title) : 0;
	for (size_t i = 0; i < count; i++) {
		ORMA_ASSERT(table->column_count > 0);
		const struct orma_fact_column *column = &table->columns[i % table->column_count];
		layout->texts[i] = column->title ? render(layout->page, &layout->arena,
							  column->kind, &table->cells[i])
						 : "";
		if (!layout->texts[i])
			return -ENOMEM;
		unsigned *width = &layout->widths[i % table->column_count];
		*width = ORMA_MAX(*width, orma_page_width_of(layout->texts[i]));
	}
	shrink(layout);
	return 0;
}

static void put_cell(struct layout *layout, size_t column, const char *text)
{
	unsigned width = layout->widths[column];
	if (orma_page_width_of(text) > width)
		text = orma_page_fit(layout->page, &layout->arena, orma_base_str(text), width);
	int spaces = (int)(width - ORMA_MIN(orma_page_width_of(text), width));
	bool left = is_left(layout->table->columns[column].kind);
	(void)orma_base_buf_printf(&layout->line, "  %*s%s%*s", left ? 0 : spaces, "", text,
				   left ? spaces : 0, "");
}

static void print_row(struct layout *layout, const char *const *texts)
{
	const struct orma_fact_table *table = layout->table;
	layout->line.size = 0;
	for (size_t i = 0; i < table->column_count; i++)
		if (table->columns[i].title)
			put_cell(layout, i, texts ? texts[i] : table->columns[i].title);
	while (layout->line.size > 0 && layout->line.data[layout->line.size - 1] == ' ')
		layout->line.size--;
	orma_tool_print_line(stdout, "%.*s", (int)layout->line.size,
			     (const char *)layout->line.data);
}

void orma_fact_table_print(const struct orma_fact_table *table, const struct orma_page *page)
{
	struct layout layout = {.table = table, .page = page};
	if (table->row_count == 0)
		return;
	orma_tool_print_line(stdout, "%s", "");
	orma_tool_print_line(stdout, "%s", table->title);
	if (measure(&layout) == 0) {
		print_row(&layout, NULL);
		for (size_t i = 0; i < table->row_count; i++)
			print_row(&layout, layout.texts + i * table->column_count);
	}
	orma_base_arena_done(&layout.arena);
	orma_base_buf_done(&layout.line);
}

/* --- JSON ------------------------------------------------------------------------------------- */

int orma_fact_append_json_number(struct orma_buf *json, double number)
{
	if (!isfinite(number))
		return orma_base_buf_append_str(json, "null");
	return orma_base_buf_printf(json, "%.15g", number);
}

static int append_points(const struct orma_fact *fact, struct orma_buf *json)
{
	int r = orma_base_buf_append_str(json, "[");
	for (size_t i = 0; i < fact->point_count && r == 0; i++) {
		r = i > 0 ? orma_base_buf_append_str(json, ",") : 0;
		if (r == 0)
			r = orma_fact_append_json_number(json, fact->points[i]);
	}
	return r ? r : orma_base_buf_append_str(json, "]");
}

static int append_value(enum orma_fact_kind kind, const struct orma_fact *fact,
			struct orma_buf *json)
{
	if (!fact->is_known)
		return orma_base_buf_append_str(json, "null");
	switch (kind) {
	case ORMA_FACT_TEXT:
		return orma_json_append_string(json, fact->text);
	case ORMA_FACT_COUNT:
	case ORMA_FACT_ID:
	case ORMA_FACT_NS:
		return orma_base_buf_printf(json, "%" PRId64, fact->integer);
	case ORMA_FACT_LINE:
		return append_points(fact, json);
	default:
		return orma_fact_append_json_number(json, fact->number);
	}
}

int orma_fact_row_append_json(const struct orma_fact_column *columns, size_t column_count,
			      const struct orma_fact *row, struct orma_buf *json)
{
	int r = orma_json_begin_element(json);
	for (size_t i = 0; i < column_count && r == 0; i++)
		if (columns[i].key) {
			r = orma_json_append_key(json, columns[i].key);
			if (r == 0)
				r = append_value(columns[i].kind, &row[i], json);
		}
	return r ? r : orma_base_buf_append_str(json, "}");
}

int orma_fact_table_append_json(const struct orma_fact_table *table, struct orma_buf *json)
{
	int r = orma_json_append_key(json, table->key);
	if (r == 0)
		r = orma_base_buf_append_str(json, "[");
	for (size_t i = 0; i < table->row_count && r == 0; i++)
		r = orma_fact_row_append_json(table->columns, table->column_count,
					      table->cells + i * table->column_count, json);
	return r ? r : orma_base_buf_append_str(json, "]");
}
