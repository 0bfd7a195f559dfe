/* SPDX-License-Identifier: Apache-2.0
 * unwind_rule.h - how the registers of a caller are found at one address of a function.
 *
 * The canonical frame address (CFA) is the stack pointer's value in the caller, just before the
 * call. Three values are followed from frame to frame, because they are what other rules refer to:
 * the return address, the stack pointer (which is the CFA), and the frame pointer (rbp, x29).
 */
#ifndef ORMA_UNWIND_UNWIND_RULE_H
#define ORMA_UNWIND_UNWIND_RULE_H

#include <stdint.h>

enum orma_unwind_cfa {
	ORMA_UNWIND_CFA_NONE,     /* the file says nothing about this address */
	ORMA_UNWIND_CFA_OTHER,    /* a rule that these tables do not have */
	ORMA_UNWIND_CFA_SP,       /* sp + cfa_offset */
	ORMA_UNWIND_CFA_FP,       /* fp + cfa_offset */
	ORMA_UNWIND_CFA_SP_DEREF, /* the word at sp + cfa_offset: a signal's frame */
	ORMA_UNWIND_CFA_FP_DEREF, /* the word at fp + cfa_offset: a realigned stack */
	ORMA_UNWIND_CFA_PLT,      /* sp + cfa_offset, plus 8 if pc & 15 >= plt_split */
};

enum orma_unwind_where {
	ORMA_UNWIND_SAME,    /* still in its register */
	ORMA_UNWIND_AT_CFA,  /* in memory at CFA + offset */
	ORMA_UNWIND_AT_SP,   /* in memory at sp + offset */
	ORMA_UNWIND_AT_FP,   /* in memory at fp + offset */
	ORMA_UNWIND_NOWHERE, /* lost; a frame without a return address is the outermost one */
	ORMA_UNWIND_OTHER,   /* a rule that these tables do not have */
};

/* 16 bytes without padding, so that rules are compared and hashed as bytes. */
struct orma_unwind_rule {
	uint8_t cfa;          /* enum orma_unwind_cfa */
	uint8_t return_where; /* enum orma_unwind_where, and fp_where */
	uint8_t fp_where;
	uint8_t is_signal : 1; /* the kernel made the frame for a signal, so there was no call */
	uint8_t plt_split : 7;
	int32_t cfa_offset, return_offset, fp_offset;
};
_Static_assert(sizeof(struct orma_unwind_rule) == 16, "a rule has no padding");

#endif
