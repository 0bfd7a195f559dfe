/* SPDX-License-Identifier: Apache-2.0
 * relation_fixture.h - a relation with random rows, and the same rows in an ordinary table of SQLite.
 */
#ifndef ORMA_TESTS_RELATION_FIXTURE_H
#define ORMA_TESTS_RELATION_FIXTURE_H

#include <sqlite3.h>

#include "harness.h"
#include "sql/relation.h"
#include "sql/relation_vtab.h"

struct relation_fixture {
	struct orma_extents extents;
	struct orma_string_pool pool;
	struct orma_table table;
	struct orma_relation *relation;
	struct orma_interrupt interrupt;
	sqlite3 *db;
};

/* Table `r` is the relation, `plain` the ordinary table. */
void fixture_open(struct relation_fixture *fixture, uint64_t rows, uint64_t seed);
void fixture_close(struct relation_fixture *fixture);
uint64_t fixture_random(uint64_t *state);
/* Runs a query, with `$` for the name of the table, on both tables; the rows must be the same. */
void fixture_compare(struct relation_fixture *fixture, const char *sql);
/* Runs a query, and returns its rows as one text, to be freed. */
char *fixture_rows(sqlite3 *db, const char *sql);

#endif
