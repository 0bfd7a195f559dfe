/* SPDX-License-Identifier: Apache-2.0
 * events_lttng_provider.h - the definitions of the events for LTTng, whose macros include this several
 * times.
 */
#undef LTTNG_UST_TRACEPOINT_PROVIDER
#define LTTNG_UST_TRACEPOINT_PROVIDER orma_bench
#undef LTTNG_UST_TRACEPOINT_INCLUDE
#define LTTNG_UST_TRACEPOINT_INCLUDE "events_lttng_provider.h"

#if !defined(ORMA_BENCH_EVENTS_LTTNG_PROVIDER_H) || defined(LTTNG_UST_TRACEPOINT_HEADER_MULTI_READ)
#define ORMA_BENCH_EVENTS_LTTNG_PROVIDER_H

#include <lttng/tracepoint.h>

/* clang-format off */
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, instant, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, begin, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, end, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, off, LTTNG_UST_TP_ARGS(), LTTNG_UST_TP_FIELDS())
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, integers, LTTNG_UST_TP_ARGS(int, number, int, limit),
	LTTNG_UST_TP_FIELDS(
		lttng_ust_field_integer(int, number, number)
		lttng_ust_field_integer(int, limit, limit)
	))
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, string, LTTNG_UST_TP_ARGS(const char *, title),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_string(title, title)))
LTTNG_UST_TRACEPOINT_EVENT(orma_bench, counter, LTTNG_UST_TP_ARGS(double, value),
	LTTNG_UST_TP_FIELDS(lttng_ust_field_float(double, value, value)))
/* clang-format on */

#endif

#include <lttng/tracepoint-event.h>
