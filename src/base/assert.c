/* SPDX-License-Identifier: Apache-2.0
 * assert.c - reports an invariant that does not hold, in builds that check invariants.
 */
#include "base/assert.h"

/* Outside of the #ifdef: ISO C has no empty source file. */
#include <stdio.h>
#include <stdlib.h>

#ifdef ORMA_ASSERTS
_Noreturn void orma_base_assert_failed(const char *file, int line, const char *function,
				       const char *condition)
{
	/* clang-format off */
	fprintf(stderr, /* calls: allow fprintf, because only builds for developers have it */
		"%s:%d: %s: invariant does not hold: %s\n", file, line, function, condition);
	abort(); /* calls: allow abort, because only builds for developers have it */
	/* clang-format on */
}
#endif
