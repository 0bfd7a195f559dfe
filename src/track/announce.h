/* SPDX-License-Identifier: Apache-2.0
 * announce.h - describes threads and the process to all started instances, in the calling thread's
 * sequences.
 */
#ifndef ORMA_TRACK_ANNOUNCE_H
#define ORMA_TRACK_ANNOUNCE_H

#include "track/thread_info.h"

void orma_track_announce_thread(const struct orma_track_thread_seen *seen);
void orma_track_announce_process(void);

#endif
