/* SPDX-License-Identifier: Apache-2.0
 * top_save.h - saves the last seconds into a file of the current folder.
 */
#ifndef ORMA_TOOL_TOP_SAVE_H
#define ORMA_TOOL_TOP_SAVE_H

#include "tool/top/top_keep.h"
#include "tool/top/top_view.h"

enum { ORMA_TOP_PATH_BYTES = 64 };

/* Writes orma-top-DATE-TIME.pftrace. Says in `message` what it wrote, or why not. Returns whether the file is there. */
bool orma_top_save(const struct orma_top_keep *keep, char ret_path[ORMA_TOP_PATH_BYTES],
		   char message[ORMA_TOP_TEXT_BYTES]);

#endif
