/* SPDX-License-Identifier: Apache-2.0
 * losses.h - what is missing in a trace, in sentences.
 */
#ifndef ORMA_ANSWERS_LOSSES_H
#define ORMA_ANSWERS_LOSSES_H

#include "answers/trace_database.h"

/* Texts are those of the trace, or static. */
struct orma_loss {
	struct orma_str name; /* the statistic's */
	struct orma_str severity;
	const char *meaning;
	int64_t count;
};

/* {0} is empty. */
struct orma_losses {
	struct orma_loss *items;
	uint32_t count, capacity;
};

/* Counts of CPUs and buffers with one name are added up. 0 or -ENOMEM; `ret` is to be given to done() in any case. */
int orma_losses_find(const struct orma_trace_database *database, struct orma_losses *ret);
/* Explains a statistic that counts losses, in a sentence. */
const char *orma_loss_meaning(struct orma_str stat);
void orma_losses_done(struct orma_losses *losses);

#endif
