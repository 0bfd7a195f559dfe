/* SPDX-License-Identifier: Apache-2.0
 * findings.h - the findings of `orma doctor`: problems and notes, each with a remedy.
 */
#ifndef ORMA_TOOL_FINDINGS_H
#define ORMA_TOOL_FINDINGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/macros.h"

struct orma_finding {
	bool is_note;       /* worth knowing, but not a problem */
	const char *id;     /* static; for scripts: "buffer_overwritten" */
	const char *text;   /* a sentence */
	const char *advice; /* the remedy, with the command to type; NULL = none */
};

/* {0} has no findings. */
struct orma_findings {
	struct orma_arena arena; /* owns the texts */
	struct orma_buf items;   /* struct orma_finding */
	size_t problem_count;
	bool is_out_of_memory;
};

void orma_findings_add(struct orma_findings *findings, const char *id, const char *format, ...)
	ORMA_PRINTF(3, 4);
void orma_findings_add_note(struct orma_findings *findings, const char *id, const char *format, ...)
	ORMA_PRINTF(3, 4);
/* Adds a remedy to the last finding. */
void orma_findings_advise(struct orma_findings *findings, const char *format, ...)
	ORMA_PRINTF(2, 3);
/* Prints one block for people: the subject, then its findings, and how many problems there are. */
void orma_findings_print(const struct orma_findings *findings, const char *subject);
/* Appends {"subject": ..., "problems": N, "findings": [...]}. 0 or -ENOMEM. */
int orma_findings_append_json(const struct orma_findings *findings, const char *subject,
			      struct orma_buf *json);
void orma_findings_done(struct orma_findings *findings);

#endif
