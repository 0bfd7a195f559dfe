/* SPDX-License-Identifier: Apache-2.0
 * ftrace_text.h - the parts of ftrace_text: the list of lines, one event, compact scheduling events.
 */
#ifndef ORMA_TESTS_KERNEL_FTRACE_TEXT_H
#define ORMA_TESTS_KERNEL_FTRACE_TEXT_H

#include "../interop/trace_packet.h"

struct ftrace_line {
	uint64_t cpu, time;
	size_t order; /* in the trace; decides between equal times */
	char *text;
};

enum { FTRACE_EVENT_TIMESTAMP = 1, FTRACE_EVENT_PID = 2, FTRACE_EVENT_FLAGS = 5 };

/* Takes ownership of text. */
void ftrace_line_add(uint64_t cpu, uint64_t time, char *text);
_Noreturn void ftrace_die(const char *what);

/* ftrace_event_text.c */
extern bool ftrace_common_only;
/* Adds the line of one FtraceEvent. */
void ftrace_event_add(struct wire_span event, uint64_t cpu, uint64_t sequence);
/* Remembers a GenericEventDescriptor of a sequence, and prints it if it is new. */
void generic_description_add(uint64_t sequence, struct wire_span description);
/* Remembers an InternedString of a sequence; forgets all of them. */
void ftrace_symbol_add(uint64_t sequence, struct wire_span interned);
void ftrace_symbols_clear(uint64_t sequence);
void ftrace_pointers_read(const char *path);

/* ftrace_compact_text.c */
enum { COMPACT_EVENTS_MAX = 65536 };
struct compact_times {
	uint64_t switches[COMPACT_EVENTS_MAX], wakings[COMPACT_EVENTS_MAX];
	size_t switch_count, waking_count;
};
/* Adds the lines of one CompactSched. */
void compact_sched_add(struct wire_span compact, uint64_t cpu, struct compact_times *times);

#endif
