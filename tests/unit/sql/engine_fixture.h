/* SPDX-License-Identifier: Apache-2.0
 * engine_fixture.h - an engine with strings of its own, and scripts run to texts.
 */
#ifndef ORMA_TESTS_ENGINE_FIXTURE_H
#define ORMA_TESTS_ENGINE_FIXTURE_H

#include "harness.h"
#include "sql/sql_engine.h"

extern struct orma_sql *fixture_sql;

/* The pool of the options is set here. */
void engine_open(const struct orma_sql_options *options);
void engine_close(void);
/* Runs a script; returns its rows as text, or its error behind `error: `. Valid until the next run. */
const char *engine_run(const char *text);
/* The script fails, with this part in its message. */
void engine_check_error(const char *text, const char *part);

#endif
