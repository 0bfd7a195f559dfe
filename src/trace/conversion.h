/* SPDX-License-Identifier: Apache-2.0
 * conversion.h - fields of packets that only src/formats writes. Other readers skip them, so a converted trace is a trace for
 * all.
 */
#ifndef ORMA_TRACE_CONVERSION_H
#define ORMA_TRACE_CONVERSION_H

#include "trace/system.h"

/* A field of TracePacket: a ConversionReport. Far from the numbers that upstream gives, and small enough for its decoders. */
enum { ORMA_PACKET_CONVERSION_REPORT = 16770001 };

/* A field of Mapping: its only path is its name, to which no slash is added. */
enum { ORMA_MAPPING_HAS_WHOLE_NAME = 1001 };

/* A field of StackSample.TaskContext: the name of the thread. */
enum { ORMA_TASK_CONTEXT_COMM = 31 };

/* Fields of LegacyEvent. */
enum {
	ORMA_LEGACY_EVENT_DURATION_NS = 1001, /* instead of duration_us */
	ORMA_LEGACY_EVENT_STYLE = 1002,       /* enum orma_event_style */
};

/* The rules that an event follows: whose it is, and how its arguments are called. */
enum orma_event_style {
	ORMA_EVENT_STYLE_PERFETTO, /* "debug.name" */
	ORMA_EVENT_STYLE_PLAIN,    /* "name"; a thread may be of an unknown process */
};

/* Adds what a conversion counted to the statistics. 0 or a negative errno value. */
int orma_conversion_report_take(struct orma_system *system, uint32_t machine_idx,
				struct orma_str content);

#endif
