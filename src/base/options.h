/* SPDX-License-Identifier: Apache-2.0
 * options.h - option structs that grow from release to release.
 */
#ifndef ORMA_BASE_OPTIONS_H
#define ORMA_BASE_OPTIONS_H

#include <stddef.h>

/* No option struct will ever be larger: a struct_size beyond it was never set. */
#define ORMA_BASE_OPTIONS_BYTES_MAX 4096

/*
 * Copies an option struct of a program, which begins with its struct_size and may be older
 * (shorter) or newer (longer) than ours, over `own`, whose content are the defaults. own's
 * struct_size is own_size afterwards. NULL = defaults. -EINVAL: the size makes no sense, or options
 * are set that we do not know; `own` is untouched then.
 */
int orma_base_options_copy(void *own, size_t own_size, const void *options);

#endif
