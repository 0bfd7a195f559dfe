/* SPDX-License-Identifier: Apache-2.0
 * keyed_sum.c - as UMAC (RFC 4418) does: a universal hash shortens each block, and a keyed hash takes what is left.
 *
 * The hash of a block is the sum of products of its words, each with a secret number added to it. Two different blocks have
 * the same hash for one key in 2^32; the same with the numbers four places further is a second hash. Both go into
 * SipHash-2-4, whose key also makes the secret numbers.
 */
#include "store/keyed_sum.h"

#include <string.h>

static uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

static void mix(uint64_t v[4], int rounds)
{
	for (int i = 0; i < rounds; i++) {
		v[0] += v[1];
		v[1] = rotate(v[1], 13) ^ v[0];
		v[0] = rotate(v[0], 32);
		v[2] += v[3];
		v[3] = rotate(v[3], 16) ^ v[2];
		v[0] += v[3];
		v[3] = rotate(v[3], 21) ^ v[0];
		v[2] += v[1];
		v[1] = rotate(v[1], 17) ^ v[2];
		v[2] = rotate(v[2], 32);
	}
}

static void begin(struct orma_keyed_sum *sum, const uint8_t key[ORMA_SUM_KEY_BYTES])
{
	uint64_t words[2];
	memcpy(words, key, sizeof(words));
	sum->state[0] = words[0] ^ UINT64_C(0x736f6d6570736575);
	sum->state[1] = words[1] ^ UINT64_C(0x646f72616e646f6d);
	sum->state[2] = words[0] ^ UINT64_C(0x6c7967656e657261);
	sum->state[3] = words[1] ^ UINT64_C(0x7465646279746573);
	sum->words = 0;
}

void orma_keyed_sum_word(struct orma_keyed_sum *sum, uint64_t word)
{
	sum->state[3] ^= word;
	mix(sum->state, 2);
	sum->state[0] ^= word;
	sum->words++;
}

uint64_t orma_keyed_sum_finish(struct orma_keyed_sum *sum)
{
	/* The last word has the number of bytes, as SipHash's has. */
	orma_keyed_sum_word(sum, sum->words * 8 << 56);
	sum->state[2] ^= 0xff;
	mix(sum->state, 4);
	return sum->state[0] ^ sum->state[1] ^ sum->state[2] ^ sum->state[3];
}

void orma_keyed_sum_init(struct orma_keyed_sum *sum, const uint8_t key[ORMA_SUM_KEY_BYTES])
{
	for (uint32_t i = 0; i < ORMA_SUM_KEYS; i += 2) {
		begin(sum, key);
		orma_keyed_sum_word(sum, i);
		uint64_t number = orma_keyed_sum_finish(sum);
		sum->keys[i] = (uint32_t)number;
		sum->keys[i + 1] = (uint32_t)(number >> 32);
	}
	begin(sum, key);
	orma_keyed_sum_word(sum, UINT64_MAX);
}

static uint64_t hash_block(const uint8_t *block, const uint32_t *keys)
{
	uint64_t hash = 0;
	for (size_t i = 0; i < ORMA_SUM_BLOCK_BYTES / 8; i++) {
		uint32_t words[2];
		memcpy(words, block + i * 8, sizeof(words));
		hash += (uint64_t)(words[0] + keys[2 * i]) * (words[1] + keys[2 * i + 1]);
	}
	return hash;
}

void orma_keyed_sum_blocks(struct orma_keyed_sum *sum, const void *data, size_t block_count)
{
	const uint8_t *block = data;
	for (size_t i = 0; i < block_count; i++, block += ORMA_SUM_BLOCK_BYTES) {
		orma_keyed_sum_word(sum, hash_block(block, sum->keys));
		orma_keyed_sum_word(sum, hash_block(block, sum->keys + 4));
	}
}
