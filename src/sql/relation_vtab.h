/* SPDX-License-Identifier: Apache-2.0
 * relation_vtab.h - relations as tables of SQLite.
 */
#ifndef ORMA_SQL_RELATION_VTAB_H
#define ORMA_SQL_RELATION_VTAB_H

#include <sqlite3.h>

#include "sql/interrupt.h"
#include "sql/relation.h"

/*
 * Adds a table with the relation's name, which is not in the schema and needs no statement to create it. SQLite holds a
 * reference to the relation. Replaces a table that was added under this name. `interrupt` outlives the database.
 * 0 or -ENOMEM.
 */
int orma_sql_relation_register(sqlite3 *db, struct orma_relation *relation,
			       struct orma_interrupt *interrupt);

/*
 * The module behind the tables that `create virtual table NAME using MODULE` makes of relations. `find` returns the
 * relation of a name; `drop` learns that the table is dropped.
 */
typedef struct orma_relation *(*orma_relation_find_fn)(void *ctx, const char *name);
typedef void (*orma_relation_drop_fn)(void *ctx, const char *name);
int orma_sql_relation_register_module(sqlite3 *db, const char *module, orma_relation_find_fn find,
				      orma_relation_drop_fn drop, void *ctx,
				      struct orma_interrupt *interrupt);

#endif
