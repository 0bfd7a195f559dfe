/* SPDX-License-Identifier: Apache-2.0
 * module_docs.h - what a module's comments say about the tables, views, functions and macros that it makes.
 */
#ifndef ORMA_SQL_MODULE_DOCS_H
#define ORMA_SQL_MODULE_DOCS_H

#include "base/arena.h"
#include "base/str.h"

/* A column, or an argument. Texts are in the arena, or in the module. */
struct orma_doc_entry {
	struct orma_str name, type, description;
	struct orma_doc_entry *next;
};

struct orma_doc {
	const char *kind; /* "TABLE", "VIEW", "FUNCTION", "TABLE_FUNCTION" or "MACRO" */
	struct orma_str name, description;
	struct orma_str return_type, return_description; /* for functions and macros */
	struct orma_doc_entry *args, *columns;
};

/*
 * Finds the next statement that makes something, at *offset or behind, and moves *offset behind it. A comment right before
 * a statement, before a name of a column or argument, or before RETURNS, is its description. 1, 0 at the end of the
 * module, or -ENOMEM. Statements that are not complete are left out.
 */
int orma_sql_next_doc(struct orma_str module, size_t *offset, struct orma_arena *arena,
		      struct orma_doc *ret);

#endif
