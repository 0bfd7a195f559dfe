/* SPDX-License-Identifier: Apache-2.0
 * stack_keys.c - a hash table from 128-bit hashes to ids of stacks.
 *
 * Only the hashes are compared. Their seed is random, so a target cannot choose addresses that collide. A table that
 * is full forgets everything, because stacks that are still in use come again soon.
 */
#include "profile/stack_keys.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "profile/intern_table.h"

#define KEYS_MAX   65536u
#define SLOT_COUNT ((size_t)KEYS_MAX * 2)

struct orma_stack_key_slot {
	struct orma_stack_key key;
	uint64_t iid; /* 0 = empty */
};

int orma_stack_keys_init(struct orma_stack_keys *keys)
{
	*keys = (struct orma_stack_keys){
		.slots = orma_base_alloc_array(SLOT_COUNT, sizeof(*keys->slots))};
	if (!keys->slots)
		return -ENOMEM;
	/* Without it the seed is the address, which a target does not know either. */
	if (getrandom(keys->seed, sizeof(keys->seed), GRND_NONBLOCK) < 0)
		keys->seed[0] = keys->seed[1] = (uint64_t)(uintptr_t)keys->slots;
	return 0;
}

void orma_stack_keys_done(struct orma_stack_keys *keys)
{
	orma_base_free(keys->slots);
	keys->slots = NULL;
}

void orma_stack_keys_clear(struct orma_stack_keys *keys)
{
	if (keys->count > 0)
		memset(keys->slots, 0, SLOT_COUNT * sizeof(*keys->slots));
	keys->count = 0;
}

struct orma_stack_key orma_stack_key_begin(const struct orma_stack_keys *keys, uint64_t generation)
{
	return (struct orma_stack_key){keys->seed[0] ^ generation, keys->seed[1]};
}

void orma_stack_key_add(struct orma_stack_key *key, const uint64_t *addresses, size_t count)
{
	uint64_t low = key->low, high = key->high;

	for (size_t i = 0; i < count; i++) {
		low = orma_intern_mix(low, addresses[i], UINT64_C(0xff51afd7ed558ccd));
		high = orma_intern_mix(high, addresses[i], UINT64_C(0xc4ceb9fe1a85ec53));
	}
	/* Where one part ends is a part of the stack. */
	key->low = orma_intern_mix(low, count, UINT64_C(0xff51afd7ed558ccd));
	key->high = high;
}

static struct orma_stack_key_slot *find_slot(const struct orma_stack_keys *keys,
					     struct orma_stack_key key)
{
	size_t at = (size_t)key.low & (SLOT_COUNT - 1);

	while (keys->slots[at].iid > 0 &&
	       (keys->slots[at].key.low != key.low || keys->slots[at].key.high != key.high))
		at = (at + 1) & (SLOT_COUNT - 1);
	return &keys->slots[at];
}

uint64_t orma_stack_keys_find(const struct orma_stack_keys *keys, struct orma_stack_key key)
{
	return find_slot(keys, key)->iid;
}

void orma_stack_keys_remember(struct orma_stack_keys *keys, struct orma_stack_key key, uint64_t iid)
{
	if (keys->count == KEYS_MAX)
		orma_stack_keys_clear(keys);
	struct orma_stack_key_slot *slot = find_slot(keys, key);
	keys->count += slot->iid == 0 && iid > 0;
	*slot = (struct orma_stack_key_slot){key, iid};
}
