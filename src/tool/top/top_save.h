/* SPDX-License-Identifier: Apache-2.0
 * top_save.h - saves the last seconds into a file of the current folder.
 */
#ifndef ORMA_TOOL_TOP_SAVE_H
#define ORMA_TOOL_TOP_SAVE_H

#include "tool/top/top_keep.h"
#include "tool/top/top_view.h"

/* Writes orma-top-DATE-TIME.pftrace. Says in `message` what it wrote, or why not; with `tells_view` also the command that shows it. */
void orma_top_save(const struct orma_top_keep *keep, bool tells_view,
		   char message[ORMA_TOP_TEXT_BYTES]);

#endif
