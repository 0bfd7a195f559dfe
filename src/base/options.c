/* SPDX-License-Identifier: Apache-2.0
 * options.c - option structs of programs that were built against another release.
 *
 * The first member of each is its size, in the program's eyes. What is shorter than ours was
 * written before the rest existed, and that keeps its default. What is longer may ask for something
 * that we cannot do: it is refused unless the unknown rest is zero, which means "default" in every
 * release. Rejected: a version number (it would have to be mapped to a size here), refusing all
 * other sizes (no release could then add an option).
 */
#include "base/options.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"

int orma_base_options_copy(void *own, size_t own_size, const void *options)
{
	const unsigned char *bytes = options;
	size_t size;

	if (!options)
		return 0;
	memcpy(&size, options, sizeof(size));
	if (size < sizeof(size) || size > ORMA_BASE_OPTIONS_BYTES_MAX)
		return -EINVAL;
	for (size_t i = own_size; i < size; i++)
		if (bytes[i] != 0)
			return -EINVAL;
	memcpy(own, options, ORMA_MIN(size, own_size));
	memcpy(own, &own_size, sizeof(own_size));
	return 0;
}
