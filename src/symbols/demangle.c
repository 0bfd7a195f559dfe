/* SPDX-License-Identifier: Apache-2.0
 * demangle.c - finds out which compiler mangled a name.
 *
 * The names come from files of traced programs and from traces of strangers. So the length of a mangled name is limited, and so is
 * the length of the result. Names in traces stay mangled; only output for people is demangled.
 */
#include "symbols/demangle.h"

#include <string.h>

enum { NAME_MAX_BYTES = 8 << 10 };

int orma_demangle(const char *name, struct orma_buf *buf)
{
	int r = 0;

	if (name[0] != '_' || strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return 0;
	/* The prefix is needed, because a short name such as `i` would be taken for the type int. */
	if (name[1] == 'R')
		return orma_demangle_rust_v0(name, buf);
	if (name[1] != 'Z')
		return 0;
	/* Rust first, because a legacy name of Rust is also a valid name of C++. */
	r = orma_demangle_rust_legacy(name, buf);
	return r ? r : orma_demangle_cxx(name, buf);
}
