/* SPDX-License-Identifier: Apache-2.0
 * demangle.c - finds out which compiler mangled a name.
 *
 * The names come from files of traced programs and from traces of strangers, so they are limited in length, and what is made
 * of them is limited, too. Names in traces stay mangled; only what people read goes through here.
 */
#include "symbols/demangle.h"

#include <string.h>

enum { NAME_MAX_BYTES = 8 << 10 };

int orma_demangle(const char *name, struct orma_buf *buf)
{
	int r = 0;

	if (name[0] != '_' || strnlen(name, NAME_MAX_BYTES) == NAME_MAX_BYTES)
		return 0;
	/* Without the prefix of a function's name, the name of a type would be taken for one: `i` is `int`. */
	if (name[1] == 'R')
		return orma_demangle_rust_v0(name, buf);
	if (name[1] != 'Z')
		return 0;
	/* A legacy name of Rust is one of C++, too, so it is tried first. */
	r = orma_demangle_rust_legacy(name, buf);
	return r ? r : orma_demangle_cxx(name, buf);
}
