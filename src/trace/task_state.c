/* SPDX-License-Identifier: Apache-2.0
 * task_state.c - the bits of prev_state, which moved with Linux 4.8 and 4.14.
 */
#include "trace/task_state.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum {
	VERSION_4_4 = 4 << 8 | 4,
	VERSION_4_8 = 4 << 8 | 8,
	VERSION_4_14 = 4 << 8 | 14,
	OLD_BITS = 0x3f, /* the same in all kernels */
	INTERRUPTIBLE_OR_NOT = 0x3,
	UNINTERRUPTIBLE = 0x2,
	VERSION_PART_MAX = 255,
	STATES = 0x2000, /* so many numbers have states */
};

/* A bit of prev_state and its letter, in the order of the letters. */
struct state_bit {
	uint16_t bit;
	char letter;
};

static const struct state_bit common_bits[] = {{0x01, 'S'}, {0x02, 'D'}, {0x04, 'T'}, {0x08, 't'},
					       {0x10, 'X'}, {0x20, 'Z'}, {0, 0}};
static const struct state_bit new_bits[] = {{0x40, 'P'}, {0x80, 'I'}, {0, 0}};
static const struct state_bit old_bits[] = {{0x200, 'P'}, {0x40, 'x'},  {0x80, 'K'},
					    {0x100, 'W'}, {0x400, 'N'}, {0, 0}};

static unsigned add_letters(uint16_t state, const struct state_bit *bits, char *ret, unsigned size)
{
	for (; bits->bit; bits++)
		if (state & bits->bit && size < ORMA_TASK_STATE_BYTES - 1)
			ret[size++] = bits->letter;
	return size;
}

unsigned orma_task_state_letters(int64_t prev_state, unsigned kernel_version,
				 char ret[ORMA_TASK_STATE_BYTES])
{
	/* Old traces do not say which kernel it was. */
	unsigned version = kernel_version ? kernel_version : VERSION_4_4;
	bool is_new = version >= VERSION_4_14;
	uint16_t state = (uint16_t)prev_state;
	uint16_t preempted = is_new ? 0x100 : version >= VERSION_4_8 ? 0x1000 : 0x800;
	if (is_new && state & 0xfe00)
		return 0;
	unsigned size = add_letters(state, common_bits, ret, 0);
	/* A task that sleeps without being waited for is idle. */
	if (!is_new && (state & (OLD_BITS | 0x7c0)) == (UNINTERRUPTIBLE | 0x400)) {
		ret[0] = 'I';
		size = 1;
	} else {
		size = add_letters(state, is_new ? new_bits : old_bits, ret, size);
	}
	if (size == 0)
		ret[size++] = 'R';
	if (state & preempted && ret[0] == 'R')
		ret[size++] = '+';
	ret[size] = '\0';
	return size;
}

int64_t orma_task_state_number(struct orma_str letters, unsigned kernel_version)
{
	char text[ORMA_TASK_STATE_BYTES];
	for (int64_t number = 0; number < STATES; number++)
		if (orma_task_state_letters(number, kernel_version, text) > 0 &&
		    orma_base_str_is(letters, text))
			return number;
	return 1;
}

unsigned orma_task_kernel_version(struct orma_str sysname, struct orma_str release)
{
	char text[32] = "", *end;
	if (!sysname.data || !orma_base_str_is(sysname, "Linux") || release.size == 0)
		return 0;
	memcpy(text, release.data, release.size < sizeof(text) ? release.size : sizeof(text) - 1);
	unsigned long major = strtoul(text, &end, 10);
	if (*end != '.')
		return 0;
	unsigned long minor = strtoul(end + 1, &end, 10);
	return major <= VERSION_PART_MAX && minor <= VERSION_PART_MAX
		       ? (unsigned)(major << 8 | minor)
		       : 0;
}
