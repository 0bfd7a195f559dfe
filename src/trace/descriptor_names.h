/* SPDX-License-Identifier: Apache-2.0
 * descriptor_names.h - the names that TrackDescriptors give to threads and processes.
 */
#ifndef ORMA_TRACE_DESCRIPTOR_NAMES_H
#define ORMA_TRACE_DESCRIPTOR_NAMES_H

#include "trace/descriptor_tracks.h"

/* Gives the thread or process of a descriptor its name, when its time has come. 0 or a negative errno value. */
int orma_descriptor_names_apply(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				struct orma_str descriptor);
/* The same for a descriptor that is a packet of its own, as in traces of before 2020. */
int orma_descriptor_names_packet(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				 struct orma_str descriptor, bool is_thread);

#endif
