/* SPDX-License-Identifier: Apache-2.0
 * authorizer.h - what statements may not do.
 */
#ifndef ORMA_SQL_AUTHORIZER_H
#define ORMA_SQL_AUTHORIZER_H

/* Is given to sqlite3_set_authorizer(); `allows_files` points to a bool. */
int orma_sql_authorize(void *allows_files, int action, const char *first, const char *second,
		       const char *database, const char *trigger);

#endif
