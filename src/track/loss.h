/* SPDX-License-Identifier: Apache-2.0
 * loss.h - the numbers of events that a thread has lost and not yet reported, by category.
 */
#ifndef ORMA_TRACK_LOSS_H
#define ORMA_TRACK_LOSS_H

#include <orma/category.h>

#include "track/sequence_state.h"

void orma_track_loss_add(struct orma_track_sequence *sequence, const struct orma_category *category,
			 uint64_t now_ns);
/* The name of the category that lost events; "(others)" for several. */
const char *orma_track_loss_name(const struct orma_track_loss *loss);

#endif
