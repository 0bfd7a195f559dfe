/* SPDX-License-Identifier: Apache-2.0
 * import_run.h - reads a whole trace into empty tables.
 */
#ifndef ORMA_TESTS_IMPORT_RUN_H
#define ORMA_TESTS_IMPORT_RUN_H

#include "trace/importer.h"

/* The same as orma_importer_begin() and orma_importer_end(). */
static inline int import_run(struct orma_importer *importer, struct orma_tables *tables,
			     struct orma_trace_bytes *input, orma_unpack_fn *unpack,
			     struct orma_error *reterr)
{
	int r = orma_importer_begin(importer, tables, input, unpack);
	return r < 0 ? r : orma_importer_end(importer, reterr);
}

#endif
