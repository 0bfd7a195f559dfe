/* SPDX-License-Identifier: Apache-2.0
 * stack_keys.h - finds the id of a call stack by a hash of its addresses, so that a stack that was seen before costs
 * one look-up and no search for its frames.
 *
 * Threads: the keys belong to one thread.
 */
#ifndef ORMA_PROFILE_STACK_KEYS_H
#define ORMA_PROFILE_STACK_KEYS_H

#include <stddef.h>
#include <stdint.h>

struct orma_stack_key {
	uint64_t low, high;
};

struct orma_stack_key_slot;

struct orma_stack_keys {
	struct orma_stack_key_slot *slots;
	size_t count;
	uint64_t seed[2]; /* secret */
};

/* 0 or -ENOMEM. */
int orma_stack_keys_init(struct orma_stack_keys *keys);
void orma_stack_keys_done(struct orma_stack_keys *keys);
void orma_stack_keys_clear(struct orma_stack_keys *keys);

/* `generation` is orma_unwind_process_generation(), or any number that changes when equal addresses mean other
 * frames. */
struct orma_stack_key orma_stack_key_begin(const struct orma_stack_keys *keys, uint64_t generation);
void orma_stack_key_add(struct orma_stack_key *key, const uint64_t *addresses, size_t count);
/* Returns 0 for a stack that is not remembered. */
uint64_t orma_stack_keys_find(const struct orma_stack_keys *keys, struct orma_stack_key key);
void orma_stack_keys_remember(struct orma_stack_keys *keys, struct orma_stack_key key,
			      uint64_t iid);

#endif
