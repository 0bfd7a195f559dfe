/* SPDX-License-Identifier: Apache-2.0
 * export_run.c - loads a trace, and has it written.
 */
#include "base/macros.h"
#include "tool/export/export_tables.h"
#include "tool/tool.h"

int orma_export_loaded(struct orma_ask *ask, const struct orma_export_options *options)
{
	static int (*const writers[])(struct orma_trace_database * database,
				      const struct orma_export_options *options) = {
		[ORMA_EXPORT_SQLITE] = orma_export_sqlite,
		[ORMA_EXPORT_CSV] = orma_export_csv,
		[ORMA_EXPORT_PARQUET] = orma_export_parquet,
		[ORMA_EXPORT_JSON] = orma_export_json,
		[ORMA_EXPORT_COLLAPSED] = orma_export_collapsed,
		[ORMA_EXPORT_PPROF] = orma_export_pprof,
	};
	return writers[options->kind](orma_ask_database(ask), options);
}

int orma_export_run(const struct orma_export_options *options, const char *const *paths,
		    size_t count)
{
	struct orma_ask *ask = orma_ask_load_all(paths, count, &options->ask);
	if (!ask)
		return ORMA_EXIT_FAILURE;
	int status = orma_export_loaded(ask, options);
	orma_ask_free(ask);
	return status;
}
