/* SPDX-License-Identifier: Apache-2.0
 * sqlite_error.h - our errors as SQLite's, and back.
 */
#ifndef ORMA_SQL_SQLITE_ERROR_H
#define ORMA_SQL_SQLITE_ERROR_H

#include <orma/error.h>
#include <sqlite3.h>

/* Returns SQLite's code for a negative errno value. Where SQLite has no message of its own for that code, *message becomes
 * the error's; it is freed by SQLite. */
int orma_sql_refuse(char **message, int code, const struct orma_error *error);
/* The same; the message is that of the table. */
int orma_sql_vtab_refuse(sqlite3_vtab *vtab, int code, const struct orma_error *error);
/* The same for a function. `error` may be NULL. */
void orma_sql_result_refuse(sqlite3_context *context, int code, const struct orma_error *error);
/* Returns -ENOMEM, -ECANCELED or -EINVAL for SQLite's code. */
int orma_sql_errno_of(int sqlite_code);

#endif
