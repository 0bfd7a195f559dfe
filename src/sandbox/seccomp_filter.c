/* SPDX-License-Identifier: Apache-2.0
 * seccomp_filter.c - programs of the kernel's packet filter that look at system calls.
 *
 * The filter tests one number after the other, so a caller lists frequent calls first. The kernel
 * caches the numbers that are allowed whatever their arguments, and does not run the filter for
 * them. A call that no test has allowed is refused at the end.
 *
 * Rejected: libseccomp (a library for some 200 instructions), lists of forbidden calls (new kernels
 * add calls).
 */
#include "sandbox/seccomp_filter.h"

#include <errno.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The processor as the kernel's audit subsystem names it: ELF machine, 64 bits, little-endian. */
#if defined(__x86_64__)
#define NATIVE_ARCH 0xc000003eu
#elif defined(__aarch64__)
#define NATIVE_ARCH 0xc00000b7u
#else
#define NATIVE_ARCH 0u
#endif

/* Constants of linux/filter.h and linux/seccomp.h, which may be missing. */
enum {
	/* Each is the complete opcode of an instruction with a constant operand. */
	LOAD_WORD = 0x20,
	AND = 0x54,
	JUMP_IF_EQUAL = 0x15,
	JUMP_IF_ANY_BIT = 0x45,
	RETURN = 0x06,

	SET_MODE_FILTER = 1,
	FLAG_LOG = 2,
};

struct program {
	unsigned short size;
	struct orma_seccomp_instruction *code;
};

/* The data that the filter reads; the kernel's struct seccomp_data. */
struct call {
	int number;
	uint32_t arch;
	uint64_t instruction_pointer;
	uint64_t arguments[6];
};

static void add(struct orma_seccomp_filter *filter, uint16_t code, uint32_t value, unsigned if_true,
		unsigned if_false)
{
	if (filter->size < ORMA_SECCOMP_CODE_MAX)
		filter->code[filter->size] = (struct orma_seccomp_instruction){
			code, (uint8_t)if_true, (uint8_t)if_false, value};
	filter->size++;
}

static void load(struct orma_seccomp_filter *filter, size_t offset)
{
	add(filter, LOAD_WORD, (uint32_t)offset, 0, 0);
}

void orma_seccomp_filter_answer(struct orma_seccomp_filter *filter, uint32_t action)
{
	add(filter, RETURN, action, 0, 0);
}

/* Both processors are little-endian. */
void orma_seccomp_filter_load_low(struct orma_seccomp_filter *filter, unsigned argument)
{
	load(filter, offsetof(struct call, arguments) + argument * sizeof(uint64_t));
}

void orma_seccomp_filter_load_high(struct orma_seccomp_filter *filter, unsigned argument)
{
	load(filter,
	     offsetof(struct call, arguments) + argument * sizeof(uint64_t) + sizeof(uint32_t));
}

void orma_seccomp_filter_and(struct orma_seccomp_filter *filter, uint32_t mask)
{
	add(filter, AND, mask, 0, 0);
}

void orma_seccomp_filter_skip_unless(struct orma_seccomp_filter *filter, uint32_t value,
				     unsigned count)
{
	add(filter, JUMP_IF_EQUAL, value, 0, count);
}

void orma_seccomp_filter_skip_if_any(struct orma_seccomp_filter *filter, uint32_t bits,
				     unsigned count)
{
	add(filter, JUMP_IF_ANY_BIT, bits, count, 0);
}

void orma_seccomp_filter_allow_masked(struct orma_seccomp_filter *filter, uint32_t number,
				      unsigned argument, uint32_t mask, uint32_t value)
{
	orma_seccomp_filter_skip_unless(filter, number, 5);
	orma_seccomp_filter_load_low(filter, argument);
	orma_seccomp_filter_and(filter, mask);
	orma_seccomp_filter_skip_unless(filter, value, 1);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_ALLOW);
	orma_seccomp_filter_answer(filter, filter->refusal);
}

void orma_seccomp_filter_begin(struct orma_seccomp_filter *filter, uint32_t refusal)
{
	filter->size = 0;
	filter->refusal = refusal;
	load(filter, offsetof(struct call, arch));
	add(filter, JUMP_IF_EQUAL, NATIVE_ARCH, 1, 0);
	orma_seccomp_filter_answer(filter, ORMA_SECCOMP_KILL_PROCESS);
	load(filter, offsetof(struct call, number));
}

void orma_seccomp_filter_allow(struct orma_seccomp_filter *filter, const uint32_t *numbers,
			       size_t count)
{
	for (size_t i = 0; i < count; i++) {
		orma_seccomp_filter_skip_unless(filter, numbers[i], 1);
		orma_seccomp_filter_answer(filter, ORMA_SECCOMP_ALLOW);
	}
}

static int install(const struct program *program, unsigned flags)
{
	return syscall(SYS_seccomp, SET_MODE_FILTER, flags, program) ? -errno : 0;
}

int orma_seccomp_filter_install(struct orma_seccomp_filter *filter)
{
	if (NATIVE_ARCH == 0)
		return -ENOTSUP;
	orma_seccomp_filter_answer(filter, filter->refusal);
	if (filter->size > ORMA_SECCOMP_CODE_MAX)
		return -E2BIG;
	/* Without this flag only root may install a filter. */
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		return -errno;
	struct program program = {filter->size, filter->code};
	int r = install(&program, FLAG_LOG);
	/* Kernels before 4.14 have filters, but not that flag. */
	return r == -EINVAL ? install(&program, 0) : r;
}
