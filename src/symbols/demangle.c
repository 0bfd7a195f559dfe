/* SPDX-License-Identifier: Apache-2.0
 * demangle.c - names of C++ by the C++ library that the machine has, and names of Rust by code of our own.
 *
 * The names come from files of traced programs and from traces of strangers, so they are limited in length, and what this
 * folder prints itself is limited, too. Names in traces stay mangled; only what people read goes through here.
 *
 * Chosen: dlopen() of libstdc++.so.6 when the first name of C++ comes. A machine that runs C++ programs has it, and orma
 * needs neither it nor a C++ compiler to be built. Rejected: libiberty, which Debian has as a static library under several
 * licences that a binary of ours would have to carry; linking libstdc++, 2 MB that `orma record` never uses. Without
 * the library, and in the static binary, names of C++ stay as they are.
 */
#include "symbols/demangle.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 8 << 10 };

typedef char *(*cxa_demangle_fn)(const char *name, char *buffer, size_t *size, int *status);

static cxa_demangle_fn find_cxa_demangle(void)
{
	/* Several threads may print names. */
	static _Thread_local cxa_demangle_fn found;
	static _Thread_local bool was_sought;

	if (!was_sought) {
		was_sought = true;
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_LOCAL);
		if (library)
			*(void **)&found = dlsym(library, "__cxa_demangle");
	}
	return found;
}

static int demangle_cxx(const char *name, struct orma_buf *buf)
{
	cxa_demangle_fn demangle = find_cxa_demangle();
	int status = 0;

	if (!demangle)
		return 0;
	char *text = demangle(name, NULL, NULL, &status);
	int r = text ? orma_base_buf_append_str(buf, text) : 0;
	bool was_demangled = text != NULL;
	free(text); /* calls: allow free, because the C++ library allocated it. */
	return r < 0 ? r : was_demangled;
}

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
	return r ? r : demangle_cxx(name, buf);
}
