/* SPDX-License-Identifier: Apache-2.0
 * patience.h - how long a reader of samples waits for files of other processes.
 *
 * A file may lie on a file system that its user serves, and be as slow as that user likes, again and again. Meanwhile the reader
 * cannot serve other processes. So the waits for all processes together have a limit: `max_ns` at once, and a tenth of the time in
 * the long run.
 */
#ifndef ORMA_UNWIND_PATIENCE_H
#define ORMA_UNWIND_PATIENCE_H

#include <stdint.h>

#include "base/macros.h"

struct orma_unwind_patience {
	uint64_t max_ns;  /* constant */
	uint64_t left_ns; /* at `since_ns` */
	uint64_t since_ns;
};

/* Returns how long the next wait may be. */
static inline uint64_t orma_unwind_patience_left(struct orma_unwind_patience *patience,
						 uint64_t now_ns)
{
	uint64_t gain_ns = (now_ns - patience->since_ns) / 10;

	patience->left_ns = ORMA_MIN(patience->max_ns, patience->left_ns + gain_ns);
	patience->since_ns = now_ns;
	return patience->left_ns;
}

/* Ends a wait that began with orma_unwind_patience_left(). */
static inline void orma_unwind_patience_spend(struct orma_unwind_patience *patience,
					      uint64_t now_ns)
{
	uint64_t spent_ns = now_ns - patience->since_ns;

	patience->left_ns -= ORMA_MIN(spent_ns, patience->left_ns);
	patience->since_ns = now_ns;
}

#endif
