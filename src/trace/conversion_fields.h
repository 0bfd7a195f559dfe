/* SPDX-License-Identifier: Apache-2.0
 * conversion_fields.h - fields of packets that only src/formats writes. Other readers skip them, so a converted trace is a
 * trace for all.
 */
#ifndef ORMA_TRACE_CONVERSION_FIELDS_H
#define ORMA_TRACE_CONVERSION_FIELDS_H

/* A field of TracePacket: a ConversionReport. Far from the numbers that upstream gives, and small enough for its decoders. */
enum { ORMA_PACKET_CONVERSION_REPORT = 16770001 };
/* A field of TracePacket: the packets from here on are of another file; its number is a uint32_t in this machine's order. */
enum { ORMA_PACKET_TRACE_FILE = 16770002 };
/* A field of TracePacket: of track events of one time, those with a smaller number come first; up to ORMA_EVENT_ORDER_MAX. */
enum { ORMA_PACKET_EVENT_ORDER = 262001, ORMA_EVENT_ORDER_MAX = 0x7ffffff0 };

/* A field of TracePacket: an event as a struct orma_event_record, and its text; the first field of its packet. */
enum { ORMA_PACKET_EVENT_RECORD = 262002 };

/* Fields of Mapping: its only path is its name, to which no slash is added; it is in all address spaces. */
enum { ORMA_MAPPING_HAS_WHOLE_NAME = 1001, ORMA_MAPPING_IS_SHARED = 31 };

/* Fields of PerfSampleDefaults: the command that recorded; the counters are not of CPUs. */
enum { ORMA_PERF_DEFAULTS_COMMAND = 30, ORMA_PERF_DEFAULTS_IS_WITHOUT_CPUS = 31 };

/* A field of StackSample.TaskContext: the name of the thread. */
enum { ORMA_TASK_CONTEXT_COMM = 31 };

/* A value of FtraceEventBundle.ftrace_clock. */
enum { ORMA_FTRACE_CLOCK_MONOTONIC = 103 };

/* Fields of LegacyEvent. */
enum {
	ORMA_LEGACY_EVENT_DURATION_NS = 1001, /* instead of duration_us */
	ORMA_LEGACY_EVENT_STYLE = 1002,       /* enum orma_event_style */
	ORMA_LEGACY_EVENT_THREAD_TIME_NS = 1003,
	ORMA_LEGACY_EVENT_THREAD_DURATION_NS = 1004,
	ORMA_LEGACY_EVENT_TEXT =
		1005, /* a name that the event gives; the function that a thread waits in */
	ORMA_LEGACY_EVENT_NUMBER = 1006, /* a place in an order; a CPU */
	ORMA_LEGACY_EVENT_IO_WAIT = 1007,
};

/* The rules that an event follows: whose it is, and how its arguments are called. */
enum orma_event_style {
	ORMA_EVENT_STYLE_PERFETTO, /* "debug.name" */
	ORMA_EVENT_STYLE_PLAIN,    /* "name"; a thread may be of an unknown process */
	ORMA_EVENT_STYLE_JSON,     /* "args.name" */
};

#endif
