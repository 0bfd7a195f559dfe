/* SPDX-License-Identifier: Apache-2.0
 * ctf_kernel.h - what an event of LTTng's kernel tracer is to Perfetto.
 */
#ifndef ORMA_FORMATS_CTF_KERNEL_H
#define ORMA_FORMATS_CTF_KERNEL_H

#include "formats/ctf_output.h"
#include "trace/kernel_state.h"

enum orma_ctf_action {
	ORMA_CTF_EVENT, /* becomes an event, and that is all */
	ORMA_CTF_SWITCH,
	ORMA_CTF_FORK,
	ORMA_CTF_EXEC,
	ORMA_CTF_PROCESS, /* a thread that was there before the trace */
	ORMA_CTF_SYSCALL_ENTRY,
	ORMA_CTF_SYSCALL_EXIT,
};

/* A bit of a target: the letters of a set of bits are written. */
#define ORMA_CTF_LETTERS (UINT32_C(1) << 31)

/* How a class of events is written: as the message of FtraceEvent with the number `id` (0 = none), and as a generic event
 * when `is_generic`. */
struct orma_ctf_kernel_class {
	enum orma_ctf_action action;
	uint32_t id;
	bool is_generic;
	int32_t syscall;
	uint32_t *targets; /* by step: the field of the message, 0 = none */
	/* Fields that have a meaning; NULL = none. */
	const struct orma_ctf_step *tid, *other_tid, *pid, *parent, *text, *running;
};

/* Chooses for each class of the trace. 0 or -ENOMEM. */
int orma_ctf_kernel_classify(struct orma_ctf_kernel *kernel);

#endif
