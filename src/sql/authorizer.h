/* SPDX-License-Identifier: Apache-2.0
 * authorizer.h - what statements may not do.
 */
#ifndef ORMA_SQL_AUTHORIZER_H
#define ORMA_SQL_AUTHORIZER_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>

/* A table or view that is neither dropped nor replaced. */
struct orma_sql_protected {
	char *name;
	bool is_outside; /* it is not in SQLite's schema, so that SQLite does not refuse a second one */
};

struct orma_sql_rules {
	bool allows_files;
	bool is_own; /* the statement is in a module that makes what is protected */
	struct orma_sql_protected *all;
	size_t count, capacity;
	const char *refused; /* the protected name in the last statement; NULL = none */
};

/* Is given to sqlite3_set_authorizer(); `rules` points to the rules. */
int orma_sql_authorize(void *rules, int action, const char *first, const char *second,
		       const char *database, const char *trigger);
/* From now on, statements can neither drop nor replace the table or view of this name. 0 or -ENOMEM. */
int orma_sql_rules_protect(struct orma_sql_rules *rules, const char *name, bool is_outside);
void orma_sql_rules_done(struct orma_sql_rules *rules);

#endif
