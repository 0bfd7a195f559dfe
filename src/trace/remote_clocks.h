/* SPDX-License-Identifier: Apache-2.0
 * remote_clocks.h - how the clocks of another machine relate to those of the host.
 */
#ifndef ORMA_TRACE_REMOTE_CLOCKS_H
#define ORMA_TRACE_REMOTE_CLOCKS_H

#include "trace/packet_index.h"

/* Takes a RemoteClockSync. 0, -ENOMEM, or an error of the index's `snapshot`. */
int orma_remote_clocks_take(struct orma_packet_index *index, const struct orma_sequence *sequence,
			    struct orma_str content);

#endif
