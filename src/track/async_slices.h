/* SPDX-License-Identifier: Apache-2.0
 * async_slices.h - slices whose begins were lost, on tracks that do not belong to a thread.
 */
#ifndef ORMA_TRACK_ASYNC_SLICES_H
#define ORMA_TRACK_ASYNC_SLICES_H

#include <stdbool.h>
#include <stdint.h>

/* False: no begin of such a slice is known to be lost, so there is nothing to record. */
bool orma_track_has_async_slices(void);
/* False: a begin on the track must not be written; see orma_track_nesting_may_begin(). */
bool orma_track_async_may_begin(uint32_t idx, uint64_t uuid);
void orma_track_async_begin(uint32_t idx, uint64_t uuid, bool is_written);
/* True when the begin of the track's innermost slice is in the trace, as far as is known. */
bool orma_track_async_end(uint32_t idx, uint64_t uuid);
/* The instance starts anew or is gone. */
void orma_track_async_forget(uint32_t idx);
/* The child of a fork calls this; async-signal-safe. */
void orma_track_async_slices_forked(void);

#endif
