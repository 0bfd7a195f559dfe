/* SPDX-License-Identifier: Apache-2.0
 * ftrace_line.h - one event as the kernel, trace-cmd and systrace print it.
 *
 *   kworker/u16:1-77    (   77) [004] d..2   316.196720: sched_switch: prev_comm=a b prev_pid=77 prev_state=R+ ==> next_pid=0
 */
#ifndef ORMA_FORMATS_FTRACE_LINE_H
#define ORMA_FORMATS_FTRACE_LINE_H

#include <stdbool.h>

#include "base/str.h"

struct orma_ftrace_line {
	struct orma_str task, event, args;
	int64_t ns;
	uint32_t tid, cpu;
	uint32_t tgid; /* 0 = not given */
};

/* False for a line that is not an event. */
bool orma_ftrace_line_read(struct orma_str line, struct orma_ftrace_line *ret);

struct orma_ftrace_field {
	struct orma_str key, value;
};

enum { ORMA_FTRACE_FIELDS_MAX = 64 };

/* Splits "key=value with blanks key=value"; a word before the first key has the key "name". Returns their number. */
unsigned orma_ftrace_fields_read(struct orma_str args,
				 struct orma_ftrace_field ret[ORMA_FTRACE_FIELDS_MAX]);
/* Returns the value of a key; data is NULL when there is none. */
struct orma_str orma_ftrace_field_find(const struct orma_ftrace_field *fields, unsigned count,
				       const char *key);
/* Reads the number at the beginning of a text: with 0x, a sign, or a unit behind it. False when there is none. */
bool orma_ftrace_number_read(struct orma_str text, int64_t *ret);
/* Returns prev_state of a kernel that is not known, as a number, for letters like "R+" or "D|K". */
int64_t orma_ftrace_state_read(struct orma_str letters);

#endif
