/* SPDX-License-Identifier: Apache-2.0
 * category_descriptor.h - the field of the data source's descriptor that lists categories.
 */
#ifndef ORMA_TRACK_CATEGORY_DESCRIPTOR_H
#define ORMA_TRACK_CATEGORY_DESCRIPTOR_H

#include <orma/category.h>

#include "base/buf.h"

/* The list must not change during the call. */
int orma_track_category_descriptor_write(const struct orma_category *first, struct orma_buf *buf);

#endif
