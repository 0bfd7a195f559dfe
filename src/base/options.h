/* SPDX-License-Identifier: Apache-2.0
 * options.h - option structs, which may grow with each release.
 */
#ifndef ORMA_BASE_OPTIONS_H
#define ORMA_BASE_OPTIONS_H

#include <stddef.h>

/* No option struct will ever be larger. A larger struct_size was never initialised. */
#define ORMA_BASE_OPTIONS_BYTES_MAX 4096

/*
 * Copies a program's option struct over `own`, which contains the defaults. The struct begins with
 * its struct_size, and may be older (shorter) or newer (longer) than the library's. Afterwards
 * own's struct_size is own_size. options = NULL keeps the defaults. Returns 0, or -EINVAL if the
 * size is not plausible or an unknown option is set; `own` is then unchanged.
 */
int orma_base_options_copy(void *own, size_t own_size, const void *options);

#endif
