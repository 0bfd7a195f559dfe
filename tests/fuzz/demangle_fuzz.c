/* SPDX-License-Identifier: Apache-2.0
 * demangle_fuzz.c - any bytes as the name of a function of Rust or C++.
 */
#include <stdlib.h>
#include <string.h>

#include "symbols/demangle.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct orma_buf buf = {0};
	char name[4096];

	if (size >= sizeof(name))
		return 0;
	memcpy(name, data, size);
	name[size] = '\0';
	int v0 = orma_demangle_rust_v0(name, &buf);
	if ((v0 == 0) != (buf.size == 0) || buf.size > 64 << 10)
		abort();
	buf.size = 0;
	int legacy = orma_demangle_rust_legacy(name, &buf);
	if (legacy == 0 && buf.size != 0)
		abort();
	buf.size = 0;
	int cxx = orma_demangle_cxx(name, &buf);
	if ((cxx == 0) != (buf.size == 0) || buf.size > 1 << 20)
		abort();
	orma_base_buf_done(&buf);
	return 0;
}
