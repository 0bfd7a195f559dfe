/* SPDX-License-Identifier: Apache-2.0
 * keyed_sum.h - a checksum that only the owner of a key can make, at several gigabytes per second.
 */
#ifndef ORMA_STORE_KEYED_SUM_H
#define ORMA_STORE_KEYED_SUM_H

#include <stddef.h>
#include <stdint.h>

enum {
	ORMA_SUM_KEY_BYTES = 16,
	ORMA_SUM_BLOCK_BYTES = 4096,
	ORMA_SUM_KEYS = ORMA_SUM_BLOCK_BYTES / 4 + 4,
};

struct orma_keyed_sum {
	uint64_t state[4];
	uint64_t words;
	uint32_t keys[ORMA_SUM_KEYS];
};

void orma_keyed_sum_init(struct orma_keyed_sum *sum, const uint8_t key[ORMA_SUM_KEY_BYTES]);
void orma_keyed_sum_blocks(struct orma_keyed_sum *sum, const void *data, size_t block_count);
void orma_keyed_sum_word(struct orma_keyed_sum *sum, uint64_t word);
uint64_t orma_keyed_sum_finish(struct orma_keyed_sum *sum);

#endif
