/* SPDX-License-Identifier: Apache-2.0
 * import_image.h - what of an importer answers need when the trace is read: its tables, and where arguments are.
 */
#ifndef ORMA_TRACE_IMPORT_IMAGE_H
#define ORMA_TRACE_IMPORT_IMAGE_H

#include "store/image.h"
#include "trace/importer.h"

/* All rows of the states of threads are made. Errors are in image->error. */
void orma_import_image_save(const struct orma_importer *importer, struct orma_image_writer *image);
/*
 * Fills new tables and an importer that is {0} but for its options. `input` has the bytes that the image's trace had; it is
 * not read but for types of arguments. 0, -EBADMSG, -ENOMEM or an error of reading.
 */
int orma_import_image_restore(struct orma_importer *importer, struct orma_tables *tables,
			      struct orma_trace_bytes *input, orma_unpack_fn *unpack,
			      struct orma_image_reader *image);

#endif
