/* SPDX-License-Identifier: Apache-2.0
 * sqlite_error.c - memory and interruption have codes of their own; all else is a message.
 */
#include "sql/sqlite_error.h"

#include <errno.h>

#include "base/error_message.h"

static const char *words_of(int code, const struct orma_error *error)
{
	return error && error->message[0] ? error->message : orma_base_error_words(code);
}

int orma_sql_refuse(char **message, int code, const struct orma_error *error)
{
	if (code == -ENOMEM)
		return SQLITE_NOMEM;
	if (code == -ECANCELED)
		return SQLITE_INTERRUPT;
	sqlite3_free(*message);
	*message = sqlite3_mprintf("%s", words_of(code, error));
	return SQLITE_ERROR;
}

int orma_sql_vtab_refuse(sqlite3_vtab *vtab, int code, const struct orma_error *error)
{
	return orma_sql_refuse(&vtab->zErrMsg, code, error);
}

void orma_sql_result_refuse(sqlite3_context *context, int code, const struct orma_error *error)
{
	if (code == -ENOMEM)
		sqlite3_result_error_nomem(context);
	else if (code == -ECANCELED)
		sqlite3_result_error_code(context, SQLITE_INTERRUPT);
	else
		sqlite3_result_error(context, words_of(code, error), -1);
}

int orma_sql_errno_of(int sqlite_code)
{
	switch (sqlite_code & 0xff) {
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -ECANCELED;
	case SQLITE_TOOBIG:
		return -EMSGSIZE;
	default:
		return -EINVAL;
	}
}
