/* SPDX-License-Identifier: Apache-2.0
 * trace_check.h - the parts of trace_check: the report, the assertions, the rules for sequences.
 */
#ifndef ORMA_TESTS_INTEROP_TRACE_CHECK_H
#define ORMA_TESTS_INTEROP_TRACE_CHECK_H

#include "trace_packet.h"

extern struct trace_check {
	const char *file;
	uint64_t packets; /* so far; counts from 1 in reports */
	int failures;
} trace_check;

/* Reports one failed check. Checking continues. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void die_usage(const char *what, const char *argument);
uint64_t parse_number(const char *text, const char *argument);

/* COVERS: another process sent each value that one process sent. */
enum assertion_kind { HAS, NONE, COUNT, COVERS };

/* path is PATH[=VALUE][@PID][:N]; reports print argument. Both are borrowed until the end. */
void assertion_add(enum assertion_kind kind, const char *path, const char *argument);
/* The argument is NAME[@PID][:MIN], where NAME is the packet of a data source. */
void assertion_add_source(const char *argument);
/* The arguments are a path, the covering process, and the covered one. */
void assertion_add_covers(char **arguments);
void assertions_count(const struct packet *packet);
void assertions_judge(void);

extern struct sequence_rules {
	bool sequences, trusted, no_loss, no_loss_marks;
	int64_t uid, max_open_slices; /* -1 = slices are not checked */
	const char *owners;           /* PID[=UID],... of producers; NULL = anybody */
} sequence_rules;

void sequences_check(const struct packet *packet);
void sequences_judge(void);

#endif
