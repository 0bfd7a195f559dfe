/* SPDX-License-Identifier: Apache-2.0
 * clock_ns.h - reads a clock in nanoseconds.
 */
#ifndef ORMA_BASE_CLOCK_NS_H
#define ORMA_BASE_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

#define ORMA_NS_PER_MS  UINT64_C(1000000)
#define ORMA_NS_PER_SEC UINT64_C(1000000000)

/* Returns 0 for an unknown clock. Preserves errno. */
uint64_t orma_base_clock_ns(clockid_t clock);

#endif
