/* SPDX-License-Identifier: Apache-2.0
 * self_modules.h - visits the modules of this process, as dl_iterate_phdr() does, but never while a thread forks.
 */
#ifndef ORMA_UNWIND_SELF_MODULES_H
#define ORMA_UNWIND_SELF_MODULES_H

#include <link.h>

/* `fn` gets what dl_iterate_phdr() says, with the dynamic loader's lock held. 0, or -EBUSY: another thread forks, and
 * nothing was visited. Not from signal handlers. */
int orma_self_modules_visit(int (*fn)(struct dl_phdr_info *info, size_t size, void *ctx),
			    void *ctx);

#endif
