/* SPDX-License-Identifier: Apache-2.0
 * seccomp_filter.h - writes filters of system calls for the kernel: lists of allowed calls, and some of their arguments.
 *
 * Typical use, in a process or thread that gives up all other calls:
 *
 *	orma_seccomp_filter_begin(&filter, ORMA_SECCOMP_REFUSE(EPERM));
 *	orma_seccomp_filter_allow(&filter, numbers, count);
 *	orma_seccomp_filter_allow_masked(&filter, SYS_mmap, 2, PROT_EXEC, 0);
 *	r = orma_seccomp_filter_install(&filter);
 */
#ifndef ORMA_SANDBOX_SECCOMP_FILTER_H
#define ORMA_SANDBOX_SECCOMP_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* The kernel's answer to a call that is not allowed. */
#define ORMA_SECCOMP_REFUSE(error) (UINT32_C(0x00050000) | (error)) /* the call fails with it */
#define ORMA_SECCOMP_KILL_PROCESS  UINT32_C(0x80000000)             /* SIGSYS */
#define ORMA_SECCOMP_ALLOW         UINT32_C(0x7fff0000)

/* The kernel's struct sock_filter. Its header may be missing where the C library is not glibc. */
struct orma_seccomp_instruction {
	uint16_t code;
	uint8_t if_true, if_false;
	uint32_t value;
};

#define ORMA_SECCOMP_CODE_MAX 256u
struct orma_seccomp_filter {
	struct orma_seccomp_instruction code[ORMA_SECCOMP_CODE_MAX];
	unsigned short
		size; /* may be larger than the array; orma_seccomp_filter_install() checks it */
	uint32_t refusal;
};

/* The filter ends the process at a call of another architecture, because its number means another
 * call. The numbers of x32 have bit 30 set, so no list contains them. */
void orma_seccomp_filter_begin(struct orma_seccomp_filter *filter, uint32_t refusal);
void orma_seccomp_filter_allow(struct orma_seccomp_filter *filter, const uint32_t *numbers,
			       size_t count);
/* Allows the call when (argument & mask) == value. Only the lower half of the argument counts. */
void orma_seccomp_filter_allow_masked(struct orma_seccomp_filter *filter, uint32_t number,
				      unsigned argument, uint32_t mask, uint32_t value);

/* Single instructions, for what the functions above cannot say. While tests of numbers follow, the
 * accumulator has the number of the call. */
void orma_seccomp_filter_answer(struct orma_seccomp_filter *filter, uint32_t action);
/* Loads the lower half of an argument, which holds flags and small numbers, or its upper half. */
void orma_seccomp_filter_load_low(struct orma_seccomp_filter *filter, unsigned argument);
void orma_seccomp_filter_load_high(struct orma_seccomp_filter *filter, unsigned argument);
void orma_seccomp_filter_and(struct orma_seccomp_filter *filter, uint32_t mask);
/* Skips `count` instructions unless the accumulator has this value. */
void orma_seccomp_filter_skip_unless(struct orma_seccomp_filter *filter, uint32_t value,
				     unsigned count);
/* Skips `count` instructions when the accumulator has any of these bits. */
void orma_seccomp_filter_skip_if_any(struct orma_seccomp_filter *filter, uint32_t bits,
				     unsigned count);

/*
 * Everything else is refused from now on, for this thread and those that it starts; there should be
 * no other thread yet. 0. -ENOTSUP: filters are not written for this processor. -E2BIG: too many
 * instructions. Other errors are the kernel's; -EINVAL and -ENOSYS mean that it has no filters.
 */
int orma_seccomp_filter_install(struct orma_seccomp_filter *filter);

#endif
