/* SPDX-License-Identifier: Apache-2.0
 * interrupt.h - a flag by which another thread, or a signal handler, stops a query.
 */
#ifndef ORMA_SQL_INTERRUPT_H
#define ORMA_SQL_INTERRUPT_H

#include <stdatomic.h>
#include <stdbool.h>

struct orma_interrupt {
	/* Written by any thread, read by the one that runs the query; relaxed, because it guards no data. */
	atomic_bool is_set;
	/* Asked now and then by the thread that runs the query; true stops it. May be NULL. */
	bool (*should_stop)(void *ctx);
	void *ctx;
};

static inline bool orma_sql_is_interrupted(struct orma_interrupt *interrupt)
{
	return atomic_load_explicit(&interrupt->is_set, memory_order_relaxed) ||
	       (interrupt->should_stop && interrupt->should_stop(interrupt->ctx));
}

#endif
