/* SPDX-License-Identifier: Apache-2.0
 * perfetto_define.h - carries out the statements of PerfettoSQL that make something.
 *
 * All return 0, -ENOMEM, -ECANCELED, or -EINVAL with a message. A fault in the body is told with its place in the body.
 */
#ifndef ORMA_SQL_PERFETTO_DEFINE_H
#define ORMA_SQL_PERFETTO_DEFINE_H

#include <orma/error.h>

#include "sql/perfetto_statement.h"

struct orma_sql;

int orma_sql_create_table(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr);
int orma_sql_create_view(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			 struct orma_error *reterr);
int orma_sql_create_macro(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr);
/* `create` and `drop`. */
int orma_sql_change_index(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			  struct orma_error *reterr);
/* Functions with one result, and those that return a table. */
int orma_sql_create_function(struct orma_sql *sql, const struct orma_perfetto_statement *statement,
			     struct orma_error *reterr);
int orma_sql_create_table_function(struct orma_sql *sql,
				   const struct orma_perfetto_statement *statement,
				   struct orma_error *reterr);

#endif
