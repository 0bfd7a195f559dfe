/* SPDX-License-Identifier: Apache-2.0
 * poll.h - when polling probes poll.
 */
#ifndef ORMA_PROBES_POLL_H
#define ORMA_PROBES_POLL_H

#include <stdint.h>

#include "base/clock_ns.h"

/*
 * The next multiple of the period on the clock that now_ns is of, so that all instances with one
 * period poll together. Polls that a slow one has missed are left out.
 */
static inline uint64_t orma_probes_next_poll_ns(uint64_t now_ns, uint32_t period_ms)
{
	uint64_t period_ns = period_ms * ORMA_NS_PER_MS;
	return (now_ns / period_ns + 1) * period_ns;
}

#endif
