/* SPDX-License-Identifier: Apache-2.0
 * sql_zstd.c - __intrinsic_zstd_compress(x): a text or a blob as a frame of zstd, for queries that export.
 */
#include "tool/ask/sql_zstd.h"

#include <errno.h>
#include <sqlite3.h>

#include "codec/compression.h"
#include "sql/sql_engine.h"

enum { LEVEL = 9 };

static void compress(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct orma_tool_compressor *compressor = NULL;
	struct orma_buf frame = {0};
	int type = sqlite3_value_type(argv[0]);
	(void)argc;
	if (type == SQLITE_NULL)
		return;
	if (type != SQLITE_TEXT && type != SQLITE_BLOB) {
		sqlite3_result_error(context, "ZSTD: takes a text or a blob", -1);
		return;
	}
	const void *data = sqlite3_value_blob(argv[0]);
	int r = orma_tool_compressor_new(ORMA_CODEC_ZSTD, LEVEL, &compressor);
	if (r == 0)
		r = orma_tool_compress(compressor, data, (size_t)sqlite3_value_bytes(argv[0]),
				       &frame);
	if (r == 0)
		sqlite3_result_blob64(context, frame.data, frame.size, SQLITE_TRANSIENT);
	else if (r == -ENOMEM)
		sqlite3_result_error_nomem(context);
	else
		sqlite3_result_error(context, "ZSTD: orma was built without zstd", -1);
	orma_tool_compressor_free(compressor);
	orma_base_buf_done(&frame);
}

int orma_sql_zstd_add(struct orma_sql *sql)
{
	return sqlite3_create_function(orma_sql_db(sql), "__intrinsic_zstd_compress", 1,
				       SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL, compress, NULL,
				       NULL) == SQLITE_OK
		       ? 0
		       : -ENOMEM;
}
