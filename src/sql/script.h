/* SPDX-License-Identifier: Apache-2.0
 * script.h - runs the statements of a text one after the other, and hands out their rows.
 */
#ifndef ORMA_SQL_SCRIPT_H
#define ORMA_SQL_SCRIPT_H

#include <orma/error.h>
#include <sqlite3.h>
#include <stdint.h>

#include "base/str.h"

struct orma_sql;
struct orma_sql_script;

/* Copies the text. The engine outlives the script. 0 or -ENOMEM. */
int orma_sql_script_new(struct orma_sql *sql, struct orma_str text, struct orma_sql_script **ret);
void orma_sql_script_free(struct orma_sql_script *script);
/*
 * Runs statements up to the next one that has columns; leaves out the rest of the current one's rows. 1, 0 at the end of
 * the script, -ENOMEM, -ECANCELED, or -EINVAL with line, column and text. After an error the script is at its end.
 */
int orma_sql_script_next(struct orma_sql_script *script, struct orma_error *reterr);
/* Goes to the next row of the current statement. 1, 0 behind the last, or errors as above. */
int orma_sql_script_step(struct orma_sql_script *script, struct orma_error *reterr);
/* The place of the last error in the script's text, counting from 1; 0 when it has none there. */
void orma_sql_script_fault(const struct orma_sql_script *script, uint32_t *retline,
			   uint32_t *retcolumn);
/* The current statement, for its columns; the script's. */
sqlite3_stmt *orma_sql_script_statement(struct orma_sql_script *script);

#endif
