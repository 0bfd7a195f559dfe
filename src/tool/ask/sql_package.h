/* SPDX-License-Identifier: Apache-2.0
 * sql_package.h - reads modules of SQL from a folder.
 */
#ifndef ORMA_TOOL_SQL_PACKAGE_H
#define ORMA_TOOL_SQL_PACKAGE_H

#include "answers/modules.h"

/*
 * FOLDER[@NAME]: each file a/b.sql in the folder becomes the module NAME.a.b; without NAME it is the folder's own name, and behind
 * a bare @ there is none.
 * Returns 0, or ORMA_EXIT_FAILURE when a message has said what is wrong.
 */
int orma_sql_package_read(const char *package, bool is_overriding, struct orma_module_list *list);

#endif
