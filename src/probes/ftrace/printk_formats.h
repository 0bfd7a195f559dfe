/* SPDX-License-Identifier: Apache-2.0
 * printk_formats.h - the strings of the kernel to which records refer by address.
 */
#ifndef ORMA_PROBES_PRINTK_FORMATS_H
#define ORMA_PROBES_PRINTK_FORMATS_H

#include <stdint.h>

#include "base/map.h"
#include "base/str.h"

#define ORMA_PRINTK_FORMAT_BYTES_MAX 255 /* longer strings are cut */

struct orma_printk_formats {
	char *text; /* owned */
	struct orma_map strings;
};

/* Parses lines of `0xADDRESS : "STRING"`; other lines are ignored. `text` is copied. 0 or -ENOMEM, which leaves it
 * empty. */
int orma_printk_formats_parse(struct orma_str text, struct orma_printk_formats *ret);
void orma_printk_formats_done(struct orma_printk_formats *formats);
/* An empty string when the address is not known. */
struct orma_str orma_printk_formats_find(const struct orma_printk_formats *formats,
					 uint64_t address);

#endif
