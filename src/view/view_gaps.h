/* SPDX-License-Identifier: Apache-2.0
 * view_gaps.h - when data were lost, as far as the trace tells.
 */
#ifndef ORMA_VIEW_VIEW_GAPS_H
#define ORMA_VIEW_VIEW_GAPS_H

#include "base/buf.h"
#include "view/view_state.h"

/* Whether there are any. */
bool orma_view_has_gaps(const struct orma_view *view);
/* Appends `"gaps":[...]`, which docs/view-protocol.md describes. 0 or -ENOMEM. */
int orma_view_gaps_append(const struct orma_view *view, struct orma_buf *json);

#endif
