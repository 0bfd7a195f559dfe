/* SPDX-License-Identifier: Apache-2.0
 * options.c - option structs of programs that were built against another release.
 *
 * The first member of an option struct is the size that it had when the program was compiled. If
 * the struct is shorter than the library's, the missing options keep their defaults. If it is
 * longer, the bytes that the library does not know must be zero, which means "default" in every
 * release. Otherwise the program asks for something that this release cannot do, and the struct is
 * refused. Rejected: a version number, because it would have to be mapped to a size here; refusing
 * all other sizes, because no release could then add an option.
 */
#include "base/options.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/macros.h"

int orma_base_options_copy(void *own, size_t own_size, const void *options)
{
	const unsigned char *bytes = options;
	size_t size;

	ORMA_ASSERT(own_size >= sizeof(size) && own_size <= ORMA_BASE_OPTIONS_BYTES_MAX);
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
