/* SPDX-License-Identifier: Apache-2.0
 * archive.h - files that an archive holds.
 */
#ifndef ORMA_FORMATS_ARCHIVE_H
#define ORMA_FORMATS_ARCHIVE_H

#include "formats/format.h"

/* Takes a file, whose content becomes empty. 0, -EMSGSIZE (too many files) or -ENOMEM. */
int orma_archive_add(struct orma_archive *archive, struct orma_str name,
		     struct orma_trace_bytes *content);

#endif
