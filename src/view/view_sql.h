/* SPDX-License-Identifier: Apache-2.0
 * view_sql.h - answers /api/sql: the rows of queries as JSON.
 */
#ifndef ORMA_VIEW_VIEW_SQL_H
#define ORMA_VIEW_VIEW_SQL_H

#include <orma/error.h>

#include "base/buf.h"
#include "base/str.h"

struct orma_sql;

/*
 * Runs `{"sql": "...", "limit": 10000}` on the worker's thread. 0 with `{"columns":[..],"rows":[[..]],"total":n,"ms":f,
 * "truncated":bool}` in *ret; -EINVAL with `{"error":"..","line":n,"column":n}`; -ECANCELED or -ENOMEM.
 */
int orma_view_sql(struct orma_sql *sql, struct orma_str request, struct orma_buf *ret);

#endif
