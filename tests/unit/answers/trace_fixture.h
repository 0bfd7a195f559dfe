/* SPDX-License-Identifier: Apache-2.0
 * trace_fixture.h - a trace in text form that answers SQL, for tests.
 */
#ifndef ORMA_TESTS_UNIT_ANSWERS_TRACE_FIXTURE_H
#define ORMA_TESTS_UNIT_ANSWERS_TRACE_FIXTURE_H

#include "answers/trace_database.h"

/* Reads a trace, given as the text of a Trace message; the test fails when that is not possible. */
struct orma_trace_database *fixture_open(const char *text);
/* The same for bytes. */
struct orma_trace_database *fixture_open_bytes(const void *data, size_t size, int expected_error);
void fixture_close(struct orma_trace_database *database);
/* Returns the answer of a query as CSV without its header, to be freed with orma_base_free(). */
char *fixture_ask(struct orma_trace_database *database, const char *query);
/* Compares the answer of a query, as CSV without its header, with what is expected. */
void fixture_check(struct orma_trace_database *database, const char *query, const char *expected);
/* Checks that a query is refused with a message that has this part. */
void fixture_refuse(struct orma_trace_database *database, const char *query, const char *part);

#endif
