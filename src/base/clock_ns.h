/* SPDX-License-Identifier: Apache-2.0
 * clock_ns.h - reading clocks in nanoseconds.
 */
#ifndef ORMA_BASE_CLOCK_NS_H
#define ORMA_BASE_CLOCK_NS_H

#include <stdint.h>
#include <time.h>

#define ORMA_NS_PER_MS  UINT64_C(1000000)
#define ORMA_NS_PER_SEC UINT64_C(1000000000)

/* Never fails: an unknown clock reads 0. */
uint64_t orma_base_clock_ns(clockid_t clock);

#endif
