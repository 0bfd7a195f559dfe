/* SPDX-License-Identifier: Apache-2.0
 * self_image.h - reads what the dynamic loader has mapped of a module of this process. The module
 * must stay mapped meanwhile, as it does inside dl_iterate_phdr().
 */
#ifndef ORMA_UNWIND_SELF_IMAGE_H
#define ORMA_UNWIND_SELF_IMAGE_H

#include <link.h>

#include "base/buf.h"
#include "unwind/self_space.h"

/* Describes one of the executable segments. The serial number is left to the caller. */
void orma_self_image_describe(const struct dl_phdr_info *info, const ElfW(Phdr) * segment,
			      struct orma_self_module *ret);
/* Copies .eh_frame into an empty buffer, with all that follows in its segment: a record of size 0 ends it.
 * *ret_address is its address in the file. 0, -ENODATA (there is none), -EFBIG or -ENOMEM. */
int orma_self_image_copy_eh_frame(const struct dl_phdr_info *info, struct orma_buf *bytes,
				  uint64_t *ret_address);

#endif
