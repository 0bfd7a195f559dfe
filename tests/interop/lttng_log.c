/* SPDX-License-Identifier: Apache-2.0
 * lttng_log.c - LTTng's printf-like calls, which cannot be in the file that defines tracepoints.
 */
#include <lttng/tracef.h>
#include <lttng/tracelog.h>

void lttng_program_log(int number);

void lttng_program_log(int number)
{
	lttng_ust_tracef("number %d", number);
	lttng_ust_tracelog(LTTNG_UST_TRACEPOINT_LOGLEVEL_WARNING, "careful with %d", number);
}
