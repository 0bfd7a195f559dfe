/* SPDX-License-Identifier: Apache-2.0
 * smaps.h - how much memory each mapping of a process takes.
 */
#ifndef ORMA_TRACE_SMAPS_H
#define ORMA_TRACE_SMAPS_H

#include "trace/system.h"

/* Takes a SmapsPacket. 0 or a negative errno value. */
int orma_smaps_take(struct orma_system *system, const struct orma_ordered_event *event);

#endif
