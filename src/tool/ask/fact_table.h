/* SPDX-License-Identifier: Apache-2.0
 * fact_table.h - the same facts as a table for people and as JSON for programs.
 */
#ifndef ORMA_TOOL_FACT_TABLE_H
#define ORMA_TOOL_FACT_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/str.h"

/* Where the text goes. */
struct orma_page {
	unsigned width; /* columns of the terminal, or 100 */
	bool is_utf8;
};

/* Finds out what standard output and the locale can show. */
struct orma_page orma_page_of_output(void);
/* Makes a copy for one line: escaped, and not wider than `width` characters. "" when out of memory. */
const char *orma_page_fit(const struct orma_page *page, struct orma_arena *arena,
			  struct orma_str text, unsigned width);
/* Characters of a text that was made to fit. */
unsigned orma_page_width_of(const char *text);

/* Prints a paragraph of at most `lines_max` lines: `first` before the first one, and as much space before the others. */
void orma_page_print_text(const struct orma_page *page, const char *first, struct orma_str text,
			  unsigned lines_max);

enum orma_fact_kind {
	ORMA_FACT_TEXT,
	ORMA_FACT_COUNT,
	ORMA_FACT_ID, /* a number that is not counted with */
	ORMA_FACT_NS,
	ORMA_FACT_BYTES,
	ORMA_FACT_SHARE, /* 0.125 is printed as 12.5% */
	ORMA_FACT_NUMBER,
	ORMA_FACT_LINE, /* points of a line, as characters of some heights */
};

struct orma_fact_column {
	const char *key;   /* in JSON; NULL = not there */
	const char *title; /* in the table; NULL = not there */
	enum orma_fact_kind kind;
};

struct orma_fact {
	bool is_known;
	int64_t integer; /* counts, ns */
	double number;   /* the other numbers */
	/* Texts; and of a number, what people read instead of its digits. */
	struct orma_str text;
	const double *points;
	size_t point_count;
};

/* Texts and points are borrowed. {.key, .title, .columns, .column_count, .arena} is empty. */
struct orma_fact_table {
	const char *key, *title;
	const struct orma_fact_column *columns;
	size_t column_count;
	struct orma_arena *arena;
	struct orma_fact *cells;
	size_t row_count, capacity;
};

/* Returns the cells of a new row, which are not known yet, or NULL when out of memory. They stay until the next row. */
struct orma_fact *orma_fact_table_add(struct orma_fact_table *table);

static inline struct orma_fact orma_fact_text(struct orma_str text)
{
	return (struct orma_fact){.is_known = text.data != NULL, .text = text};
}
static inline struct orma_fact orma_fact_integer(int64_t integer)
{
	return (struct orma_fact){.is_known = true, .integer = integer};
}
static inline struct orma_fact orma_fact_number(double number)
{
	return (struct orma_fact){.is_known = true, .number = number};
}

/* Returns what people read of a fact that is not a line: three digits and a unit, "-" when it is not known.
 * NULL when out of memory. */
const char *orma_fact_show(struct orma_arena *arena, enum orma_fact_kind kind,
			   const struct orma_fact *fact);
/* Prints the title and the rows; nothing when there are no rows. */
void orma_fact_table_print(const struct orma_fact_table *table, const struct orma_page *page);
/* Appends `"key":[{...},...]`. 0 or -ENOMEM. */
int orma_fact_table_append_json(const struct orma_fact_table *table, struct orma_buf *json);
/* Appends `{"key":value,...}` of one row's cells. 0 or -ENOMEM. */
int orma_fact_row_append_json(const struct orma_fact_column *columns, size_t column_count,
			      const struct orma_fact *row, struct orma_buf *json);
/* Appends a number as JSON has it; NaN and infinity are null. 0 or -ENOMEM. */
int orma_fact_append_json_number(struct orma_buf *json, double number);

#endif
