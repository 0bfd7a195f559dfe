/* SPDX-License-Identifier: Apache-2.0
 * sql_zstd.h - a function of SQL that the engine itself cannot have, because it knows no codecs.
 */
#ifndef ORMA_TOOL_ASK_SQL_ZSTD_H
#define ORMA_TOOL_ASK_SQL_ZSTD_H

struct orma_sql;

/* 0 or -ENOMEM. */
int orma_sql_zstd_add(struct orma_sql *sql);

#endif
