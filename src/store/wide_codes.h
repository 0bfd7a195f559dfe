/* SPDX-License-Identifier: Apache-2.0
 * wide_codes.h - the codes of a packed block, eight at a time, where the processor has instructions for that.
 */
#ifndef ORMA_STORE_WIDE_CODES_H
#define ORMA_STORE_WIDE_CODES_H

#include "store/pack.h"

/*
 * Writes the first cells of a block, but for exceptions, whose cells are not set. Returns how many there are: a
 * multiple of eight, 0 when the processor or the width is not one for this.
 */
size_t orma_store_wide_unpack(const struct orma_block *block, size_t count, int64_t *ret);
/*
 * Sets the n-th bit of `mask`, which is zero, if the n-th code is in [low, low + span]. Returns how many codes were looked
 * at, as above.
 */
size_t orma_store_wide_match(const struct orma_block *block, size_t count, uint32_t low,
			     uint32_t span, uint8_t *mask);
/*
 * Adds the first codes that are below `limit` and whose bits are set in `mask`, and counts them. Returns how many codes were looked
 * at, as above; the outputs are set unless that is 0.
 */
size_t orma_store_wide_sum(const struct orma_block *block, size_t count, uint32_t limit,
			   const uint8_t *mask, uint64_t *ret_sum, uint64_t *ret_number);

#endif
